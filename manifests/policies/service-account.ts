import type {
  V1RuleWithOperations, V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding,
} from "@kubernetes/client-node";
import {
  RESOLVER_PREFIX, SELECTOR_ANNOTATIONS, SELECTOR_REQUIRED_ANNOTATION, USE_SELECTOR_ANNOTATION,
} from "../../shared/contract/annotation-keys.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP, pluralsByGroup,
  REFERRER_KINDS,
} from "../../shared/contract/capa-kinds.ts";
import { knownGroups, SELECTOR_GROUP } from "../../shared/contract/ack-groups.ts";
import { WEBHOOK } from "../../shared/contract/installation.ts";
import type { WebhookOptions } from "../webhooks.ts";
import { text, texts } from "./cel.ts";
import { policyWithBinding } from "./policy.ts";

/** The annotations that users set and that affect decisions. The webhook never writes them. */
const INPUTS = texts([...SELECTOR_ANNOTATIONS, USE_SELECTOR_ANNOTATION, SELECTOR_REQUIRED_ANNOTATION]);

/** The fields of `metadata` that the API server maintains. */
const MAINTAINED = texts(["managedFields", "resourceVersion", "annotations"]);

/** Returns an expression: whether two maps are equal, except for the keys in `except`. */
function isSame(a: string, b: string, except: string): string {
  return `${a}.all(key, key in ${except} || key in ${b} && ${a}[key] == ${b}[key]) && `
    + `${b}.all(key, key in ${except} || key in ${a})`;
}

const IS_OUTPUT = `key.startsWith(${text(RESOLVER_PREFIX)}) && !(key in ${INPUTS})`;
const ANNOTATIONS_CHANGE_ONLY_OUTPUTS = "variables.annotations.all(key, "
  + "key in variables.oldAnnotations && variables.annotations[key] == variables.oldAnnotations[key] || "
  + `${IS_OUTPUT}) && variables.oldAnnotations.all(key, key in variables.annotations || ${IS_OUTPUT})`;

const IDENTITIES = IDENTITY_KINDS.map((kind) => ({ group: INFRASTRUCTURE_GROUP, plural: identityPlural(kind) }));
const IS_IDENTITY = `request.resource.group == ${text(INFRASTRUCTURE_GROUP)} && `
  + `request.resource.resource in ${texts(IDENTITIES.map(({ plural }) => plural))}`;

/** Returns the rules for objects in ACK's API groups, for CAPA identities, and for objects that refer to them. */
function limitedKinds(extraGroups: readonly string[]): V1RuleWithOperations[] {
  const any = { apiVersions: ["*"], operations: ["*"], scope: "*" };
  return [
    { ...any, apiGroups: [SELECTOR_GROUP, ...knownGroups(extraGroups)], resources: ["*/*"] },
    ...pluralsByGroup([...IDENTITIES, ...REFERRER_KINDS]).map(({ group, plurals }) => (
      { ...any, apiGroups: [group], resources: plurals.flatMap((plural) => [plural, `${plural}/*`]) }
    )),
  ];
}

/**
 * Whether the request creates the identity of `--auto-controller-identity`. CAPA's webhook adds an empty selector to
 * it. With a list that is not null, an empty selector allows no namespace.
 */
const IS_NEW_CONTROLLER_IDENTITY = [
  'request.operation == "CREATE"', 'request.?subResource.orValue("") == ""', IS_IDENTITY,
  `request.resource.resource == ${text(identityPlural(CONTROLLER_IDENTITY))}`,
  `object.metadata.name == ${text(CONTROLLER_IDENTITY_NAME)}`,
  "object.?spec.?allowedNamespaces.?list.orValue(null) != null",
  "object.spec.allowedNamespaces.?selector.orValue({}) == {}",
].join(" && ");

const VARIABLES = [
  { name: "isUpdate", expression: 'request.operation == "UPDATE" && object != null && oldObject != null' },
  {
    name: "isOfResource",
    expression: 'request.?subResource.orValue("") == "" && '
      + `request.resource.group != ${text(SELECTOR_GROUP)} && !(${IS_IDENTITY})`,
  },
  { name: "isNewControllerIdentity", expression: IS_NEW_CONTROLLER_IDENTITY },
  { name: "annotations", expression: "object.metadata.?annotations.orValue({})" },
  { name: "oldAnnotations", expression: "oldObject.metadata.?annotations.orValue({})" },
];

/**
 * Returns the policy that limits the webhook's service account: of the objects in ACK's API groups, and of the objects
 * that refer to CAPA identities, it may only change annotations that the webhook writes. Of the identities, it may only
 * create that of `--auto-controller-identity`. RBAC cannot limit a write to some fields or names.
 */
export function serviceAccountPolicy(
  { namespace, extraGroups }: Pick<WebhookOptions, "namespace" | "extraGroups">,
): readonly [V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding] {
  const user = `system:serviceaccount:${namespace}:${WEBHOOK.serviceAccount}`;
  const fix = `Grant other rights to another service account.`;
  return policyWithBinding("service-account", {
    failurePolicy: "Fail",
    matchConstraints: { matchPolicy: "Equivalent", resourceRules: limitedKinds(extraGroups) },
    matchConditions: [{
      name: "is-the-webhook",
      expression: `request.userInfo.?username.orValue("") == ${text(user)}`,
    }],
    variables: VARIABLES,
    validations: [
      {
        expression: "variables.isUpdate && variables.isOfResource || variables.isNewControllerIdentity",
        message: `${WEBHOOK.serviceAccount} may only update ACK resources and clusters, and create the `
          + `${CONTROLLER_IDENTITY} ${CONTROLLER_IDENTITY_NAME} with a list of namespaces: it may not create other `
          + "objects, delete objects, or write subresources, IAMRoleSelectors or other identities. "
          + fix,
        reason: "Forbidden",
      },
      {
        expression: `!variables.isUpdate || ${isSame("object", "oldObject", texts(["metadata"]))} && `
          + isSame("object.metadata", "oldObject.metadata", MAINTAINED),
        message: `${WEBHOOK.serviceAccount} may only change annotations of ACK resources and clusters. ${fix}`,
        reason: "Forbidden",
      },
      {
        expression: `!variables.isUpdate || ${ANNOTATIONS_CHANGE_ONLY_OUTPUTS}`,
        message: `${WEBHOOK.serviceAccount} may only change annotations ${RESOLVER_PREFIX}* that users do not set. `
          + fix,
        reason: "Forbidden",
      },
    ],
  });
}
