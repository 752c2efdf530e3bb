import { NAMESPACES } from "../core/namespaces.ts";
import { readAllowedNamespaces, SELECTOR_FIELDS } from "./allowed-namespaces.ts";
import { SERVICE_ACCOUNT_IDENTITY } from "../core/capa-kinds.ts";
import { field, isJsonObject } from "../formats/json.ts";
import { expressionFaults, matchLabelFaults, readLabelSelector } from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { type CheckContext, type Fault, isComplete, type QuickCheck } from "../core/check.ts";
import { misspelledNamespace, tenantLabelFaults } from "../core/fault-texts.ts";
import { checkOf } from "../core/field-rule.ts";
import type { IdentityChange } from "./identity-change.ts";
import { NAMESPACE_NAME } from "../core/value-types.ts";
import { NEEDS } from "../core/requirements.ts";

const ALLOWED = ["spec", "allowedNamespaces"] as const;

/** Whether the value allows every namespace in shipped CAPA and in CAPA's documentation. */
function allowsAllEverywhere(allowed: unknown): boolean {
  return (["ack", "extended"] as const).every((runtime) => readAllowedNamespaces(allowed, runtime).type === "all");
}

export const CI_02: QuickCheck<IdentityChange> = {
  id: "CI-02",
  severity: "warn",
  reason: "CAPA documents that an empty selector allows no namespace. Shipped CAPA allows every namespace if the list "
    + "is missing or null too. CAPA itself writes this form for {}. It allows no namespace if matchLabels or "
    + "matchExpressions is empty, but CAPA before v2.9.0 and typed clients such as clusterctl remove such a field.",
  fix: "replace the selector with list: [] to allow no namespace, or with list: [NAMESPACE] to allow some",
  example: "spec: {allowedNamespaces: {selector: {}}}",
  section: "openIdentities",
  *find({ allowed, identity }): Iterable<Fault> {
    if (identity.kind === SERVICE_ACCOUNT_IDENTITY) return;
    const selector = field(allowed, "selector");
    if (!isJsonObject(selector) || (field(allowed, "list") ?? null) !== null) return;
    const path = [...ALLOWED, "selector"];
    const parts = SELECTOR_FIELDS.map((name) => field(selector, name) ?? null).filter((part) => part !== null);
    if (Object.values(selector).every((value) => value === null)) {
      yield { path, message: "the selector is empty: shipped CAPA allows every namespace" };
    } else if (parts.length > 0 && parts.every(isEmpty)) {
      yield { path, message: "the selector is empty: no namespace, but every one before CAPA v2.9.0 or after a move" };
    }
  },
};

/** Whether the value is an empty list or object. */
function isEmpty(value: object | string | number | boolean): boolean {
  return typeof value === "object" && Object.keys(value).length === 0;
}

export const CI_03: QuickCheck<IdentityChange> = {
  id: "CI-03",
  severity: "warn",
  reason: "No namespace may use an identity without allowedNamespaces.",
  fix: "list the namespaces that may use the identity: allowedNamespaces: {list: [NAMESPACE]}",
  example: "kind: AWSClusterStaticIdentity\nspec: {secretRef: creds}",
  section: "unusableIdentities",
  *find({ allowed, identity }): Iterable<Fault> {
    if (identity.kind === SERVICE_ACCOUNT_IDENTITY || (allowed ?? null) !== null) return;
    yield { path: ALLOWED, message: `allowedNamespaces is ${allowed === null ? "null" : "missing"}` };
  },
};

export const CI_04: QuickCheck<IdentityChange> = {
  id: "CI-04",
  severity: "warn",
  reason: "Every user who may create a cluster in any namespace may use the identity.",
  fix: "list the namespaces that may use the identity: allowedNamespaces: {list: [NAMESPACE]}",
  example: "spec: {allowedNamespaces: {}}",
  section: "openIdentities",
  *find({ allowed }): Iterable<Fault> {
    if (allowsAllEverywhere(allowed)) yield { path: ALLOWED, message: "allowedNamespaces allows every namespace" };
  },
};

export const CI_05 = checkOf<IdentityChange>({
  id: "CI-05",
  severity: "deny",
  reason: "Names in the list are literal, and * is not a wildcard. No namespace can have such a name. The check only "
    + "warns about a namespace that does not exist: a user who may create the namespace may then use the identity.",
  fix: "use the exact name of a namespace, or select namespaces by label with selector",
  example: "spec: {allowedNamespaces: {list: ['team-*']}}",
  at: [[...ALLOWED, "list", "*"]],
  type: NAMESPACE_NAME,
  says: (value, faults) => `${value} is not a valid namespace name: ${faults}`,
  policySays: "an entry is not a valid namespace name",
}, function* missingNamespace(name, change) {
  const message = isMissing(name, change)
    ? `namespace ${name} does not exist`
    : change.origin === "cluster" ? null : misspelledNamespace(change.inventory, name);
  if (message === null) return;
  yield { message, fix: "correct the name, or create the namespace", severity: "warn" };
});

/** Whether the namespace certainly does not exist. Manifests often contain only some namespaces of a cluster. */
function isMissing(name: string, change: CheckContext): boolean {
  const { namespaces } = change.inventory;
  return isComplete(change) && change.inventory.includes(NAMESPACES) && !namespaces.has(name);
}

export const CI_06: QuickCheck<IdentityChange> = {
  id: "CI-06",
  severity: "deny",
  reason:
    "CAPA rejects each later change of an identity whose selector is not valid. Only the namespaces in the list may "
    + "use the identity.",
  fix: "use the Kubernetes syntax of label selectors",
  example: "spec: {allowedNamespaces: {selector: {matchExpressions: [{key: team, operator: Is, values: [a]}]}}}",
  *find({ allowed }): Iterable<Fault> {
    const selector = field(allowed, "selector");
    if (!isJsonObject(selector)) return;
    const spec = readLabelSelector(selector);
    for (const faults of [matchLabelFaults(spec), expressionFaults(spec)]) {
      for (const { path, message } of faults) yield { path: [...ALLOWED, "selector", ...path], message };
    }
  },
};

export const CI_08: QuickCheck<IdentityChange> = {
  id: "CI-08",
  severity: "warn",
  reason: "DoesNotExist and NotIn also select every namespace that does not have the label, also new namespaces.",
  fix: "select the namespaces by a label that only an administrator sets",
  example: "spec: {allowedNamespaces: {selector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}}",
  *find({ allowed }): Iterable<Fault> {
    const selector = field(allowed, "selector");
    if (!isJsonObject(selector)) return;
    for (const [i, { key, operator }] of readLabelSelector(selector).matchExpressions.entries()) {
      if (operator !== "DoesNotExist" && operator !== "NotIn") continue;
      const message = `${operator} selects every namespace without label ${quote(key)}`;
      yield { path: [...ALLOWED, "selector", "matchExpressions", i], message };
    }
  },
};

export const CI_36: QuickCheck<IdentityChange> = {
  id: "CI-36",
  severity: "warn",
  reason: "Anyone who can label a namespace controls whether its clusters may use the identity.",
  fix: `list the namespaces, or select them by ${NAME_LABEL} or by a label that tenants cannot set`,
  example: "# with --tenant-labels team\nspec: {allowedNamespaces: {selector: {matchLabels: {team: payments}}}}",
  requires: [NEEDS.tenantLabels],
  *find({ allowed, settings: { tenantLabels } }): Iterable<Fault> {
    const selector = field(allowed, "selector");
    if (isJsonObject(selector)) {
      yield* tenantLabelFaults(readLabelSelector(selector), [...ALLOWED, "selector"], tenantLabels);
    }
  },
};
