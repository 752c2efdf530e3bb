import { SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import { LAST_APPLIED } from "../core/annotation-keys.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { ACK_FIELDS, readSelectorSpec, type SelectorSpec } from "../core/iamroleselector.ts";
import type { Inventory } from "../core/inventory.ts";
import { by, type Edit, type Repair, safely, set } from "../core/repair.ts";
import { completeEntry, rewrittenEntry } from "../core/resource-types.ts";
import { droppedFields, type KnownFields, missingFields, unknownFields } from "../core/shape.ts";
import {
  type FieldPath, formatFieldPath, isJsonObject, type JsonObject, parseJSON, stringAt, valueAt,
} from "../formats/json.ts";
import { annotationAt, objectReference } from "../formats/object-meta.ts";
import { readLabelSelector } from "../formats/label-selector.ts";
import { listOf, quote } from "../formats/text.ts";
import type { SelectorChange } from "./selector-change.ts";
import { expressionRepairs } from "./selector-labels.ts";
import { effectsOfPruned, IRS_00 } from "./selector-shape.ts";

const OWN_CRD = "install the CRD that `ack-role-resolver manifests crds` prints";

/**
 * IRS-00 for the CRD in the input, or else for the CRD in ACK's charts. These CRDs require some fields even if they are
 * empty, and do not define all documented fields. The check denies only with `lint --no-webhook`.
 */
export const IRS_00_OF_CRD: QuickCheck<SelectorChange> = {
  ...IRS_00,
  // The API server has already validated the selectors in a cluster.
  when: ({ origin }) => origin !== "cluster",
  *find({ object, inventory, settings }): Iterable<Fault> {
    const fields = inventory.kinds.selectorFields ?? ACK_FIELDS;
    const severity = settings.isWebhookInstalled ? { severity: "warn" } as const : {};
    for (const fault of missingFaults(fields, object)) yield { ...fault, ...severity };
    for (const { path } of unknownFields(fields, object)) {
      const fix = FIXES.get(path.at(-1));
      if (fix === undefined) continue; // The schema reports fields that no CRD defines.
      const rejected = "kubectl rejects the selector, or the API server prunes the field";
      const message = `the CRD does not define this field: ${rejected}`;
      yield { path, message, fix: `${fix}, or ${OWN_CRD}`, repairs: undefinedRepairs(object, path), ...severity };
    }
  },
};

function* missingFaults(fields: KnownFields, object: JsonObject): Iterable<Fault> {
  // A field with another name can be the missing one, and an object without a role can be a patch.
  const [unknown = null] = unknownFields(fields, object);
  const isWhole = unknown === null && stringAt(object, "spec", "arn") !== null;
  for (const [parent, names] of missingByParent(fields, object)) {
    const rejected = "without the webhook, the API server rejects the selector";
    const message = `the CRD requires ${listOf(names)}; ${rejected}`;
    const edits = missingEdits(parent, valueAt(object, parent), names);
    if (edits !== null) yield { path: parent, message, repairs: isWhole ? safely(...edits) : by(...edits) };
  }
}

const FIXES: ReadonlyMap<unknown, string> = new Map([
  ["apiVersion", "remove apiVersion once group and version are set"], ["matchExpressions", "use matchLabels"],
]);

/**
 * Returns the names of the missing fields, grouped by the path of the object that lacks them. Omits a missing role,
 * which IRS-01 reports.
 */
function missingByParent(fields: KnownFields, object: JsonObject): Iterable<readonly [FieldPath, readonly string[]]> {
  const byParent = new Map<string, readonly [FieldPath, readonly string[]]>();
  for (const path of missingFields(fields, object)) {
    const [parent, name] = [path.slice(0, -1), path.at(-1)];
    if (typeof name !== "string" || name === "arn") continue;
    const [, names] = byParent.get(JSON.stringify(parent)) ?? [parent, []];
    byParent.set(JSON.stringify(parent), [parent, [...names, name]]);
  }
  return byParent.values();
}

/** Returns the repair that writes the meaning of a field of an entry, or of expressions, in fields that the CRD has. */
function undefinedRepairs(object: JsonObject, path: FieldPath): readonly Repair[] {
  const parent = path.slice(0, -1);
  const value = valueAt(object, parent);
  if (path.at(-1) === "matchExpressions") return expressionRepairs([parent, readLabelSelector(Object(value))]);
  const entry = completeEntry(Object(value));
  return entry === null ? NONE : safely(set(parent, entry));
}

const NONE: readonly never[] = [];

const EMPTY: Readonly<Record<string, unknown>> = { names: [], matchLabels: {} };

/**
 * Returns the edits that write the missing fields as the webhook would. Null if it would write none, because IRS-12
 * reports the apiVersion of the entry.
 */
function missingEdits(path: FieldPath, parent: unknown, names: readonly string[]): readonly Edit[] | null {
  if (stringAt(parent, "apiVersion") === null) {
    return names.map((name) => set([...path, name], EMPTY[name] ?? ""));
  }
  const completed = completeEntry(Object(parent));
  return completed === null ? null : [set(path, completed)];
}

/** An object whose kind is similar to IAMRoleSelector. */
interface SelectorLike {
  readonly object: JsonObject;
  /** Contains the served versions of the CRD; null if the state of the cluster is unknown. */
  readonly inventory: Inventory | null;
}

/** The version that ACK serves. */
const VERSIONS = ["v1alpha1"] as const;

/** Returns the repair that writes the type of a selector, in one of the served versions. */
function typeRepairs({ apiVersion, kind }: JsonObject, versions: readonly string[]): readonly Repair[] {
  const served = versions.map((version) => `${SELECTOR_GROUP}/${version}`);
  return safely(
    ...(served.includes(String(apiVersion)) ? [] : [set(["apiVersion"], served[0])]),
    ...(kind === SELECTOR_KIND ? [] : [set(["kind"], SELECTOR_KIND)]),
  );
}

export const IRS_51: QuickCheck<SelectorLike> = {
  id: "IRS-51",
  severity: "deny",
  waivable: true,
  reason: "The API server serves IAMRoleSelectors only under their exact kind, group and version. "
    + "ACK controllers ignore all other kinds, so the object selects no resource.",
  fix: `write apiVersion: ${SELECTOR_GROUP}/${VERSIONS[0]} and kind: ${SELECTOR_KIND}`,
  example: "apiVersion: services.k8s.aws/v1beta1\nkind: IamRoleSelector",
  ofChange: true,
  *find({ object, inventory }): Iterable<Fault> {
    const { group, version, kind } = objectReference(object);
    const versions = inventory?.kinds.versions(SELECTOR_GROUP, SELECTOR_KIND)?.served ?? VERSIONS;
    const repairs = typeRepairs(object, versions);
    if (kind !== SELECTOR_KIND) {
      yield { path: ["kind"], message: `${quote(kind)} is not the kind ${SELECTOR_KIND}`, repairs };
    }
    if (group !== SELECTOR_GROUP) {
      yield { path: ["apiVersion"], message: `${quote(group)} is not the group ${SELECTOR_GROUP}`, repairs };
    } else if (!versions.includes(version)) {
      const message = `version ${quote(version)} of ${SELECTOR_GROUP} is not served; expected ${versions.join(" or ")}`;
      yield { path: ["apiVersion"], message, repairs };
    }
  },
};

export const IRS_16: QuickCheck<SelectorChange> = {
  id: "IRS-16",
  severity: "deny",
  waivable: true,
  reason:
    "The API server prunes every field that the CRD does not define, before it calls a webhook. The selector then "
    + "selects more than intended.",
  fix: "use the fields that the CRD defines (kubectl explain iamroleselector.spec), "
    + "or install the CRD that the command `ack-role-resolver manifests crds` prints",
  example: "# kubectl apply, with a CRD that does not define matchExpressions\n"
    + "spec: {namespaceSelector: {names: [], labelSelector: {matchLabels: {}, "
    + "matchExpressions: [{key: team, operator: Exists}]}}}",
  when: ({ object }) => annotationAt(object, LAST_APPLIED) !== null,
  *find({ object, spec, inventory }): Iterable<Fault> {
    const applied = lastApplied(object);
    if (applied === null) return;
    const lost = [...lostOf(applied, object, inventory.kinds.selectorFields ?? ACK_FIELDS)];
    if (lost.length === 0) return;
    const effectOf = effectsOfPruned(applied, spec);
    for (const path of lost) yield { path, message: `${PRUNED}${effectOf(path)}` };
  },
};

const PRUNED = "the API server pruned this field of the applied manifest: the CRD does not define it";

/** Returns the fields that the API server pruned from the manifest of a selector. `served` are those of the CRD. */
export function lostFields(object: JsonObject, served: KnownFields): Iterable<FieldPath> {
  const applied = lastApplied(object);
  return applied === null ? [] : lostOf(applied, object, served);
}

function* lostOf(applied: JsonObject, object: JsonObject, served: KnownFields): Iterable<FieldPath> {
  const rewritten = rewrittenFields(readSelectorSpec(applied), readSelectorSpec(object));
  for (const path of droppedFields(served, applied, object)) if (!rewritten.has(formatFieldPath(path))) yield path;
}

/**
 * Returns the manifest that kubectl applied last, or null. The annotation can contain any text, because a user can
 * write it.
 */
function lastApplied(object: JsonObject): JsonObject | null {
  const text = annotationAt(object, LAST_APPLIED);
  const applied = text === null ? null : parseJSON(text);
  return isJsonObject(applied) ? applied : null;
}

/** Returns the path of each applied `apiVersion` that the webhook rewrote to `group` and `version`. */
function rewrittenFields(applied: SelectorSpec, { resourceTypeSelector }: SelectorSpec): ReadonlySet<string> {
  const paths = (applied.resourceTypeSelector ?? []).flatMap((entry, i) => {
    const expected = rewrittenEntry(entry);
    const stored = resourceTypeSelector?.[i];
    const isStored = expected !== null
      && stored?.group === expected.group && stored.version === expected.version && stored.kind === expected.kind;
    return isStored ? [formatFieldPath(["spec", "resourceTypeSelector", i, "apiVersion"])] : [];
  });
  return new Set(paths);
}
