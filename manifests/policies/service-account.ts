import type {
  V1RuleWithOperations, V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding,
} from "@kubernetes/client-node";
import {
  RESOLVER_PREFIX, SELECTOR_ANNOTATIONS, SELECTOR_REQUIRED_ANNOTATION, USE_SELECTOR_ANNOTATION,
} from "../../shared/decisions/annotation-keys.ts";
import { pluralsByGroup, REFERRER_KINDS } from "../../shared/decisions/identities/kinds.ts";
import { knownGroups, SELECTOR_GROUP } from "../../shared/decisions/kubernetes/kinds.ts";
import { WEBHOOK } from "../installation.ts";
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

/** Returns the rules for the objects in ACK's API groups, and for the objects that refer to CAPA identities. */
function limitedKinds(extraGroups: readonly string[]): V1RuleWithOperations[] {
  const any = { apiVersions: ["*"], operations: ["*"], scope: "*" };
  return [
    { ...any, apiGroups: [SELECTOR_GROUP, ...knownGroups(extraGroups)], resources: ["*/*"] },
    ...pluralsByGroup(REFERRER_KINDS).map(({ group, plurals }) => (
      { ...any, apiGroups: [group], resources: plurals.flatMap((plural) => [plural, `${plural}/*`]) }
    )),
  ];
}

/**
 * Returns the policy that limits the webhook's service account: of the objects in ACK's API groups, and of the objects
 * that refer to CAPA identities, it may only change annotations that the webhook writes. RBAC cannot limit a write to
 * some fields.
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
    variables: [
      { name: "isUpdate", expression: 'request.operation == "UPDATE" && object != null && oldObject != null' },
      {
        name: "isOfResource",
        expression: 'request.?subResource.orValue("") == "" && '
          + `request.resource.group != ${text(SELECTOR_GROUP)}`,
      },
      { name: "annotations", expression: "object.metadata.?annotations.orValue({})" },
      { name: "oldAnnotations", expression: "oldObject.metadata.?annotations.orValue({})" },
    ],
    validations: [
      {
        expression: "variables.isUpdate && variables.isOfResource",
        message: `${WEBHOOK.serviceAccount} may only update ACK resources and clusters: it may not create or `
          + `delete objects, and may not write subresources or IAMRoleSelectors. ${fix}`,
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
