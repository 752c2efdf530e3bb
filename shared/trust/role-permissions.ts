import type { IAMData } from "./iam-data.ts";
import type { IAMRole } from "./iam-objects.ts";
import type { Statement } from "./policy-document.ts";
import type { Template } from "./policy-variables.ts";
import { coversAction } from "./statement-match.ts";
import type { Answer } from "./three-values.ts";
import { mayBeUnresolved } from "./unresolved-values.ts";
import { matchesResource, type Pattern } from "./wildcard-pattern.ts";

/** The characters of a JSON text after which a value is not what it looks like: escapes, and URL-encoding. */
const ENCODED = /[\\%]/;
/** What a policy contains that allows `sts:AssumeRole`. */
const ASSUMES = /"(sts:|\*|NotAction)/i;
const DENIES = /"Deny"/;
/** A resource with fewer than six parts, which IAM may complete. */
const INCOMPLETE_ARN = /"arn(?::[^:"]*){0,4}"/;
const WILDCARD = /[*?$]/g;

/** What a policy document may allow, as its text shows. */
interface Grants {
  /** The text, which contains the ARNs of the roles. */
  readonly document: string;
  /** The starts of the ARNs that its patterns match. */
  readonly prefixes: readonly string[];
}

/** Which roles the policies of a role let it assume, in the simple cases, which are most. */
export class RolePermissions {
  readonly #data: IAMData;
  /** Whether a policy is not known. */
  readonly #isOpen: boolean;
  readonly #hasBoundary: boolean;
  readonly #mayDeny: boolean;
  readonly #grants: readonly Grants[];
  #certain: readonly Pattern[] | null = null;

  constructor({ inline, attached, gaps, boundary }: IAMRole, data: IAMData) {
    const documents = [...inline.map(({ document }) => document), ...attached.map((arn) => data.policy(arn))];
    const known = documents.filter((one) => one !== null);
    this.#data = data;
    this.#isOpen = gaps.length > 0 || known.length < documents.length;
    this.#hasBoundary = boundary !== null;
    this.#mayDeny = known.some(canDeny);
    this.#grants = known.flatMap((one) => grantsIn(one) ?? []);
  }

  /** Returns yes if the role can assume one of its account that trusts it by its ARN, or null if that is not simple. */
  alone(): Answer | null {
    return this.#isOpen || this.#hasBoundary || this.#mayDeny ? null : "yes";
  }

  /** Returns whether the role can assume one of its partition that trusts it, or null if that is not simple. */
  answer(roleARN: string): Answer | null {
    if (this.#isOpen) return null;
    if (!this.#grants.some((one) => mayGrant(one, roleARN))) return "no";
    if (this.alone() === null) return null;
    this.#certain ??= this.#patterns();
    return this.#certain.some((one) => matchesResource(one, roleARN).answer === "yes") ? "yes" : null;
  }

  /** Returns the resources of the statements that allow without conditions. */
  #patterns(): Pattern[] {
    const statements = this.#grants.flatMap(({ document }) => (
      this.#data.parse(document, "identity").policy?.statements ?? []
    ));
    return statements.filter(isCertain).flatMap(({ resources }) => resources.items.flatMap(fixedPattern));
  }
}

function isCertain(statement: Statement): boolean {
  const { effect, conditions, resources } = statement;
  const isPlain = effect === "Allow" && conditions.length === 0 && !resources.isNegated;
  return isPlain && coversAction(statement, "sts:AssumeRole");
}

/** Returns the pattern of a resource without variables. */
function fixedPattern(template: Template | null): Pattern[] {
  const first = template?.[0];
  return template?.length !== 1 || first === undefined || "key" in first ? [] : [first];
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
