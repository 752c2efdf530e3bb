import type { FieldPath } from "../formats/json.ts";

/** Matches the name of a field with an external ID or an inline policy, also a misspelled one. */
export const CONFIDENTIAL = /ext\w{0,10}[-_ ]?id\b|in-?line[-_ ]?polic/i;

/** Whether no output may contain the value of the field, because it is confidential or was probably meant as such. */
export function isConfidentialAt(path: FieldPath): boolean {
  const step = path.at(-1);
  const name = typeof step === "object" ? step.key : step;
  return typeof name === "string" && CONFIDENTIAL.test(name);
}
