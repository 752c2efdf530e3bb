import { mayBeUnresolved } from "./unresolved-values.ts";

/** The characters of a JSON text after which a value is not what it looks like: escapes, and URL-encoding. */
const ENCODED = /[\\%]/;
/** What a policy contains that allows `sts:AssumeRole`. */
const ASSUMES = /"(sts:|\*|NotAction)/i;
const DENIES = /"Deny"/;
const WILDCARD = /[*?$]/g;

/**
 * Whether a policy document can allow a caller to assume a role. Reads only the text, without its structure: parsing
 * the policies of all callers would take most of the time. False is certain.
 */
export function canAllow(document: string, roleARN: string): boolean {
  if (ENCODED.test(document) || mayBeUnresolved(document)) return true;
  if (!ASSUMES.test(document)) return false;
  if (document.includes("NotResource") || document.includes(`"${roleARN}"`)) return true;
  // A pattern matches only if the role starts like it.
  for (const { index } of document.matchAll(WILDCARD)) {
    if (roleARN.startsWith(document.slice(document.lastIndexOf('"', index) + 1, index))) return true;
  }
  return false;
}

/** Whether a policy document can deny. False is certain. */
export function canDeny(document: string): boolean {
  return ENCODED.test(document) || mayBeUnresolved(document) || DENIES.test(document);
}
