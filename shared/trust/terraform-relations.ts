import type { Gap, GapPart, HolderKind, IAMRole, InlinePolicy } from "./iam-objects.ts";
import { isSamePolicy } from "./policy-comparison.ts";
import { nameIn, type TerraformResource } from "./terraform-plan.ts";

/** The attribute with the name of an object, and the attribute with what the object gets. */
export type RelationRow = readonly [
  kind: HolderKind, attribute: string, what: "policy" | "policy_arn" | "group" | "groups",
];

export const RELATIONS: ReadonlyMap<string, readonly RelationRow[]> = new Map<string, readonly RelationRow[]>([
  ["aws_iam_role_policy", [["role", "role", "policy"]]],
  ["aws_iam_user_policy", [["user", "user", "policy"]]],
  ["aws_iam_group_policy", [["group", "group", "policy"]]],
  ["aws_iam_role_policy_attachment", [["role", "role", "policy_arn"]]],
  ["aws_iam_user_policy_attachment", [["user", "user", "policy_arn"]]],
  ["aws_iam_group_policy_attachment", [["group", "group", "policy_arn"]]],
  ["aws_iam_policy_attachment", [
    ["role", "roles", "policy_arn"], ["user", "users", "policy_arn"], ["group", "groups", "policy_arn"],
  ]],
  ["aws_iam_group_membership", [["user", "users", "group"]]],
  ["aws_iam_user_group_membership", [["user", "user", "groups"]]],
]);

/** What a resource adds to others. */
export type Addition = Partial<{
  inline: readonly InlinePolicy[]; attached: readonly string[]; groups: readonly string[]; gaps: readonly Gap[];
}>;
export interface Relation {
  readonly kind: HolderKind;
  /** Null if they are known after apply, so that they may be any in the file. */
  readonly names: readonly string[] | null;
  readonly addition: Addition;
  /** Why the names are not known. */
  readonly gaps: readonly Gap[];
}

/** The policies that resources of their own add to a role: documents by name, or null by ARN. */
interface RelatedPolicies {
  readonly after: Map<string, string | null>;
  /** Those before a plan, which may delete or rename them. */
  readonly before: Set<string>;
}

/** The policies that resources of their own add to the roles of a file, by the names of the roles. */
export class RelatedRoles {
  readonly #related = new Map<string, RelatedPolicies>();
  /** The names that roles of several accounts have. */
  readonly #shared = new Set<string>();

  constructor(roles: readonly TerraformResource[]) {
    const seen = new Set<string>();
    for (const name of roles.map(nameIn)) (seen.has(name) ? this.#shared : seen).add(name);
  }

  add(role: string, { inline = [], attached = [] }: Partial<IAMRole>, time: "before" | "after"): void {
    const listed = { "inline policies": inline, "attached policies": asPolicies(attached) };
    for (const [part, policies] of Object.entries(listed)) {
      const { after, before } = this.#open(part, role);
      for (const { name, document } of policies) {
        if (time === "after") after.set(name, document);
        else before.add(name);
      }
    }
  }

  /**
   * Returns the policies of an attribute of a role that no resource adds or has added, because their copies are out of
   * date once the resource changes. What may be such a copy becomes a gap.
   */
  withoutCopies(
    role: TerraformResource, listed: readonly InlinePolicy[], { part, place, origin }: PolicyAttribute,
  ): OwnPolicies {
    const name = nameIn(role);
    const { after, before } = this.#open(part, name);
    const isComputed = origin === "computed" && !this.#shared.has(name);
    const isAlone = after.size + before.size === 0;
    const policies: InlinePolicy[] = [];
    const gaps: Gap[] = [];
    for (const policy of listed) {
      const other = after.get(policy.name);
      const isRelated = other !== undefined || before.has(policy.name);
      const isCopy = isComputed ? isRelated : isEqual(policy.document, other);
      if (!isRelated && (isAlone || origin === "set")) policies.push(policy);
      else if (!isCopy) gaps.push({ part, cause: `${policy.name} of ${place}, which may be out of date` });
    }
    return { policies, gaps };
  }

  #open(part: string, role: string): RelatedPolicies {
    const key = `${part} ${role}`;
    const found = this.#related.get(key) ?? { after: new Map(), before: new Set() };
    this.#related.set(key, found);
    return found;
  }
}

/** An attribute of a role that has its policies. */
export interface PolicyAttribute {
  readonly part: GapPart;
  /** Such as `aws_iam_role.app.inline_policy`. */
  readonly place: string;
  /**
   * `set` by the configuration; `computed`, so that the provider has copied the policies of other resources into it at
   * the last refresh; or `open`, because a state does not tell which.
   */
  readonly origin: "set" | "computed" | "open";
}

export interface OwnPolicies {
  readonly policies: readonly InlinePolicy[];
  readonly gaps: readonly Gap[];
}

/** Returns ARNs in the form of policies without documents. */
export function asPolicies(arns: readonly string[]): InlinePolicy[] {
  return arns.map((name) => ({ name, document: null }));
}

function isEqual(document: string | null, other: string | null | undefined): boolean {
  if (document === null || typeof other !== "string") return document === other;
  return isSamePolicy(document, other);
}
