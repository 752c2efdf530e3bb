import { IDENTITY_ERRORS } from "./identity-errors.ts";
import { REQUEST_ERRORS } from "./request-errors.ts";
import { ROLE_ERRORS } from "./role-errors.ts";
import { START_ERRORS } from "./start-errors.ts";

/** Every error that a user, an SDK or the API server may receive. */
export const ERRORS = { ...START_ERRORS, ...ROLE_ERRORS, ...IDENTITY_ERRORS, ...REQUEST_ERRORS } as const;

export type ErrorCode = keyof typeof ERRORS;

/** An error whose code is in `ERRORS`. The message states what is wrong, where the error is and how to fix it. */
export class ResolverError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ResolverError";
    this.code = code;
  }
  /** The HTTP status of a response with this error. */
  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** Returns the message of a thrown value, which can be of any type. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
