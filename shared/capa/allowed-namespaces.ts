import { isIdentity } from "../core/capa-kinds.ts";
import type { Runtime } from "../core/context.ts";
import type { ErrorCode } from "../formats/errors.ts";
import { field, formatFieldPath, isJsonObject, type JsonObject } from "../formats/json.ts";
import {
  expressionFaults, isEmptySelector, isOperator, type LabelRequirement, type Labels, type LabelSelector,
  type LabelSelectorSpec, matchLabelFaults, readLabelSelector, satisfies,
} from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import { quote } from "../formats/text.ts";

// `allowedNamespaces` is read from the raw object, because the result depends on the difference between a missing
// field, null and an empty value. Source of the shipped behavior: kubernetes-sigs/cluster-api-provider-aws 2cf09d7,
// pkg/cloud/scope/session.go, isClusterPermittedToUsePrincipal.

/** The namespaces that may use an identity. */
export type AllowedNamespaces =
  | { readonly type: "all" }
  /** `reason` is a clause that states why no namespace may use the identity. */
  | { readonly type: "none"; readonly reason: string }
  /** The namespaces in `names`, and the namespaces that `selector` selects. */
  | {
    readonly type: "some";
    readonly names: ReadonlySet<string>;
    /** Null if the selector selects no namespace. */
    readonly selector: LabelSelector | null;
    /** States why the selector is not valid; null if the selector is valid. */
    readonly selectorFault: string | null;
  };

/** The namespace of an object that refers to an identity. */
export interface ReferringNamespace {
  readonly name: string;
  /** Null if the namespace does not exist. */
  readonly labels: Labels | null;
  /**
   * Whether `labels` contains only the name label, because manifests do not contain the namespace. A selector that
   * reads another label then does not select the namespace.
   */
  readonly isPartial: boolean;
}

/** Whether an identity allows a namespace. `reason` is a clause. */
type NamespaceVerdict =
  | { readonly allowed: true; readonly code: null; readonly reason: string }
  | {
    readonly allowed: false;
    readonly code: Extract<ErrorCode, "ERR_IDENTITY_NAMESPACE" | "ERR_IDENTITY_SELECTOR">;
    readonly reason: string;
  };

/** The fields of `allowedNamespaces`. The API server prunes all other fields. */
export const ALLOWED_NAMESPACES_FIELDS: readonly string[] = ["list", "selector"];
export const SELECTOR_FIELDS: readonly string[] = ["matchLabels", "matchExpressions"];

/**
 * Reads `spec.allowedNamespaces`. With `--runtime ack`, the result is that of shipped CAPA, after the API server has
 * pruned unknown fields. With `--runtime extended`, the result is that of CAPA's documentation, and an unknown field
 * allows no namespace.
 */
export function readAllowedNamespaces(value: unknown, runtime: Runtime): AllowedNamespaces {
  if (value === undefined) return none("allowedNamespaces is missing");
  if (value === null) return none("allowedNamespaces is null");
  if (!isJsonObject(value)) return none("allowedNamespaces is not an object");
  const unknown = runtime === "ack" ? null : unknownField(value, ALLOWED_NAMESPACES_FIELDS);
  if (unknown !== null) return none(`allowedNamespaces has the unknown field ${unknown}`);
  const list = field(value, "list") ?? [];
  if (!isTextList(list)) return none("allowedNamespaces.list is not a list of names");
  if (allowsAll(value, runtime)) return { type: "all" };
  const selected = readSelector(field(value, "selector"), runtime);
  return isEmptied(value, selected, runtime) ? none(EMPTIED) : { type: "some", names: new Set(list), ...selected };
}

/**
 * The reason for a selector such as {matchLabels: {}}. The webhook of CAPA removed the empty field until v2.9.0, whose
 * controller-runtime (v0.20) no longer removes fields that `omitempty` omits. A stored selector means the same in each
 * version.
 */
const EMPTIED = "allowedNamespaces.selector is empty (before v2.9.0, CAPA stored it as {}, for every namespace)";

/** Whether the selector has only empty fields. The value does not allow every namespace. */
function isEmptied(value: JsonObject, { selector, selectorFault }: CompiledSelector, runtime: Runtime): boolean {
  return runtime === "ack" && !isSet(value, "list") && selector === null && selectorFault === null;
}

function none(reason: string): AllowedNamespaces {
  return { type: "none", reason };
}

function unknownField(value: object, known: readonly string[]): string | null {
  const name = Object.keys(value).find((key) => !known.includes(key));
  return name === undefined ? null : quote(name);
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/**
 * Whether the value stands for every namespace. CAPA's documentation: if `list` and `selector` are missing. Shipped
 * CAPA: if Go decodes the value to the zero struct, so `selector: {}` is equal to a missing selector.
 */
function allowsAll(value: JsonObject, runtime: Runtime): boolean {
  if (isSet(value, "list")) return false;
  const selector = field(value, "selector") ?? null;
  if (selector === null) return true;
  return runtime === "ack" && isJsonObject(selector) && !SELECTOR_FIELDS.some((name) => isSet(selector, name));
}

function isSet(object: JsonObject, name: string): boolean {
  return (field(object, name) ?? null) !== null;
}

type CompiledSelector = Pick<Extract<AllowedNamespaces, { type: "some" }>, "selector" | "selectorFault">;

/** Compiles the selector. An empty selector selects no namespace, unlike in other Kubernetes APIs. */
function readSelector(value: unknown, runtime: Runtime): CompiledSelector {
  if (value === undefined || value === null) return { selector: null, selectorFault: null };
  if (!isJsonObject(value)) return { selector: null, selectorFault: "allowedNamespaces.selector is not an object" };
  const spec = readLabelSelector(value);
  const selectorFault = selectorShapeFault(value, runtime) ?? conversionFault(spec);
  if (selectorFault !== null) return { selector: null, selectorFault };
  const matchExpressions = spec.matchExpressions.filter((one): one is LabelRequirement => isOperator(one.operator));
  const selector = { matchLabels: [...spec.matchLabels], matchExpressions };
  return { selector: isEmptySelector(selector) ? null : selector, selectorFault };
}

/** Returns a clause if the selector has a value of a wrong type, which must not be ignored. */
function selectorShapeFault(value: object, runtime: Runtime): string | null {
  const unknown = runtime === "ack" ? null : unknownField(value, SELECTOR_FIELDS);
  if (unknown !== null) return `allowedNamespaces.selector has the unknown field ${unknown}`;
  const labels = field(value, "matchLabels") ?? {};
  if (!isJsonObject(labels) || Object.values(labels).some((one) => typeof one !== "string")) {
    return "allowedNamespaces.selector.matchLabels is not a map of strings";
  }
  const expressions = field(value, "matchExpressions") ?? [];
  const isList = Array.isArray(expressions) && expressions.every((one) => isTextList(field(one, "values") ?? []));
  return isList ? null : "allowedNamespaces.selector.matchExpressions is not a list of requirements";
}

/** Returns the first fault for which `LabelSelectorAsSelector` of Kubernetes returns an error, or null. */
function conversionFault(spec: LabelSelectorSpec): string | null {
  const [ofLabels] = matchLabelFaults(spec);
  const [ofExpressions] = expressionFaults(spec);
  const fault = ofLabels ?? ofExpressions;
  if (fault === undefined) return null;
  return `${formatFieldPath(["allowedNamespaces", "selector", ...fault.path])}: ${fault.message}`;
}

/** Returns whether an identity with these `allowedNamespaces` allows the namespace. */
export function allowsNamespace(allowed: AllowedNamespaces, namespace: ReferringNamespace): NamespaceVerdict {
  if (allowed.type === "all") return yes("allowedNamespaces allows every namespace");
  if (allowed.type === "none") return no(`${allowed.reason}, so no namespace may use the identity`);
  if (allowed.names.has(namespace.name)) return yes("allowedNamespaces.list contains the namespace");
  if (allowed.selectorFault !== null) {
    const reason = `allowedNamespaces.list does not contain the namespace, and ${allowed.selectorFault}`;
    return { allowed: false, code: "ERR_IDENTITY_SELECTOR", reason };
  }
  if (allowed.selector !== null && selects(allowed.selector, namespace)) {
    return yes("allowedNamespaces.selector selects the namespace");
  }
  return no(refusal(allowed.names.size > 0, allowed.selector !== null, namespace));
}

/** Returns a text that is equal for equal rules. CAPA rewrites the rule in another spelling, such as {} with nulls. */
export function allowedKey(allowed: AllowedNamespaces): string {
  return JSON.stringify(allowed.type === "some" ? { ...allowed, names: [...allowed.names] } : allowed);
}

/** Returns the number of label requirements that `allowsNamespace` evaluates at most. */
export function requirementsOf(allowed: AllowedNamespaces): number {
  const selector = allowed.type === "some" ? allowed.selector : null;
  return selector === null ? 0 : selector.matchLabels.length + selector.matchExpressions.length;
}

function yes(reason: string): NamespaceVerdict {
  return { allowed: true, code: null, reason };
}

function no(reason: string): NamespaceVerdict {
  return { allowed: false, code: "ERR_IDENTITY_NAMESPACE", reason };
}

function selects(selector: LabelSelector, { labels, isPartial }: ReferringNamespace): boolean {
  if (labels === null || !satisfies(labels, selector)) return false;
  return !isPartial || readsOnlyNames(selector);
}

/** Whether the selector reads no label except the name of the namespace, which every namespace has. */
export function readsOnlyNames(selector: LabelSelector): boolean {
  const keys = [...selector.matchLabels.map(([key]) => key), ...selector.matchExpressions.map(({ key }) => key)];
  return keys.every((key) => key === NAME_LABEL);
}

function refusal(hasNames: boolean, hasSelector: boolean, { labels, isPartial }: ReferringNamespace): string {
  const unread = labels === null ? ", because the namespace does not exist" : ", because its labels are unknown";
  const why = labels === null || isPartial ? unread : "";
  const bySelector = `allowedNamespaces.selector does not select it${why}`;
  if (hasNames) {
    return `allowedNamespaces.list does not contain the namespace${hasSelector ? `, and ${bySelector}` : ""}`;
  }
  if (hasSelector) return `allowedNamespaces.selector does not select the namespace${why}`;
  return "allowedNamespaces contains no namespace: its list and its selector are empty";
}

/** The first version of CAPA whose webhook keeps empty fields. */
const KEEPS_EMPTY_FIELDS = [2, 9] as const;

/**
 * Returns the object as a version of CAPA, such as `v2.8.4`, stores it: earlier versions remove the empty fields of the
 * selector in the `allowedNamespaces` of an identity.
 */
export function storedBy(version: string, object: JsonObject): JsonObject {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(/[.-]/).map(Number);
  const [keepsMajor, keepsMinor] = KEEPS_EMPTY_FIELDS;
  if (major > keepsMajor || (major === keepsMajor && minor >= keepsMinor) || !isIdentity(object)) return object;
  const spec = field(object, "spec");
  const allowedNamespaces = field(spec, "allowedNamespaces");
  const selector = field(allowedNamespaces, "selector");
  if (!isJsonObject(spec) || !isJsonObject(allowedNamespaces) || !isJsonObject(selector)) return object;
  const kept = Object.entries(selector).filter(([name, value]) => !SELECTOR_FIELDS.includes(name) || !isEmpty(value));
  const allowed = { ...allowedNamespaces, selector: Object.fromEntries(kept) };
  return { ...object, spec: { ...spec, allowedNamespaces: allowed } };
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
