/** Tags by key. Keys are unique regardless of case. A value is null if it is not known. */
export type Tags = ReadonlyMap<string, string | null>;

/** The ARN of a role, and its parts. */
export interface RoleARN {
  readonly arn: string;
  readonly partition: string;
  readonly accountID: string;
}

/** The parameters of a call of AssumeRole. */
export interface AssumeRoleCall {
  readonly role: RoleARN;
  readonly externalID: string | null;
  readonly sourceIdentity: string | null;
  readonly tags: Tags;
  readonly transitiveTagKeys: readonly string[];
  /** Null if it is not known. Every call has one. */
  readonly sessionName: string | null;
  /** The start of a session name that is not known. */
  readonly sessionNameStart?: string;
  readonly durationSeconds: number | null;
}

/** The parameters of a call that sends nothing but the role. */
export const NOTHING_SENT: Omit<AssumeRoleCall, "role"> = {
  externalID: null, sourceIdentity: null, tags: new Map(), transitiveTagKeys: [], sessionName: null,
  durationSeconds: null,
};

interface Principal {
  readonly partition: string;
  readonly accountID: string;
  /** The unique ID, such as `AROA...`; null if it is not known. */
  readonly uniqueID: string | null;
  /** Null if they are not known. */
  readonly tags: Tags | null;
}

/** A session of a role. Its own session tags are in `tags`. */
export interface SessionCaller extends Principal {
  readonly kind: "session";
  /** The ARN of the role. Null if its path is not known, because only the ARN of a session was given. */
  readonly roleARN: string | null;
  readonly roleName: string;
  /** Null if it is not known. */
  readonly sessionName: string | null;
  /** The source identity and the transitive session tags, which the next session inherits. */
  readonly sourceIdentity: string | null;
  readonly transitiveTags: Tags;
}

export interface UserCaller extends Principal {
  readonly kind: "user";
  readonly arn: string;
  readonly userName: string;
}

/** A service of AWS, such as pods.eks.amazonaws.com. */
export interface ServiceCaller {
  readonly kind: "service";
  readonly name: string;
}

/** A service account, whose token is the credentials of a call of AssumeRoleWithWebIdentity. */
export interface TokenCaller {
  readonly kind: "token";
  /** The ARN of the OIDC provider in IAM. */
  readonly provider: string;
  /** `system:serviceaccount:NAMESPACE:NAME`; null if it is not known. */
  readonly subject: string | null;
  readonly audience: string;
}

/** A caller with policies of its own. */
export type IAMCaller = SessionCaller | UserCaller;
/** A caller whose calls only the trust policy decides. */
export type OtherCaller = ServiceCaller | TokenCaller;
export type Caller = IAMCaller | OtherCaller;

/** Whether a caller has an ARN, and policies of its own. */
export function isInIAM(caller: Caller): caller is IAMCaller {
  return caller.kind === "session" || caller.kind === "user";
}

export const ACTIONS = ["sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"] as const;
export const WEB_IDENTITY = "sts:AssumeRoleWithWebIdentity";
export type Action = (typeof ACTIONS)[number] | typeof WEB_IDENTITY;

/** A call of AssumeRole with everything that conditions of policies can compare. */
export interface Request {
  readonly call: AssumeRoleCall;
  readonly caller: Caller;
  /** The tags of the role; null if they are not known. */
  readonly roleTags: Tags | null;
  readonly nowSeconds: number;
  /** The condition keys whose values are those of one of the callers for whom a caller stands. Default: none. */
  readonly chosenKeys?: readonly string[];
}

/** Returns the actions that policies must allow. Inherited tags and source identities need their actions too. */
export function actionsOf({ call, caller }: Pick<Request, "call" | "caller">): Action[] {
  if (caller.kind === "token") return [WEB_IDENTITY];
  const inherited = caller.kind === "session" ? caller : null;
  const hasTags = call.tags.size > 0 || call.transitiveTagKeys.length > 0 || (inherited?.transitiveTags.size ?? 0) > 0;
  const hasSource = call.sourceIdentity !== null || (inherited?.sourceIdentity ?? null) !== null;
  return ACTIONS.filter((action) => (
    action === "sts:AssumeRole" || (action === "sts:TagSession" ? hasTags : hasSource)
  ));
}
