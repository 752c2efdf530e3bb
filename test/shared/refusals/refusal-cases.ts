// Refusals of STS, with exports of IAM in which `trust check` finds the same cause.
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { BaseCredentials } from "../../../cli/local/sts-emulator/principals.ts";
import { document, exportOf, roleDetail } from "../trust/iam-export.ts";
import { allow, type Fields } from "../trust/trust-cases.ts";
import { BASE } from "../../sidecar/running-sidecar.ts";

export const EXTERNAL_ID = "planted-external-id";
export const TAG_VALUE = "planted-tag-value";
export const ROLE = "arn:aws:iam::444455556666:role/ack/team-a";
/** The role of the sidecar, which has a path, and its session, which has none. */
const OWN = "arn:aws:iam::111122223333:role/platform/ack";
export const SESSION: BaseCredentials = { ...BASE, arn: "arn:aws:sts::111122223333:assumed-role/ack/pod" };
const { sessionToken: _, ...KEY } = BASE;
const USER: BaseCredentials = { ...KEY, arn: "arn:aws:iam::111122223333:user/team/ack" };
const NEAR = "arn:aws:iam::444455556666:role/platform/ack";
const NEAR_SESSION: BaseCredentials = { ...BASE, arn: "arn:aws:sts::444455556666:assumed-role/ack/pod" };
const POD_IDENTITY = { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://169.254.170.23/v1/credentials" };
const LIMIT = "arn:aws:iam::111122223333:policy/limit";
const ALL = ["sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"];

export interface RefusalCase {
  readonly title: string;
  readonly code?: string;
  readonly message: string;
  readonly base?: BaseCredentials;
  readonly environment?: Readonly<Record<string, string>>;
  readonly role?: string;
  readonly annotations?: JsonObject;
  /** What the Event says of the cause and the fix. */
  readonly event: RegExp;
  /** The action and the reason with which `trust check` says no; null if no command shows the cause. */
  readonly check: readonly [action: string, reason: RegExp] | null;
  /** The exports, by account. */
  readonly exports?: Readonly<Record<string, Fields>>;
}

function denied(action: string, why = "", role = ROLE): string {
  return `User: ${SESSION.arn} is not authorized to perform: ${action} on resource: ${role}${why}`;
}

/** Returns the export of the account of the sidecar. Its role may do everything unless `fields` say otherwise. */
function ownExport(actions: readonly string[] = ALL, fields: Fields = {}): Fields {
  const statement = { Effect: "Allow", Action: actions, Resource: "*" };
  const policies = [{ PolicyName: "assume", PolicyDocument: document(statement) }];
  return exportOf({ RoleDetailList: [roleDetail(OWN, document(), { RolePolicyList: policies, ...fields })] });
}

function roleExport(...statements: readonly Fields[]): Fields {
  return exportOf({ RoleDetailList: [roleDetail(ROLE, document(...statements))] });
}

function trusting(actions: string | readonly string[], fields: Fields = {}): Fields {
  return { ...allow({ AWS: OWN }), Action: actions, ...fields };
}

/** An account without the role. */
const EMPTY = exportOf({ RoleDetailList: [roleDetail(NEAR, document())] });
const annotation = (name: string, value: string): JsonObject => ({ [`ack-role-resolver.io/${name}`]: value });
const TAGS = annotation("session-tags", `team name=${TAG_VALUE}`);

export const CASES: readonly RefusalCase[] = [
  {
    title: "the trust policy does not name the caller",
    message: denied("sts:AssumeRole"),
    event: /denied sts:AssumeRole on \S+ for \S+pod: the role does not exist, or its trust policy does not allow the c/,
    check: ["sts:AssumeRole", /no statement of the trust policy allows the caller sts:AssumeRole/],
    exports: { 444455556666: roleExport(allow({ AWS: `${OWN}-2` })), 111122223333: ownExport() },
  },
  {
    title: "the role does not exist",
    message: denied("sts:AssumeRole"),
    event: /or name another role in a new selector\. Show it: /,
    check: ["sts:AssumeRole", /the role does not exist in the export of its account/],
    exports: { 444455556666: EMPTY, 111122223333: ownExport() },
  },
  {
    title: "the trust policy demands an external ID and none is sent",
    message: denied("sts:AssumeRole"),
    event: /an external ID, which the call lacks, or no policy of the caller allows it\. Allow sts:AssumeRole to /,
    check: ["sts:AssumeRole", /conditions on sts:ExternalId do not allow the call; the call sends no external ID/],
    exports: {
      444455556666: roleExport(trusting(ALL, { Condition: { StringEquals: { "sts:ExternalId": "x1" } } })),
      111122223333: ownExport(),
    },
  },
  {
    title: "the trust policy demands another external ID",
    message: denied("sts:AssumeRole"),
    annotations: annotation("external-id", EXTERNAL_ID),
    event: /demands another external ID, .* Allow sts:AssumeRole with the external ID of the selector to \S+role\/ac/,
    check: ["sts:AssumeRole", /conditions on sts:ExternalId do not allow the call/],
    exports: {
      444455556666: roleExport(trusting(ALL, { Condition: { StringEquals: { "sts:ExternalId": "x1" } } })),
      111122223333: ownExport(),
    },
  },
  {
    title: "no policy of the caller allows the call, as STS says",
    message: denied("sts:AssumeRole", " because no identity-based policy allows the sts:AssumeRole action"),
    event: /: no policy of the caller allows it\. Allow sts:AssumeRole on the role in a policy of \S+ \(.*\), or/,
    check: ["sts:AssumeRole", /no identity policy of the caller allows the call/],
    exports: { 444455556666: roleExport(trusting(ALL)), 111122223333: ownExport(["s3:*"]) },
  },
  {
    title: "the permissions boundary of the caller does not allow the call",
    message: denied("sts:AssumeRole", " because no permissions boundary allows the sts:AssumeRole action"),
    event: /: the permissions boundary of the caller does not allow it\./,
    check: ["sts:AssumeRole", /no permissions boundary of the caller allows the call/],
    exports: {
      444455556666: roleExport(trusting(ALL)),
      111122223333: {
        ...ownExport(ALL, {
          PermissionsBoundary: { PermissionsBoundaryType: "Policy", PermissionsBoundaryArn: LIMIT },
        }),
        Policies: [{
          Arn: LIMIT, DefaultVersionId: "v1",
          PolicyVersionList: [{
            VersionId: "v1", IsDefaultVersion: true,
            Document: document({ Effect: "Allow", Action: "s3:*", Resource: "*" }),
          }],
        }],
      },
    },
  },
  {
    title: "a statement denies the call explicitly",
    message: denied("sts:AssumeRole", " with an explicit deny in the role trust policy"),
    event: /: a statement of a role trust policy denies it\. Remove or narrow this statement\. Show it: /,
    check: ["sts:AssumeRole", /denied by a statement of the trust policy/],
    exports: {
      444455556666: roleExport(trusting(ALL), { ...allow("*"), Effect: "Deny" }), 111122223333: ownExport(),
    },
  },
  {
    title: "a service control policy denies the call, which no export contains",
    message: denied("sts:AssumeRole", " with an explicit deny in a service control policy"),
    event: /a statement of a service control policy denies it\. .*; exports of IAM do not contain such policies\. ST/,
    check: null,
  },
  {
    title: "the call sends tags that the trust policy does not allow",
    message: denied("sts:TagSession"),
    annotations: TAGS,
    event: /denied sts:TagSession on \S+ for \S+: the call sends session tags\. Allow .*, in a statement without a/,
    check: ["sts:TagSession", /no statement of the trust policy allows the caller sts:TagSession/],
    exports: { 444455556666: roleExport(trusting("sts:AssumeRole")), 111122223333: ownExport() },
  },
  {
    title: "the session inherits the tags of EKS Pod Identity",
    message: denied("sts:TagSession"),
    environment: POD_IDENTITY,
    event: /: the session of the caller passes on session tags, such as those that EKS Pod Identity adds\. .*, and on/,
    check: ["sts:TagSession", /no statement of the trust policy allows the caller sts:TagSession/],
    exports: { 444455556666: roleExport(trusting("sts:AssumeRole")), 111122223333: ownExport() },
  },
  {
    title: "the session inherits tags, although the sidecar does not know of any",
    message: denied("sts:TagSession", " because no identity-based policy allows the sts:TagSession action"),
    event: /: the session of the caller passes on session tags, .* on the role in a policy of \S+ \(.*\)\. Show it: /,
    check: ["sts:TagSession", /no identity policy of the caller allows the call/],
    exports: { 444455556666: roleExport(trusting(ALL)), 111122223333: ownExport(["sts:AssumeRole"]) },
  },
  {
    title: "the call sends a source identity",
    message: denied("sts:SetSourceIdentity"),
    annotations: annotation("source-identity", "team-a"),
    event: /: the call sends a source identity\. Allow sts:SetSourceIdentity to \S+ \(.*\) in the trust policy of th/,
    check: ["sts:SetSourceIdentity", /no statement of the trust policy allows the caller sts:SetSourceIdentity/],
    exports: { 444455556666: roleExport(trusting("sts:AssumeRole")), 111122223333: ownExport() },
  },
  {
    title: "the session inherits a source identity",
    message: denied("sts:SetSourceIdentity"),
    event: /: the session of the caller passes on its source identity\./,
    check: ["sts:SetSourceIdentity", /no statement of the trust policy allows the caller sts:SetSourceIdentity/],
    exports: { 444455556666: roleExport(trusting("sts:AssumeRole")), 111122223333: ownExport() },
  },
  {
    title: "a role of the account of the caller trusts another role",
    base: NEAR_SESSION,
    message: denied("sts:AssumeRole", " because no identity-based policy allows the sts:AssumeRole action"),
    event: /does not allow the caller or demands an external ID, which the call lacks\. Allow \S+ to \S+ \(.*\) in/,
    check: ["sts:AssumeRole", /no statement of the trust policy allows the caller/],
    exports: {
      444455556666: exportOf({
        RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: OWN }))), roleDetail(NEAR, document())],
      }),
    },
  },
  {
    title: "a role assumes itself",
    base: NEAR_SESSION, role: NEAR, message: denied("sts:AssumeRole", "", NEAR),
    event: /: since 2022, a role that assumes itself must be named in its own trust policy\./,
    check: ["sts:AssumeRole", /since 2022, a role that assumes itself must be named too/],
    exports: { 444455556666: exportOf({ RoleDetailList: [roleDetail(NEAR, document(allow({ AWS: OWN })))] }) },
  },
  {
    title: "the role is in another partition",
    role: "arn:aws-cn:iam::444455556666:role/ack/team-a", code: "ValidationError", message: "Invalid partition",
    event: /: the caller is in the partition "aws", and the role in "aws-cn"\. Name a role of the partition of the c/,
    check: ["sts:AssumeRole", /the caller is in the partition aws, and the role in aws-cn/],
    exports: { 444455556666: exportOf({}), 111122223333: ownExport() },
  },
  {
    title: "the caller is the root user of an account",
    base: { ...USER, arn: "arn:aws:iam::111122223333:root" }, message: "Roles may not be assumed by root accounts.",
    event: /: the caller is the root user of an account, which cannot assume roles\. Use the credentials of a role\./,
    check: ["sts:AssumeRole", /the root user of an account cannot assume roles/],
    exports: { 444455556666: exportOf({}), 111122223333: ownExport() },
  },
  {
    title: "the duration exceeds MaxSessionDuration of the role",
    base: USER, annotations: annotation("duration-seconds", "7200"), code: "ValidationError",
    message: "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
    event: /: the session of 7200 s is longer than MaxSessionDuration .* or reduce the annotation duration-seconds/,
    check: ["sts:AssumeRole", /the duration of 7200 seconds exceeds the MaxSessionDuration of 3600 seconds/],
    exports: {
      444455556666: { Role: { ...roleDetail(ROLE, document()), MaxSessionDuration: 3600 } }, 111122223333: exportOf({}),
    },
  },
  {
    title: "the tags and those of EKS Pod Identity are too large",
    environment: POD_IDENTITY, annotations: TAGS, code: "PackedPolicyTooLarge",
    message: "Packed size of session tags consumes 112% of allotted space.",
    event: /the session tags and the tags that EKS Pod Identity adds together exceed what STS can store .*disableSes/,
    check: null,
  },
  {
    title: "the session policy is too large",
    code: "PackedPolicyTooLarge", message: "Packed size of session tags consumes 112% of allotted space.",
    event: /: the session policy exceeds what STS can store in a session\. Shorten .*: none of the selector\. STS/,
    check: null,
  },
  {
    title: "the session policy is malformed",
    code: "MalformedPolicyDocument", message: "Syntax errors in policy.",
    event: /rejected sts:AssumeRole on \S+ for \S+: the session policy is not valid\. Correct the session policy/,
    check: null,
  },
  {
    title: "STS is not active in the region",
    code: "RegionDisabledException", message: "STS is not activated in this region for account:111122223333.",
    event: /: STS is not active in the region of the sidecar for this account\. Activate STS in the region, or set a/,
    check: null,
  },
  {
    title: "another parameter is not valid",
    code: "ValidationError", message: "1 validation error detected: Value at 'roleArn' failed to satisfy constraint",
    event: /: a parameter is not valid\. Correct the parameter that the message names\. STS returned ValidationError/,
    check: null,
  },
  {
    title: "STS sends a code that is not documented for this call",
    code: "IDPRejectedClaim", message: "why",
    event: /: it does not accept the call\. Correct what its message names\. STS returned IDPRejectedClaim/,
    check: null,
  },
];
