import { EXPIRATION_LIMITS, MAX_AUDIENCES } from "../../shared/capa/role-session.ts";
import {
  CAPA_VERSION, identityPlural, INFRASTRUCTURE_GROUP, SERVICE_ACCOUNT_IDENTITY,
} from "../../shared/core/capa-kinds.ts";
import { DURATION_LIMITS, STS_AUDIENCE } from "../../shared/core/session.ts";
import { ARN_LENGTH } from "../../shared/formats/arn.ts";
import { type CRD, definition } from "../crds.ts";

/** The schema of the field `spec`. The fields are those of CAPA's proposal "Single Controller Multitenancy". */
const IDENTITY_SPEC = {
  type: "object",
  description: "A role that clusters in the namespace of the identity can use. The role is assumed with a token of the "
    + "ServiceAccount that has the same name and namespace (AssumeRoleWithWebIdentity).",
  required: ["roleARN"],
  properties: {
    roleARN: {
      type: "string", minLength: ARN_LENGTH.min, maxLength: ARN_LENGTH.max,
      description: "The ARN of the IAM role: arn:PARTITION:iam::ACCOUNT:role/PATH/NAME.",
    },
    sessionName: { type: "string", maxLength: 64, description: "The name of the role session." },
    durationSeconds: {
      type: "integer", format: "int32", minimum: DURATION_LIMITS.min, maximum: DURATION_LIMITS.max,
      description: "The duration of the role session.",
    },
    inlinePolicy: { type: "string", maxLength: 2048, description: "A session policy as JSON text." },
    policyARNs: {
      type: "array", maxItems: 10, items: { type: "string", maxLength: 2048 },
      description: "The ARNs of managed session policies.",
    },
    audiences: {
      type: "array", minItems: 1, maxItems: MAX_AUDIENCES, items: { type: "string", minLength: 1, maxLength: 255 },
      default: [STS_AUDIENCE], description: "The audiences of the token.",
    },
    expirationSeconds: {
      type: "integer", format: "int64", minimum: EXPIRATION_LIMITS.min, default: 86_400,
      description: "The lifetime of the token.",
    },
  },
} as const;

/** Returns the CustomResourceDefinition of AWSServiceAccountIdentity, a kind that shipped CAPA does not have. */
export function serviceAccountIdentityCRD(): CRD<object> {
  const schema = {
    type: "object",
    description: "The credentials of an IAM role that trusts a ServiceAccount of the same name and namespace.",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" }, spec: IDENTITY_SPEC,
    },
  };
  const kind = SERVICE_ACCOUNT_IDENTITY;
  const names = { kind, plural: identityPlural(kind), category: "cluster-api" };
  return definition(INFRASTRUCTURE_GROUP, names, "Namespaced", { name: CAPA_VERSION, schema, role: ".spec.roleARN" });
}
