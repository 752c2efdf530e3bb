import type { DecisionSettings } from "./context.ts";
import type { ErrorCode } from "../formats/errors.ts";
import type { NamespaceStore } from "./namespaces.ts";
import type { KindArgument } from "./ack-groups.ts";
import type { Labels } from "../formats/label-selector.ts";
import { firstNames, quote } from "../formats/text.ts";
import { LIMITS } from "./limits.ts";
import type { RoleOwner } from "./role-target.ts";
import { NO_EXTRAS, type SessionExtras } from "./session.ts";

/** The identity whose credentials the sidecar may issue, or a denial. */
export type Grant =
  | RoleGrant
  /** No role resolves, and the settings allow the base identity, which is the controller's own identity. */
  | { readonly verdict: "base" }
  | Denial;

export interface RoleGrant {
  readonly verdict: "role";
  readonly roleARN: string;
  /** The selectors that grant the role; [] if a CARM map grants the role. */
  readonly selectors: readonly string[];
  readonly extras: SessionExtras;
  readonly owner: RoleOwner;
  /**
   * The selector or map that grants the role. If the selector or map changes, `grantedBy` is a different object, which
   * invalidates cached STS results.
   */
  readonly grantedBy: object;
  /** The namespace that the session tags contain because of `{namespace}`; absent if they contain none. */
  readonly namespace?: string;
}

export interface Denial {
  readonly verdict: "denied";
  readonly code: ErrorCode;
  readonly message: string;
  readonly selectors: readonly string[];
}

/** The resources for which a client requests a role. */
export interface GrantScope {
  /** The API groups that the sidecar serves. */
  readonly groups: readonly string[];
  /**
   * The requested kinds; [] for all kinds of the groups. A kind without a group means the kind of this name in every
   * group.
   */
  readonly kinds: readonly KindArgument[];
  readonly settings: DecisionSettings;
  /** The session settings of selectors that do not set them. */
  readonly sessionDefaults: SessionExtras;
}

/** A request for a role by selector name or by ARN. */
export interface RoleQuery extends GrantScope {
  /** The only namespace whose roles the sidecar grants; null for all namespaces. */
  readonly scope: string | null;
}

/** A request for the role of a namespace. */
export interface NamespaceQuery extends GrantScope {
  readonly namespace: string;
  /** The labels of the resource; null if the labels are unknown. */
  readonly labels: Labels | null;
  /** Whether to grant the base identity or to deny the request if no role resolves. */
  readonly unmatched: "base" | "deny";
}

export function deny(code: ErrorCode, message: string, selectors: readonly string[] = []): Denial {
  return { verdict: "denied", code, message, selectors };
}

/**
 * Returns a denial if the namespace is unknown, because the role depends on the labels and annotations of the
 * namespace.
 */
export function unknownNamespace(
  { namespaces }: { readonly namespaces: NamespaceStore }, name: string,
): Denial | null {
  if (namespaces.has(name)) return null;
  if (namespaces.isOversized(name)) {
    const message = `Namespace ${quote(name)} exceeds a limit of the sidecar, such as ${LIMITS.metadataEntries.value} `
      + "labels. Remove labels and annotations from the namespace.";
    return deny("ERR_NAMESPACE_UNKNOWN", message);
  }
  return deny(
    "ERR_NAMESPACE_UNKNOWN",
    `Namespace ${quote(name)} is not in the inventory. Create the Namespace, or correct the name.`,
  );
}

/**
 * Returns the requested kinds as a comma-separated text. If no kind is requested, returns the groups, such as
 * `s3.services.k8s.aws, rds.services.k8s.aws`.
 */
export function describeKinds({ groups, kinds }: Pick<GrantScope, "groups" | "kinds">): string {
  if (kinds.length === 0) return groups.join(", ");
  const texts = kinds.map(({ kind, version, group }) =>
    [kind, version, group].filter((part) => part !== null).join("."),
  );
  return texts.join(", ");
}

/** Returns ` in namespace NAMESPACE, the scope of this sidecar`, or "" if the scope is any namespace. */
export function scopeSuffix({ scope }: Pick<RoleQuery, "scope">): string {
  return scope === null ? "" : ` in namespace ${scope}, the scope of this sidecar`;
}

/** Returns the groups of the requested kinds, or all groups if no kind is requested. */
export function candidateGroups({ groups, kinds }: Pick<GrantScope, "groups" | "kinds">): readonly string[] {
  if (kinds.length === 0) return groups;
  return groups.filter((group) => kinds.some((kind) => kind.group === null || kind.group === group));
}

/** The grant for one kind or group of a request. `name` is the kind or group. */
export interface Candidate {
  readonly name: string;
  readonly grant: Grant;
}

/**
 * If all candidates have the same grant, returns this grant; otherwise, returns a denial that lists the differences.
 */
export function commonGrant(namespace: string, candidates: Iterable<Candidate>): Grant {
  const distinct = new Map<string, DistinctGrant>();
  for (const { name, grant } of candidates) {
    if (grant.verdict === "denied" && grant.code === "ERR_SELECTOR_AMBIGUOUS") return grant;
    const key = identityOf(grant);
    const same = distinct.get(key);
    if (same === undefined) distinct.set(key, { grant, names: [name] });
    else same.names.push(name);
  }
  const [only, ...others] = distinct.values();
  if (only === undefined) return deny("ERR_SELECTOR_NOT_GRANTED", "This sidecar serves no API group.");
  return others.length === 0 ? only.grant : ambiguous(namespace, [only, ...others]);
}

interface DistinctGrant {
  readonly grant: Grant;
  readonly names: string[];
}

function ambiguous(namespace: string, distinct: readonly DistinctGrant[]): Grant {
  const parts = distinct.map(({ grant, names }) => `${listed(names).text}: ${describeGrant(grant)}`);
  const selectors = distinct.flatMap(({ grant }) => (grant.verdict === "base" ? [] : grant.selectors));
  return deny(
    "ERR_SELECTOR_AMBIGUOUS",
    `In namespace ${namespace} the role depends on the kind (${listed(parts, "; ").text}). `
      + `Request one kind with kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/${namespace}, `
      + "or set --kind of the sidecar.",
    listed(new Set(selectors)).first,
  );
}

/** The maximum number of kinds or selectors that a message or a log line lists. */
const MAX_LISTED = 20;

/** The names that a message lists, sorted. */
interface Listed {
  readonly first: readonly string[];
  /** The first names, and the number of the other names. */
  readonly text: string;
}

/** Returns the 20 names that sort first. A message or a log line must not list thousands of selectors. */
export function listed(names: Iterable<string>, separator = ", "): Listed {
  const { first, number } = firstNames(names, MAX_LISTED);
  const more = number > first.length ? ` and ${number - first.length} more` : "";
  return { first, text: first.join(separator) + more };
}

/**
 * Returns a text that is equal for equal grants. The text contains the session tags, because grants of the same
 * role can have different tags: a tag can contain the API group.
 */
function identityOf(grant: Grant): string {
  const { tags, policy, policyARNs, scope } = grant.verdict === "role" ? grant.extras : NO_EXTRAS;
  return JSON.stringify([describeGrant(grant), tags, policy, policyARNs, scope]);
}

function describeGrant(grant: Grant): string {
  if (grant.verdict === "base") return "the base identity";
  const selectors = grant.selectors.join(", ");
  if (grant.verdict === "role") {
    return grant.extras.tags.length === 0 ? grant.roleARN : `${grant.roleARN} with the session tags of ${selectors}`;
  }
  if (grant.code === "ERR_SELECTOR_UNMATCHED") return "no role";
  if (grant.code === "ERR_SELECTOR_CONFLICT") return `a conflict of [${selectors}]`;
  return selectors === "" ? `denied (${grant.code})` : `denied because of ${selectors}`;
}
