import type {
  V1RuleWithOperations, V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding,
} from "@kubernetes/client-node";
import { IS_DEFINITION_OF_RESOURCES, IS_DEFINITION_OF_SELECTORS, SELECTOR } from "../../shared/ack/kinds.ts";
import { IRS_24 } from "../../shared/ack/selector-account.ts";
import { SELECTOR_GROUP } from "../../shared/core/ack-groups.ts";
import {
  RESOLVER_PREFIX, SELECTOR_ANNOTATIONS, SELECTOR_REQUIRED_ANNOTATION, USE_SELECTOR_ANNOTATION,
} from "../../shared/core/annotation-keys.ts";
import type { CheckEntry } from "../../shared/core/check.ts";
import type { Feature } from "../../shared/core/context.ts";
import {
  CHANGES_MORE_THAN_BOOKKEEPING, DELETES_OR_WAIVES, isSame, NOT_BEING_DELETED,
} from "../../shared/core/conditions.ts";
import { WEBHOOK } from "../../shared/core/installation.ts";
import type { Kind } from "../../shared/core/kind.ts";
import { fieldVariables, not, read, text, texts, type Variable } from "../../shared/formats/cel.ts";
import { rightsOf } from "../rbac.ts";
import { EVERY_WRITE, kindsOf, namespacesOf, rulesOf, type WebhookOptions } from "../webhooks.ts";
import {
  isController, type Policy, type PolicyCheck, type PolicyLists, policyWithBinding, WAIVERS, waiverVariables,
} from "./policy.ts";

/** A kind besides the selectors that ACK controllers must not write. */
export interface GuardedKind {
  readonly kind: Pick<Kind, "served">;
  /** An expression: whether the objects of the request have the type of the kind. */
  readonly isOfType: string;
  /** The name of the condition that skips other objects of the type. */
  readonly name: string;
  /** An expression: whether an object of the type is of the kind. */
  readonly isOfKind: string;
  readonly check: CheckEntry;
  readonly objects: string;
  readonly path: string;
}

/** Returns the policy that denies ACK controllers each write of an IAMRoleSelector or of another guarded kind. */
export function controllerPolicy(
  lists: PolicyLists, options: Pick<WebhookOptions, "namespace" | "ackSystemNamespace">,
  others: readonly GuardedKind[],
): Policy {
  const areOthers = others.map(({ isOfType }) => isOfType);
  const check = (entry: CheckEntry, excludes: readonly string[], objects: string, path: string): PolicyCheck => ({
    check: entry,
    admits: [...excludes, not(isController(lists))].join(" || "),
    path,
    message: `the requester is an ACK controller, and ACK controllers must not write ${objects}`,
  });
  return {
    name: "controllers",
    // Does not apply to selectors, which are in no namespace.
    namespaceSelector: namespacesOf("ack-system", options),
    rules: [SELECTOR, ...others.map(({ kind }) => kind)].flatMap((kind) => rulesOf(kind, EVERY_WRITE)),
    conditions: [
      ...others.map(({ name, isOfType, isOfKind }) => ({ name, expression: `${not(isOfType)} || ${isOfKind}` })),
      // Controllers read the other kinds until the last finalizer of an object is removed.
      { ...NOT_BEING_DELETED, expression: [...areOthers, NOT_BEING_DELETED.expression].join(" || ") },
      CHANGES_MORE_THAN_BOOKKEEPING,
    ],
    variables: [],
    checks: [
      check(IRS_24, areOthers, "selectors", "spec"),
      ...others.map((one) => check(one.check, [not(one.isOfType)], one.objects, one.path)),
    ],
  };
}

/**
 * Returns the policy for waivers of the kinds that no other policy always covers, and for waivers through the status of
 * every kind. The policies of the other kinds contain the same check.
 */
export function waiverPolicy(
  lists: PolicyLists, options: Pick<WebhookOptions, "ackGroups" | "without">, others: readonly GuardedKind[],
): Policy {
  return {
    name: "waivers",
    rules: kindsOf(options).flatMap((kind) => (kind.waivers ? rulesOf(kind, kind.waivers, options.ackGroups) : [])),
    conditions: [DELETES_OR_WAIVES, {
      name: "is-checked",
      // Skips other objects of these types, and the CustomResourceDefinitions of other projects.
      expression: others.map(({ isOfType, isOfKind }) => `${isOfType} ? ${isOfKind} : `).join("")
        + 'request.kind.kind != "CustomResourceDefinition" || '
        + `${IS_DEFINITION_OF_SELECTORS.expression} || ${IS_DEFINITION_OF_RESOURCES.expression}`,
    }],
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

/** Returns the rules for the selectors, and for the kinds that the webhook reads with its role for resources. */
function limitedKinds(
  { ackGroups, ...options }: Pick<WebhookOptions, "ackGroups" | "without">,
): V1RuleWithOperations[] {
  const any = { apiVersions: ["*"], operations: ["*"], scope: "*" };
  const rules = rightsOf("resources", { ...options, ackGroups: [SELECTOR_GROUP, ...ackGroups] });
  return rules.map(({ apiGroups = [], resources = [] }) => ({
    ...any, apiGroups, resources: resources.flatMap((plural) => (plural === "*" ? ["*/*"] : [plural, `${plural}/*`])),
  }));
}

/** What a feature adds to the policies. */
export interface FeaturePolicies {
  readonly feature: Feature;
  readonly policies: readonly ((lists: PolicyLists) => Policy)[];
  /** The objects whose annotations the webhook updates, in a message. */
  readonly updated: string;
  /** What the webhook may create, and nothing else. */
  readonly readOnly: readonly ReadOnlyKind[];
}

/** Objects of kinds that the webhook reads like resources, but must not update. */
export interface ReadOnlyKind {
  /** An expression: whether the request is for an object of the kind. */
  readonly isOfKind: string;
  /** Whether the request creates the only object of the kind that the webhook may create. */
  readonly creates: Variable;
  /** What the webhook may create, and the other objects of the kind, in a message. */
  readonly created: string;
  readonly others: string;
}

/** Returns what the webhook may create, and what it may not write, in a message. */
function limitsOf(readOnly: readonly ReadOnlyKind[]): string {
  if (readOnly.length === 0) return ": it may not create or delete objects, or write subresources or IAMRoleSelectors";
  const created = readOnly.map((one) => `, and create the ${one.created}`).join("");
  return `${created}: it may not create other objects, delete objects, or write subresources, IAMRoleSelectors`
    + readOnly.map(({ others }) => ` or ${others}`).join("");
}

/**
 * Returns the policy that limits the webhook's service account: of the objects that it reads with its role for
 * resources, it may only change annotations that the webhook writes. Of the other kinds, it may only create one object.
 * RBAC cannot limit a write to some fields or names.
 */
export function serviceAccountPolicy(
  options: Pick<WebhookOptions, "namespace" | "ackGroups" | "serviceAccount" | "without">,
  features: readonly FeaturePolicies[],
): readonly [V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding] {
  const { namespace, serviceAccount = WEBHOOK.serviceAccount } = options;
  const readOnly = features.flatMap((feature) => feature.readOnly);
  const updated = ["ACK resources", ...features.map((feature) => feature.updated)].join(" and ");
  const user = `system:serviceaccount:${namespace}:${serviceAccount}`;
  const fix = `Grant other rights to another service account.`;
  const creations = readOnly.map(({ creates }) => read(creates.name));
  const isOfResource = [
    'request.?subResource.orValue("") == ""', `request.resource.group != ${text(SELECTOR_GROUP)}`,
    ...readOnly.map(({ isOfKind }) => not(isOfKind)),
  ];
  return policyWithBinding("service-account", {
    failurePolicy: "Fail",
    matchConstraints: { matchPolicy: "Equivalent", resourceRules: limitedKinds(options) },
    matchConditions: [{
      name: "is-the-webhook",
      expression: `request.userInfo.?username.orValue("") == ${text(user)}`,
    }],
    variables: [
      { name: "isUpdate", expression: 'request.operation == "UPDATE" && object != null && oldObject != null' },
      { name: "isOfResource", expression: isOfResource.join(" && ") },
      ...readOnly.map(({ creates }) => creates),
      { name: "annotations", expression: "object.metadata.?annotations.orValue({})" },
      { name: "oldAnnotations", expression: "oldObject.metadata.?annotations.orValue({})" },
    ],
    validations: [
      {
        expression: ["variables.isUpdate && variables.isOfResource", ...creations].join(" || "),
        message: `${serviceAccount} may only update ${updated}${limitsOf(readOnly)}. ${fix}`,
        reason: "Forbidden",
      },
      {
        expression: `!variables.isUpdate || ${isSame("object", "oldObject", ["metadata"])} && `
          + isSame("object.metadata", "oldObject.metadata", MAINTAINED),
        message: `${serviceAccount} may only change annotations of ${updated}. ${fix}`,
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
