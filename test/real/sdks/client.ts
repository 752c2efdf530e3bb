import { join } from "node:path";
import { type ProgramResult, runProgram } from "../apiserver/run-program.ts";
import type { Company } from "./company.ts";

export const SDKS = ["go", "botocore", "javascript", "java", "rust"] as const;
export type SDK = (typeof SDKS)[number];

export type Variables = Readonly<Record<string, string>>;

/**
 * A client program of one SDK. Its arguments are `whoami STS_ENDPOINT`, `retrieve N` or `assume ROLE_ARN SESSION_NAME`; it prints JSON,
 * or the SDK's own error on standard error with exit code 1. It gets no other variables than those given.
 */
export interface Client {
  readonly sdk: SDK;
  /** Rejects when `signal` ends it. */
  run(args: readonly string[], variables: Variables, signal?: AbortSignal): Promise<ProgramResult>;
}

/** Runs a program with the client's arguments after its own, and these variables beside the client's. */
export function runWith(command: string, own: readonly string[] = [], fixed: Variables = {}): Client["run"] {
  return (args, variables, signal) => {
    const env = { ...fixed, ...variables };
    return runProgram(command, [...own, ...args], { cwd: import.meta.dirname, env, ...(signal === undefined ? {} : { signal }) });
  };
}

/** What the sidecar answered with: the body's `code` and `message`, and the status. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

/** What of a refusal each SDK shows to its user. */
export const SHOWN: Readonly<Record<SDK, (refusal: Refusal) => RegExp>> = {
  go: ({ code, message }) => new RegExp(literal(`${code}: ${message}`)),
  botocore: ({ code }) => new RegExp(`"code": ?"${code}"`),
  // It tells that no provider had credentials, and not why.
  javascript: () => /CredentialsProviderError: Could not load credentials from any providers/,
  // Of a 404 it tells the address alone.
  java: ({ message, status }) => (status === 404 ? /The requested metadata is not found at http/ : new RegExp(literal(message))),
  rust: ({ status }) => new RegExp(`${status}`),
};

/** The variables that every client runs with: nothing of the machine's own may answer in the sidecar's place. */
export function clientVariables({ home }: Pick<Company, "home">): Variables {
  return { HOME: home, AWS_CONFIG_FILE: join(home, "config"), AWS_SHARED_CREDENTIALS_FILE: join(home, "credentials"), AWS_EC2_METADATA_DISABLED: "true" };
}

/** Parses what a client printed; what failed is an object with its status and words, which matches no expectation. */
export function printed({ code, stdout, stderr }: ProgramResult): unknown {
  return code === 0 ? JSON.parse(stdout) : { code, stderr };
}

function literal(text: string): string {
  return text.replaceAll(/[^\w ]/g, "\\$&");
}
