import { accountOfARN, parseARN } from "../formats/arn.ts";
import type { SessionRequest } from "../core/session.ts";
import type { RoleOwner } from "../core/role-target.ts";

/** An error response of STS. The message contains no secret. */
export interface STSAnswer {
  readonly code: string;
  readonly message: string;
}

/** What a call of AssumeRole sent, without the external ID, the policies and the values of tags. */
export interface Sent extends Pick<SessionRequest, "sessionName" | "durationSeconds" | "sourceIdentity"> {
  readonly hasExternalID: boolean;
  readonly hasPolicy: boolean;
  readonly tagKeys: readonly string[];
}

export function sentBy({ externalID, tags, policy, policyARNs, ...request }: SessionRequest): Sent {
  const { sessionName, durationSeconds, sourceIdentity } = request;
  return {
    sessionName, durationSeconds, sourceIdentity, hasExternalID: externalID !== null,
    hasPolicy: policy !== null || policyARNs.length > 0, tagKeys: tags.map(({ key }) => key),
  };
}

/** A call of AssumeRole that STS refused. */
export interface RefusedAssumeRole {
  readonly action: "AssumeRole";
  readonly roleARN: string;
  /** What names the role. */
  readonly owner: RoleOwner;
  /** The ARN of the caller, which can be a session or its role; null if it is not known. */
  readonly caller: string | null;
  /** The ARN of the sidecar's own identity, which assumed the caller if they differ. */
  readonly base: string | null;
  /** Whether EKS Pod Identity adds tags to the session of the base, which every later session inherits. */
  readonly hasPodTags: boolean;
  /** Whether the session of the caller passes on tags that an identity has set. */
  readonly hasIdentityTags: boolean;
  readonly sent: Sent;
}

/** A call of AssumeRoleWithWebIdentity that STS refused. The call has a token instead of a caller. */
export interface RefusedToken {
  readonly action: "AssumeRoleWithWebIdentity";
  readonly roleARN: string;
  /** The issuer of the token; "" if it is unknown. */
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly subject: string;
}

export type RefusedCall = RefusedAssumeRole | RefusedToken;

/** What a denial of STS says. STS names at most one kind of policy, also if several kinds deny. */
export interface Denial {
  readonly action: "sts:AssumeRole" | (typeof OTHER_ACTIONS)[number];
  /** The kind of policy that denied the call; null if STS does not name it. */
  readonly policy: string | null;
  readonly isExplicit: boolean;
  /** Who has this kind of policy; null if `policy` is null. `outside` stands for policies that IAM does not contain. */
  readonly side: "trust" | "caller" | "outside" | null;
}

/** The likely cause of a refusal. Both texts are clauses. */
export interface Cause {
  readonly cause: string;
  readonly fix: string;
  /** The command that shows the cause; null if exports of IAM do not contain it. */
  readonly shownBy: "trust check" | "trust who" | null;
}

/** One cause of a refusal. */
export interface Row<Call> {
  /** Default: `explain` decides. */
  readonly applies?: (refusal: Refusal<Call>) => boolean;
  /** Returns null if it is not the cause. */
  readonly explain: (refusal: Refusal<Call>) => Cause | null;
}

/** A refusal while its cause is looked up. */
export interface Refusal<Call> {
  readonly call: Call;
  readonly answer: STSAnswer;
  /** Null if the answer is not a denial. */
  readonly denial: Denial | null;
  /** The principal that a trust policy must name, as text. */
  readonly principal: string;
}

const SIDES: ReadonlyMap<string, Denial["side"]> = new Map([
  ["role trust policy", "trust"], ["resource-based policy", "trust"], ["identity-based policy", "caller"],
  ["permissions boundary", "caller"], ["session policy", "caller"], ["service control policy", "outside"],
  ["resource control policy", "outside"], ["VPC endpoint policy", "outside"],
]);
const OTHER_ACTIONS = ["sts:TagSession", "sts:SetSourceIdentity"] as const;
const POLICY = new RegExp(`(because no|with an explicit deny in (?:an?|the)) (${[...SIDES.keys()].join("|")})`);

/**
 * Returns what a denial says; null for any other answer. Sources:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html and id_session-tags.html
 */
export function denialIn({ code, message }: STSAnswer): Denial | null {
  if (code !== "AccessDenied" && code !== "AccessDeniedException") return null;
  const named = OTHER_ACTIONS.find((one) => message.includes(`not authorized to perform: ${one} `));
  const [, how = "", policy = ""] = POLICY.exec(message) ?? [];
  const side = SIDES.get(policy) ?? null;
  const isExplicit = how.startsWith("with");
  return { action: named ?? "sts:AssumeRole", policy: side === null ? null : policy, side, isExplicit };
}

/** The parts of the ARN of a role, a session or a user. */
interface Parts {
  readonly partition: string;
  readonly accountID: string;
  /** The name of the role; "" for any other ARN. */
  readonly roleName: string;
  /** Whether the ARN is that of a session, which lacks the path of the role. */
  readonly isSession: boolean;
}

export function partsOf(arn: string): Parts | null {
  const { partition, service, accountID, resource } = parseARN(arn) ?? { resource: "" };
  if (partition === undefined || service === undefined || accountID === undefined) return null;
  const [, type, rest = ""] = /^(role|assumed-role)\/(.+)$/.exec(resource) ?? [];
  const isSession = service === "sts" && type === "assumed-role";
  const roleName = isSession ? rest.slice(0, rest.indexOf("/")) : rest.slice(rest.lastIndexOf("/") + 1);
  return { partition, accountID, roleName, isSession };
}

/**
 * Returns the principal that a trust policy must name to allow the caller. For a session, this is the role: the name of
 * a session changes with each start of the caller.
 */
export function principalOf(caller: string): string {
  const parts = partsOf(caller);
  if (parts === null || !parts.isSession || parts.roleName === "") return caller;
  const role = `arn:${parts.partition}:iam::${parts.accountID}:role/${parts.roleName}`;
  return `${role} (insert the path of the role, if it has one)`;
}

/** Whether the caller is in another account than the role. False if the caller is not known. */
export function isAcrossAccounts({ caller, roleARN }: RefusedAssumeRole): boolean {
  return caller !== null && accountOfARN(caller) !== accountOfARN(roleARN);
}
