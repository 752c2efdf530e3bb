import { CLUSTER, IDENTITY } from "../../shared/capa/kinds.ts";
import { ADOPTED_RESOURCE, FIELD_EXPORT, OTHER_DEFINITION, RESOURCE, SELECTOR } from "../../shared/ack/kinds.ts";
import type {
  V1MatchCondition, V1RuleWithOperations, V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding,
} from "@kubernetes/client-node";
import { IRS_24 } from "../../shared/ack/selector-account.ts";
import { SELECTOR_GROUP } from "../../shared/core/ack-groups.ts";
import {
  RESOLVER_PREFIX, SELECTOR_ANNOTATIONS, SELECTOR_REQUIRED_ANNOTATION, USE_SELECTOR_ANNOTATION,
} from "../../shared/core/annotation-keys.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP,
} from "../../shared/core/capa-kinds.ts";
import { WEBHOOK } from "../../shared/core/installation.ts";
import type { Kind } from "../../shared/core/kind.ts";
import { KINDS } from "../../shared/kinds.ts";
import { CONDITIONS, conditionsOf, isSame } from "../conditions.ts";
import { rightsOf } from "../rbac.ts";
import { CREATE_AND_UPDATE, EVERY_WRITE, namespacesOf, rulesOf, type WebhookOptions } from "../webhooks.ts";
import { fieldVariables, not, text, texts } from "../../shared/formats/cel.ts";
import {
  isController, type Policy, type PolicyCheck, type PolicyLists, policyWithBinding, WAIVERS, waiverVariables,
} from "./policy.ts";

export const OF_MAPS = 'request.kind.kind == "ConfigMap"';

/** A kind whose objects give roles, so that ACK controllers must not write them. */
export interface ProtectedKind extends Pick<PolicyCheck, "check" | "path"> {
  readonly kind: Kind;
  /** The CEL expression of whether the object is of another kind. */
  readonly isOther: string;
  readonly objects: string;
}

export const PROTECTED_SELECTORS: ProtectedKind = {
  kind: SELECTOR, check: IRS_24, isOther: OF_MAPS, objects: "selectors", path: "spec",
};

/** Returns the policy that denies ACK controllers each write of an IAMRoleSelector or a CARM map. */
export function controllerPolicy(
  lists: PolicyLists, options: Pick<WebhookOptions, "namespace" | "ackSystemNamespace">,
  kinds: readonly ProtectedKind[],
): Policy {
  const admits = not(isController(lists));
  const checkOf = ({ check, isOther, objects, path }: ProtectedKind): PolicyCheck => ({
    check,
    admits: `${isOther} || ${admits}`,
    path,
    message: `the requester is an ACK controller, and ACK controllers must not write ${objects}`,
  });
  return {
    name: "controllers",
    // Does not apply to selectors, which are in no namespace.
    namespaceSelector: namespacesOf("ack-system", options),
    rules: kinds.flatMap(({ kind }) => rulesOf(kind, EVERY_WRITE)),
    conditions: [
      { name: "is-selector-or-carm-map", expression: `!(${OF_MAPS}) || ${CONDITIONS["is-carm-map"]}` },
      // Controllers read a map until its last finalizer is removed.
      { name: "not-being-deleted", expression: `${OF_MAPS} || ${CONDITIONS["not-being-deleted"]}` },
      ...conditionsOf("changes-more-than-bookkeeping"),
    ],
    variables: [],
    checks: kinds.map(checkOf),
  };
}

/** Skips ConfigMaps except CARM maps, and the CustomResourceDefinitions of other projects. */
const IS_CHECKED: V1MatchCondition = {
  name: "is-checked",
  expression: `${OF_MAPS} ? ${CONDITIONS["is-carm-map"]} : request.kind.kind != "CustomResourceDefinition" || `
    + `${CONDITIONS["is-definition-of-selectors"]} || ${CONDITIONS["is-definition-of-resources"]}`,
};

const REVIEWED_MAPS = KINDS.filter(({ path }) => path === "configmaps");

/**
 * Returns the policy for waivers of the kinds that no other policy always covers, and for waivers through the status of
 * every kind. The policies of the other kinds contain the same check.
 */
export function waiverPolicy(lists: PolicyLists, { ackGroups }: Pick<WebhookOptions, "ackGroups">): Policy {
  const withStatus = { ...CREATE_AND_UPDATE, subresources: ["status"] } as const;
  const onlyStatus = { operations: ["UPDATE"], subresources: ["status"], excludesResource: true } as const;
  const ofOtherPolicies = [RESOURCE, CLUSTER, FIELD_EXPORT, ADOPTED_RESOURCE];
  return {
    name: "waivers",
    rules: [
      ...rulesOf(SELECTOR, withStatus), ...rulesOf(OTHER_DEFINITION, withStatus),
      ...REVIEWED_MAPS.flatMap((kind) => rulesOf(kind, CREATE_AND_UPDATE)),
      ...rulesOf(IDENTITY, withStatus), ...ofOtherPolicies.flatMap((kind) => rulesOf(kind, onlyStatus, ackGroups)),
    ],
    conditions: [...conditionsOf("deletes-or-waives"), IS_CHECKED],
    variables: [...fieldVariables("annotations", "metadata.annotations", "{}"), ...waiverVariables(lists)],
    checks: [WAIVERS],
  };
}

/** The annotations that users set and that affect decisions. The webhook never writes them. */
const INPUTS = texts([...SELECTOR_ANNOTATIONS, USE_SELECTOR_ANNOTATION, SELECTOR_REQUIRED_ANNOTATION]);

/** The fields of `metadata` that the API server maintains. */
const MAINTAINED = ["managedFields", "resourceVersion", "annotations"];

const IS_OUTPUT = `key.startsWith(${text(RESOLVER_PREFIX)}) && !(key in ${INPUTS})`;
const ANNOTATIONS_CHANGE_ONLY_OUTPUTS = "variables.annotations.all(key, "
  + "key in variables.oldAnnotations && variables.annotations[key] == variables.oldAnnotations[key] || "
  + `${IS_OUTPUT}) && variables.oldAnnotations.all(key, key in variables.annotations || ${IS_OUTPUT})`;

const IS_IDENTITY = `request.resource.group == ${text(INFRASTRUCTURE_GROUP)} && `
  + `request.resource.resource in ${texts(IDENTITY_KINDS.map(identityPlural))}`;

/** Returns the rules for the selectors, and for the kinds that the webhook reads with its role for resources. */
function limitedKinds(ackGroups: readonly string[]): V1RuleWithOperations[] {
  const any = { apiVersions: ["*"], operations: ["*"], scope: "*" };
  return rightsOf("resources", [SELECTOR_GROUP, ...ackGroups]).map(({ apiGroups = [], resources = [] }) => ({
    ...any, apiGroups, resources: resources.flatMap((plural) => (plural === "*" ? ["*/*"] : [plural, `${plural}/*`])),
  }));
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
  options: Pick<WebhookOptions, "namespace" | "ackGroups" | "serviceAccount">,
): readonly [V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding] {
  const { namespace, ackGroups, serviceAccount = WEBHOOK.serviceAccount } = options;
  const user = `system:serviceaccount:${namespace}:${serviceAccount}`;
  const fix = `Grant other rights to another service account.`;
  return policyWithBinding("service-account", {
    failurePolicy: "Fail",
    matchConstraints: { matchPolicy: "Equivalent", resourceRules: limitedKinds(ackGroups) },
    matchConditions: [{
      name: "is-the-webhook",
      expression: `request.userInfo.?username.orValue("") == ${text(user)}`,
    }],
    variables: VARIABLES,
    validations: [
      {
        expression: "variables.isUpdate && variables.isOfResource || variables.isNewControllerIdentity",
        message: `${serviceAccount} may only update ACK resources and clusters, and create the `
          + `${CONTROLLER_IDENTITY} ${CONTROLLER_IDENTITY_NAME} with a list of namespaces: it may not create other `
          + "objects, delete objects, or write subresources, IAMRoleSelectors or other identities. "
          + fix,
        reason: "Forbidden",
      },
      {
        expression: `!variables.isUpdate || ${isSame("object", "oldObject", ["metadata"])} && `
          + isSame("object.metadata", "oldObject.metadata", MAINTAINED),
        message: `${serviceAccount} may only change annotations of ACK resources and clusters. ${fix}`,
        reason: "Forbidden",
      },
      {
        expression: `!variables.isUpdate || ${ANNOTATIONS_CHANGE_ONLY_OUTPUTS}`,
        message: `${serviceAccount} may only change annotations ${RESOLVER_PREFIX}* that users do not set. `
          + fix,
        reason: "Forbidden",
      },
    ],
  });
}
