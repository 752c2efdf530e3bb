import { printable } from "../../shared/decisions/kubernetes/text.ts";
import { STSErrorResponse } from "./response.ts";

const FORM_TYPE = /^application\/x-www-form-urlencoded(\s*;\s*charset="?utf-8"?)?$/i;
const MESSAGE_LIMITS = { faults: 10, characters: 100 } as const;

/** Returns true for the Content-Type of the STS query protocol. botocore adds the charset, other SDKs do not. */
export function isFormType(contentType: string): boolean {
  return FORM_TYPE.test(contentType);
}

/**
 * Returns the parameters of a form body. Throws ValidationError if the body is not UTF-8 or repeats a parameter: of two
 * values, one parser uses the first and another the last.
 */
export function readForm(body: Buffer): URLSearchParams {
  const form = new URLSearchParams(decode(body));
  const [seen, repeated] = [new Set<string>(), new Set<string>()];
  for (const name of form.keys()) (seen.has(name) ? repeated : seen).add(name);
  if (repeated.size > 0) throw validationError(`Repeated parameters: ${joinFaults([...repeated].map(sanitize))}`);
  return form;
}

/** Truncates and escapes client input for a message. */
export function sanitize(text: string): string {
  const { characters } = MESSAGE_LIMITS;
  return printable(text.length > characters ? `${text.slice(0, characters)}...` : text);
}

/** Joins faults, and truncates a list of more than 10. */
export function joinFaults(faults: readonly string[]): string {
  const more = faults.length - MESSAGE_LIMITS.faults;
  return `${faults.slice(0, MESSAGE_LIMITS.faults).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

export function validationError(message: string): STSErrorResponse {
  return new STSErrorResponse("ValidationError", 400, message);
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw validationError("The body is not UTF-8.");
  }
}
