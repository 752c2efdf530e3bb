import { FIELD_TYPES, type FieldType, hasType } from "./identity.ts";
import { LAST_APPLIED } from "../core/annotation-keys.ts";
import { LIMITS } from "../core/limits.ts";
import { ALLOWED_NAMESPACES_FIELDS, SELECTOR_FIELDS } from "./allowed-namespaces.ts";
import {
  CAPA_VERSION, INFRASTRUCTURE_GROUP, meantCAPAKinds, ROLE_IDENTITY, STATIC_IDENTITY,
} from "../core/capa-kinds.ts";
import { by, type Repair, repairsOf, safely, set } from "../core/repair.ts";
import { labelRepairs, type Misfit, misfitRepairs, prunedRepairs } from "./identity-repairs.ts";
import type { Inventory } from "../core/inventory.ts";
import { field, type FieldPath, isJsonObject, type JsonObject, parseJSON, valueAt } from "../formats/json.ts";
import { annotationAt, objectReference } from "../formats/object-meta.ts";
import { describeValue } from "../core/shape.ts";
import { closest } from "../formats/nearest.ts";
import { listOf, quote } from "../formats/text.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import type { IdentityChange } from "./identity-change.ts";

const ALLOWED = ["spec", "allowedNamespaces"] as const;

export const CI_00: QuickCheck<IdentityChange> = {
  id: "CI-00",
  severity: "deny",
  reason: "The API server rejects an identity that does not match CAPA's schema, and prunes a field in the wrong case.",
  fix: schemaFix("KIND"),
  example: "kind: AWSClusterRoleIdentity\nspec: {allowedNamespaces: {list: test}} # a list is required: [test]",
  *find(change): Iterable<Fault> {
    const { object, identity: { kind }, allowed } = change;
    const fix = schemaFix(kind.toLowerCase());
    const types = { ...FIELD_TYPES[kind], allowedNamespaces: "object" } as const;
    const spec = field(object, "spec") ?? {};
    for (const { message, ...misfit } of [...specFaults(spec, types), ...allowedFaults(allowed)]) {
      const repairs = misfitRepairs(change, misfit);
      yield { path: misfit.path, message, ...(repairs.length === 0 ? { fix } : { repairs }) };
    }
    yield* labelFaults(field(allowed, "selector"), fix);
  },
};

interface ShapeFault extends Misfit {
  readonly message: string;
}

function schemaFix(kind: string): string {
  return `write the field as the schema of CAPA defines it (kubectl explain ${kind}.spec)`;
}

function* specFaults(spec: unknown, types: Readonly<Record<string, FieldType>>): Iterable<ShapeFault> {
  if (!isJsonObject(spec)) {
    yield { path: ["spec"], message: `expected an object, not ${describeValue(spec)}` };
    return;
  }
  yield* typeFaults(spec, types, ["spec"]);
  const known = Object.keys(types);
  for (const name of Object.keys(spec)) {
    const meant = known.includes(name) ? undefined : known.find((one) => one.toLowerCase() === name.toLowerCase());
    if (meant === undefined) continue;
    yield { path: ["spec", name], message: `unknown field ${quote(name)}; perhaps ${meant} was meant`, meant };
  }
}

function* allowedFaults(allowed: unknown): Iterable<ShapeFault> {
  yield* typeFaults(allowed, { list: "list of strings", selector: "object" }, ALLOWED);
  yield* typeFaults(field(allowed, "selector"), { matchLabels: "object" }, [...ALLOWED, "selector"]);
}

function* labelFaults(selector: unknown, fix: string): Iterable<Fault> {
  const labels = field(selector, "matchLabels");
  for (const [key, value] of isJsonObject(labels) ? Object.entries(labels) : []) {
    if (typeof value === "string") continue;
    const message = `expected a string, not ${describeValue(value)}`;
    const path = [...ALLOWED, "selector", "matchLabels", { key }];
    const repairs = labelRepairs(path, key, value);
    yield { path, message, ...(repairs.length === 0 ? { fix } : { repairs }) };
  }
}

/** Yields the fields of a wrong type. Null is permitted, because the API server drops it. */
function* typeFaults(
  object: unknown, types: Readonly<Record<string, FieldType>>, path: FieldPath,
): Iterable<ShapeFault> {
  for (const [name, type] of Object.entries(types)) {
    const value = field(object, name) ?? null;
    if (value === null || hasType(value, type)) continue;
    const isMap = type === "map of strings" && isJsonObject(value);
    const hasItems = isMap || (type === "list of strings" && Array.isArray(value));
    const found = hasItems ? `a ${type.replace("strings", "other values")}` : describeField(name, value);
    const message = `expected ${/^[io]/.test(type) ? "an" : "a"} ${type}, not ${found}`;
    yield { path: [...path, name], message, type };
  }
}

/** Does not quote an external ID, because it is confidential. */
function describeField(name: string, value: unknown): string {
  if (name === "externalID" && (typeof value === "number" || typeof value === "boolean")) return `a ${typeof value}`;
  return describeValue(value);
}

export const CI_09: QuickCheck<IdentityChange> = {
  id: "CI-09",
  severity: "deny",
  reason: "The API server prunes a field that the schema does not define. An allowedNamespaces without fields allows "
    + "every namespace, and so does a selector without fields. The check only warns about other fields, such as tags "
    + "and transitiveTags, which the schema of shipped CAPA does not define.",
  fix: "use only list and selector in allowedNamespaces, and only matchLabels and matchExpressions in the selector",
  example: "spec: {allowedNamespaces: {namespaces: [team-a]}} # write list: [team-a]",
  *find(change): Iterable<Fault> {
    const { object, allowed } = change;
    for (const { meant, ...fault } of unknownFields(allowed, PRUNES)) {
      yield { ...fault, ...repairsOf(prunedRepairs(change, fault.path, meant)) };
    }
    // kubectl stores the applied manifest, which still contains the pruned fields.
    const applied = field(parseJSON(annotationAt(object, LAST_APPLIED) ?? ""), "spec");
    for (const { meant: _, ...fault } of unknownFields(field(applied, "allowedNamespaces"), WAS_PRUNED)) {
      if (valueAt(object, fault.path) === undefined) yield fault;
    }
    yield* lostFields(change, applied);
  },
};

const PRUNES = "is not a field of the schema, so the API server prunes it";
const WAS_PRUNED = "was pruned by the API server from the applied manifest";
const TAG_FIELDS: ReadonlySet<string> = new Set(["tags", "transitiveTags"]);
const KEEP_TAGS = "install a CustomResourceDefinition with this field and set --runtime extended, or remove the field";
const CORRECT = "correct the name of the field, or remove it";

/** Yields the fields of the spec that the schema of CAPA does not define. */
function* lostFields(change: IdentityChange, applied: unknown): Iterable<Fault> {
  const { object, identity: { kind }, origin, settings } = change;
  const known = ["allowedNamespaces", ...Object.keys(FIELD_TYPES[kind])];
  const shipped = kind === ROLE_IDENTITY ? known.filter((name) => !TAG_FIELDS.has(name)) : known;
  const spec = field(object, "spec");
  // CI-00 denies a field in the wrong case.
  const lower = new Set(known.map((name) => name.toLowerCase()));
  const pruned = origin === "cluster" ? [] : otherKeys(spec, settings.runtime === "ack" ? shipped : known)
    .filter((name) => known.includes(name) || !lower.has(name.toLowerCase()));
  const wasPruned = otherKeys(applied, shipped).filter((name) => field(spec, name) === undefined);
  for (const name of first(pruned)) {
    const { meant, ...fault } = lostField(name, PRUNES, known);
    const isTyped = hasType(field(spec, name), FIELD_TYPES[kind][meant ?? ""] ?? "object");
    yield { ...fault, ...(meant !== null && isTyped && repairsOf(misfitRepairs(change, { path: fault.path, meant }))) };
  }
  yield* first(wasPruned).map((name) => lostField(name, WAS_PRUNED, known));
}

function otherKeys(value: unknown, known: readonly string[]): string[] {
  return isJsonObject(value) ? Object.keys(value).filter((name) => !known.includes(name)) : [];
}

/** Returns the fields to which known names are compared, which takes time. */
function first(names: readonly string[]): readonly string[] {
  return names.slice(0, LIMITS.faultsPerCheck.value);
}

/** A field that the API server prunes. */
interface PrunedField extends Fault {
  /** The field that is similar, or null. */
  readonly meant: string | null;
}

function lostField(name: string, effect: string, known: readonly string[]): PrunedField {
  const path = ["spec", name];
  if (TAG_FIELDS.has(name)) {
    const message = `${quote(name)} ${effect}, and sessions have no tags`;
    return { path, message, fix: KEEP_TAGS, severity: "warn", meant: null };
  }
  const meant = closest(name.slice(0, 100), known);
  const hint = meant === null ? "" : `; perhaps ${meant} was meant`;
  return { path, message: `${quote(name)} ${effect}${hint}`, fix: CORRECT, severity: "warn", meant };
}

function* unknownFields(allowed: unknown, effect: string): Iterable<PrunedField> {
  yield* unknownIn(allowed, { known: ALLOWED_NAMESPACES_FIELDS, path: ALLOWED, effect });
  yield* unknownIn(field(allowed, "selector"), { known: SELECTOR_FIELDS, path: [...ALLOWED, "selector"], effect });
}

/** The names that other objects have for the same. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["names", "list"], ["namespaces", "list"], ["labelSelector", "selector"], ["namespaceSelector", "selector"],
]);

interface KnownFields {
  readonly known: readonly string[];
  readonly path: FieldPath;
  readonly effect: string;
}

function* unknownIn(value: unknown, { known, path, effect }: KnownFields): Iterable<PrunedField> {
  if (!isJsonObject(value)) return;
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const meant = ALIASES.get(name) ?? closest(name.slice(0, 100), known);
    const hint = meant === null ? "" : `; perhaps ${meant} was meant`;
    yield { path: [...path, name], message: `${quote(name)} ${effect}${hint}`, meant };
  }
}

/** An identity, an object that refers to one, or an object whose type is similar to theirs. */
interface CAPALike {
  readonly object: JsonObject;
  readonly inventory: Inventory | null;
}

const VERSIONS: readonly string[] = ["v1beta1", CAPA_VERSION];

export const CI_33: QuickCheck<CAPALike> = {
  id: "CI-33",
  severity: "deny",
  waivable: true,
  reason: "The API server serves the kinds of CAPA only under their exact group, kind and version. No other check "
    + "judges a misspelled one.",
  fix: `write apiVersion: ${INFRASTRUCTURE_GROUP}/${CAPA_VERSION}, and a kind that CAPA defines`,
  example: "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha3\nkind: AWSClusterIdentityIdentity",
  ofChange: true,
  *find({ object, inventory }): Iterable<Fault> {
    const { group, version, kind } = objectReference(object);
    const path = ["apiVersion"];
    const expectedKinds = meantCAPAKinds(kind);
    if (!expectedKinds.kinds.includes(kind)) {
      const expected = listOf(expectedKinds.kinds).replace(" and ", " or ");
      const message = `${quote(kind)} is not a kind of CAPA; expected ${expected}`;
      yield { path: ["kind"], message, ...repairsOf(kindRepairs(object, expectedKinds.kinds)) };
    }
    if (group !== expectedKinds.group) {
      const message = `${quote(kind)} is not in group ${quote(group)}; expected ${expectedKinds.group}`;
      yield { path, message, repairs: safely(set(path, `${expectedKinds.group}/${CAPA_VERSION}`)) };
      return;
    }
    const served = inventory?.kinds.versions(group, kind)?.served ?? VERSIONS;
    if (served.includes(version)) return;
    const message = `version ${quote(version)} of ${group} is not served; expected ${served.join(" or ")}`;
    const meantVersion = served.includes(CAPA_VERSION) ? CAPA_VERSION : served.at(-1);
    yield { path, message, repairs: safely(set(path, `${group}/${meantVersion}`)) };
  },
};

/** Returns the repairs of a kind that can stand for several: the kind whose own field the spec has. */
function kindRepairs(object: JsonObject, kinds: readonly string[]): readonly Repair[] {
  if (kinds.length === 1) return safely(set(["kind"], kinds[0]));
  const spec = field(object, "spec");
  const own = OWN_FIELDS.find(([name]) => field(spec, name) !== undefined);
  return own === undefined ? [] : by(set(["kind"], own[1]));
}

const OWN_FIELDS = [["roleARN", ROLE_IDENTITY], ["secretRef", STATIC_IDENTITY]] as const;
