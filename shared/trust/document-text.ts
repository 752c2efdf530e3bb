import { mayBeUnresolved } from "./unresolved-values.ts";

/** The characters of a JSON text after which a value is not what it looks like: escapes, and URL-encoding. */
const ENCODED = /[\\%]/;
/** What a policy contains that allows `sts:AssumeRole`. */
const ASSUMES = /"(sts:|\*|NotAction)/i;
const DENIES = /"Deny"/;
/** A resource with fewer than six parts, which IAM may complete. */
const INCOMPLETE_ARN = /"arn(?::[^:"]*){0,4}"/;
const WILDCARD = /[*?$]/g;

/** What a policy document may allow, as its text shows. */
export interface Grants {
  /** The text, which contains the ARNs of the roles. */
  readonly document: string;
  /** The starts of the ARNs that its patterns match. */
  readonly prefixes: readonly string[];
}

const ANY_ROLE = [""];

/**
 * Returns the roles that a policy document can allow a caller to assume; null if it certainly allows none. Reads only
 * the text, without its structure: parsing the policies of all callers would take most of the time.
 */
export function grantsIn(document: string): Grants | null {
  if (ENCODED.test(document) || mayBeUnresolved(document)) return { document, prefixes: ANY_ROLE };
  if (!ASSUMES.test(document)) return null;
  if (document.includes("NotResource") || INCOMPLETE_ARN.test(document)) return { document, prefixes: ANY_ROLE };
  const prefixes = new Set<string>();
  for (const { index } of document.matchAll(WILDCARD)) {
    const prefix = document.slice(document.lastIndexOf('"', index) + 1, index);
    // Every other pattern, such as that of an action, matches no ARN.
    if (prefix.startsWith("arn:") || "arn:".startsWith(prefix)) prefixes.add(prefix);
  }
  return { document, prefixes: [...prefixes] };
}

/** Whether a document can allow a role. False is certain. */
export function mayGrant({ document, prefixes }: Grants, roleARN: string): boolean {
  return prefixes.some((prefix) => roleARN.startsWith(prefix)) || document.includes(`"${roleARN}"`);
}

/** Whether a policy document can deny. False is certain. */
export function canDeny(document: string): boolean {
  return ENCODED.test(document) || mayBeUnresolved(document) || DENIES.test(document);
}
