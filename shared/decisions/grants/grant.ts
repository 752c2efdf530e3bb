import type { DecisionSettings } from "../context.ts";
import type { ErrorCode } from "../errors.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { KindArgument } from "../kubernetes/kinds.ts";
import type { Labels } from "../kubernetes/label-selector.ts";
import { compareText, quote } from "../kubernetes/text.ts";
import type { SessionExtras } from "../selectors/session.ts";

/** Whether credentials may be vended, and whose. Nothing but `role` and `base` means yes. */
export type Grant =
  | RoleGrant
  /** Nothing gives the resource a role: the controller's own identity. */
  | { readonly verdict: "base" }
  | Denial;

export interface RoleGrant {
  readonly verdict: "role";
  readonly roleARN: string;
  /** Those that it is granted on; none where a CARM map gives it. */
  readonly selectors: readonly string[];
  readonly extras: SessionExtras;
  /** What it is granted on: another object once that has been changed, so that what STS said of the old one is asked again. */
  readonly grantedBy: object;
}

export interface Denial {
  readonly verdict: "refused";
  readonly code: ErrorCode;
  readonly message: string;
  readonly selectors: readonly string[];
}

/** Who asks for a role. */
export interface GrantScope {
  /** The API groups that the asker may have roles for. */
  readonly groups: readonly string[];
  /** The kinds in question; [] means any kind of the groups, and one without a group that kind in each of them. */
  readonly kinds: readonly KindArgument[];
  readonly settings: DecisionSettings;
}

/** A role that is wanted whatever the namespace, by the selector's name or by its ARN. */
export interface RoleQuery extends GrantScope {
  /** The only namespace whose roles are granted, or null for any. */
  readonly scope: string | null;
}

/** A role that is wanted for a namespace. */
export interface NamespaceQuery extends GrantScope {
  readonly namespace: string;
  /** Null when the labels of the resource are not said, which is not the same as none. */
  readonly labels: Labels | null;
  /** What to do where nothing gives a role. */
  readonly unmatched: "base" | "deny";
}

export function denied(code: ErrorCode, message: string, selectors: readonly string[] = []): Denial {
  return { verdict: "refused", code, message, selectors };
}

/** Labels and annotations of an unknown namespace are not known either, so neither is what resolves there. */
export function unknownNamespace(inventory: Inventory, name: string): Denial | null {
  return inventory.hasNamespace(name) ? null : denied("ERR_NAMESPACE_UNKNOWN", `The inventory holds no Namespace ${quote(name)}. Create it, or correct the name.`);
}

/** `s3.services.k8s.aws, rds.services.k8s.aws`, or the kinds where some were named. */
export function describeKinds({ groups, kinds }: Pick<GrantScope, "groups" | "kinds">): string {
  if (kinds.length === 0) return groups.join(", ");
  return kinds.map(({ kind, version, group }) => [kind, version, group].filter((part) => part !== null).join(".")).join(", ");
}

/** To follow what is asked for; nothing where any namespace will do. */
export function inNamespaceScope({ scope }: Pick<RoleQuery, "scope">): string {
  return scope === null ? "" : ` in namespace ${scope}, the scope of this sidecar`;
}

/** The groups of which a kind is in question. */
export function candidateGroups({ groups, kinds }: Pick<GrantScope, "groups" | "kinds">): readonly string[] {
  return kinds.length === 0 ? groups : groups.filter((group) => kinds.some((kind) => kind.group === null || kind.group === group));
}

/** What one of the kinds or groups in question gets. */
export interface Answer {
  readonly what: string;
  readonly grant: Grant;
}

/** The one answer that all of them get, or a refusal that says what differs. One that cannot be told at all stands for all. */
export function commonGrant(namespace: string, answers: Iterable<Answer>): Grant {
  const distinct = new Map<string, { readonly grant: Grant; readonly whats: string[] }>();
  for (const { what, grant } of answers) {
    if (grant.verdict === "refused" && grant.code === "ERR_SELECTOR_AMBIGUOUS") return grant;
    const key = identityOf(grant);
    const same = distinct.get(key);
    if (same === undefined) distinct.set(key, { grant, whats: [what] });
    else same.whats.push(what);
  }
  const [only, ...others] = distinct.values();
  if (only === undefined) return denied("ERR_SELECTOR_NOT_GRANTED", "No --group is served here.");
  return others.length === 0 ? only.grant : differing(namespace, [only, ...others]);
}

function differing(namespace: string, answers: readonly { readonly grant: Grant; readonly whats: readonly string[] }[]): Grant {
  const parts = answers.map(({ grant, whats }) => `${whats.toSorted(compareText).join(", ")}: ${describeGrant(grant)}`);
  const selectors = answers.flatMap(({ grant }) => (grant.verdict === "base" ? [] : grant.selectors));
  return denied(
    "ERR_SELECTOR_AMBIGUOUS",
    `In namespace ${namespace} the role depends on the kind (${parts.toSorted(compareText).join("; ")}). Name one kind, with its version where that differs: kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/${namespace}, or --kind of the sidecar.`,
    [...new Set(selectors)].toSorted(compareText),
  );
}

/** Sessions of one role differ in the tags that name the groups, if at all. */
function identityOf(grant: Grant): string {
  return JSON.stringify([describeGrant(grant), grant.verdict === "role" ? grant.extras.tags : []]);
}

function describeGrant(grant: Grant): string {
  if (grant.verdict === "role") return grant.extras.tags.length === 0 ? grant.roleARN : `${grant.roleARN} with the session tags of ${grant.selectors.join(", ")}`;
  if (grant.verdict === "base") return "the base identity";
  if (grant.code === "ERR_SELECTOR_UNMATCHED") return "no role";
  if (grant.code === "ERR_SELECTOR_CONFLICT") return `a conflict of [${grant.selectors.join(", ")}]`;
  return grant.selectors.length === 0 ? `a refusal (${grant.code})` : `a refusal of ${grant.selectors.join(", ")}`;
}
