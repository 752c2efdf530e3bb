import { printable } from "../../shared/decisions/kubernetes/text.ts";
import { STSErrorResponse } from "./response.ts";

const FORM_TYPE = /^application\/x-www-form-urlencoded(\s*;\s*charset="?utf-8"?)?$/i;
const TOLD = { faults: 10, characters: 100 } as const;

/** Whether a Content-Type is that of STS's query protocol; botocore names the charset, others do not. */
export function isFormType(contentType: string): boolean {
  return FORM_TYPE.test(contentType);
}

/**
 * The parameters of a form body. Throws ValidationError where it is no UTF-8, or names a parameter twice: of two, one reader
 * takes the first and another the last.
 */
export function readForm(body: Buffer): URLSearchParams {
  const form = new URLSearchParams(decode(body));
  const [seen, repeated] = [new Set<string>(), new Set<string>()];
  for (const name of form.keys()) (seen.has(name) ? repeated : seen).add(name);
  if (repeated.size > 0) throw invalid(`These parameters are given more than once: ${listed([...repeated].map(shown))}`);
  return form;
}

/** A client's text inside a message. */
export function shown(text: string): string {
  return printable(text.length > TOLD.characters ? `${text.slice(0, TOLD.characters)}...` : text);
}

/** So many of a client's faults as anybody reads. */
export function listed(faults: readonly string[]): string {
  const more = faults.length - TOLD.faults;
  return `${faults.slice(0, TOLD.faults).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

export function invalid(message: string): STSErrorResponse {
  return new STSErrorResponse("ValidationError", 400, message);
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw invalid("The body is not UTF-8.");
  }
}
