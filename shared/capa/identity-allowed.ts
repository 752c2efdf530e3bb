import { NAMESPACES } from "../core/namespaces.ts";
import { readAllowedNamespaces, SELECTOR_FIELDS } from "./allowed-namespaces.ts";
import { SERVICE_ACCOUNT_IDENTITY } from "../core/capa-kinds.ts";
import { field, type FieldPath, isJsonObject, type JsonObject, valueAt } from "../formats/json.ts";
import { expressionFaults, matchLabelFaults, OPERATORS, readLabelSelector } from "../formats/label-selector.ts";
import { labelKeyFaults, labelValueFaults, NAME_LABEL } from "../formats/names.ts";
import { NameIndex } from "../formats/nearest.ts";
import { quote } from "../formats/text.ts";
import { type CheckContext, type Fault, isComplete, type QuickCheck } from "../core/check.ts";
import { misspelledNamespace, tenantLabelFaults } from "../core/fault-texts.ts";
import { checkOf, type FieldRule } from "../core/field-rule.ts";
import { by, meant, remove, type Repair, repairsOf, safely, set, unsafe } from "../core/repair.ts";
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

const NAME_RULE = checkOf<IdentityChange>({
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
  yield { message, severity: "warn" };
});

export const CI_05: FieldRule & QuickCheck<IdentityChange> = {
  ...NAME_RULE,
  *find(change): Iterable<Fault> {
    for (const fault of NAME_RULE.find(change)) {
      const repairs = listedNameRepairs(change, fault);
      yield { ...fault, repairs, ...(repairs.length > 1 && { fix: "correct the name, or create the namespace" }) };
    }
  },
};

/** Returns the repairs of a listed name that is no namespace: the name that is meant, before fewer names. */
function listedNameRepairs(change: IdentityChange, { path, severity }: Fault): readonly Repair[] {
  const { object, inventory } = change;
  const name = String(valueAt(object, path));
  const near = meant(path, inventory.namespaces.misspelledBy(name));
  if (near.length > 0) return isComplete(change) ? near : unsafe(near);
  if (severity !== "warn") return by(remove(path));
  const namespace = { apiVersion: "v1", kind: "Namespace", namespace: null, name };
  const create = { path: [], of: namespace, value: { apiVersion: "v1", kind: "Namespace", metadata: { name } } };
  return [
    { when: "unless it will be created later", edits: [remove(path)] },
    { when: "to let it use the identity", edits: [create] },
  ];
}

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
  *find({ allowed, object }): Iterable<Fault> {
    const selector = field(allowed, "selector");
    if (!isJsonObject(selector)) return;
    const spec = readLabelSelector(selector);
    for (const faults of [matchLabelFaults(spec), expressionFaults(spec)]) {
      for (const { path: inner, message } of faults) {
        const path = [...ALLOWED, "selector", ...inner];
        yield { path, message, ...repairsOf(selectorRepairs(object, path)) };
      }
    }
  },
};

const OPERATOR_NAMES = new NameIndex(OPERATORS);

/** Returns the repairs of a part of a label selector that is not valid. */
function selectorRepairs(object: JsonObject, path: FieldPath): readonly Repair[] {
  const [parent, step, value] = [path.slice(0, -1), path.at(-1), valueAt(object, path)];
  if (step === "operator") return typeof value === "string" ? meant(path, OPERATOR_NAMES.nearest(value)) : NONE;
  if (step === "values") return valuesRepairs(parent, value, valueAt(object, [...parent, "operator"]));
  if (typeof step === "object" && labelKeyFaults(step.key).length > 0) return NONE;
  const faultsOf = step === "key" ? labelKeyFaults : labelValueFaults;
  if (typeof value !== "string" || faultsOf(value).length === 0) return NONE;
  return faultsOf(value.trim()).length === 0 ? safely(set(path, value.trim())) : NONE;
}

/** Returns the repairs of `Exists` or `DoesNotExist` with values, first the one that selects fewer namespaces. */
function valuesRepairs(path: FieldPath, values: unknown, operator: unknown): readonly Repair[] {
  // `In` without values: only a person knows them.
  if (!Array.isArray(values) || values.length === 0) return NONE;
  const withoutValues = { when: "if the values do not matter", edits: [remove([...path, "values"])] };
  const other = operator === "Exists" ? "In" : "NotIn";
  const withValues = { when: "if only these values matter", edits: [set([...path, "operator"], other)] };
  return operator === "Exists" ? [withValues, withoutValues] : [withoutValues, withValues];
}

const NONE: readonly never[] = [];

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
