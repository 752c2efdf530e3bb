import type { SidecarSession } from "../core/session.ts";
import type { PROGRAMS } from "../core/trust-settings.ts";
import { type Caller, isInIAM, type SessionCaller, type Tags } from "./assume-role-call.ts";
import { type Credentials, POD_IDENTITY_KEYS } from "./added-tags.ts";
import type { IAMData } from "./iam-data.ts";
import { type FoundCaller, QuestionError } from "./trust-question.ts";
import { trustedBy } from "./trusted.ts";

export type Program = (typeof PROGRAMS)[number];

/** A program that assumes the roles that selectors, CARM maps and identities name. */
export interface RoleCaller {
  /** The ARN of its own role, or of the user whose keys it has. */
  readonly arn: string;
  readonly via: Program;
  /** Null if they are not known. */
  readonly credentials: Credentials | null;
  /** What the sidecar sends; for the other programs, it is not used. */
  readonly sidecar: SidecarSession;
  /** The API groups that its controllers manage; null for every group. */
  readonly groups?: readonly string[] | null;
}

const POD_IDENTITY_TAGS: Tags = new Map(POD_IDENTITY_KEYS.map((key) => [key, null]));
const NO_TAGS: Tags = new Map();

/** Returns the caller with the tags of its session. Throws a QuestionError if it cannot have these credentials. */
export function withSessionTags(
  found: FoundCaller, { arn, credentials }: Pick<RoleCaller, "arn" | "credentials">,
): FoundCaller {
  const { caller } = found;
  if (!isInIAM(caller)) {
    throw new QuestionError(`${arn} is a service, which assumes only the controller's own role: pass this role`);
  }
  if (caller.kind === "user" && credentials !== null && credentials !== "keys") {
    throw new QuestionError(`${arn} is a user: pass --caller-credentials keys, or the ARN of a role`);
  }
  return withTransitiveTags(found, credentials === "pod-identity" ? POD_IDENTITY_TAGS : NO_TAGS);
}

/** Returns the session of a role that `base` has assumed, with the transitive tags of both. */
export function chained(found: FoundCaller, base: Caller | null, tags: Tags): FoundCaller {
  const inherited = base?.kind === "session" ? base.transitiveTags : [];
  return withTransitiveTags(found, new Map([...tags, ...inherited]));
}

/** A session tag replaces the tag of the role with the same key. A user has no session. */
function withTransitiveTags(found: FoundCaller, tags: Tags): FoundCaller {
  const { caller } = found;
  if (caller.kind !== "session") return found;
  return { ...found, caller: { ...caller, tags: mergedTags(caller, tags), transitiveTags: tags } };
}

function mergedTags({ tags: ofRole }: SessionCaller, added: Tags): SessionCaller["tags"] {
  if (ofRole === null) return null;
  const keys = new Set(added.keys());
  return new Map([...[...ofRole].filter(([key]) => !keys.has(key.toLowerCase())), ...added]);
}

/**
 * Returns the credentials of callers, as their own trust policies show; null if an export lacks one of them. If one of
 * them can use Pod Identity, all are treated so.
 */
export function credentialsOf(callers: readonly string[], data: IAMData): Credentials | null {
  const found = new Set(callers.map((caller): Credentials | null => {
    const trust = data.role(caller)?.trust ?? null;
    const policy = trust === null ? null : data.parse(trust, "trust").policy;
    if (policy === null) return null;
    return trustedBy(policy).some(({ name }) => name === "pods.eks.amazonaws.com") ? "pod-identity" : "irsa";
  }));
  if (found.has("pod-identity")) return "pod-identity";
  return found.has(null) ? null : "irsa";
}
