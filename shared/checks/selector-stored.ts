import { LAST_APPLIED, REPLACES_ANNOTATION } from "../contract/annotation-keys.ts";
import { type FieldPath, formatFieldPath, isJsonObject, type JsonObject, parseJSON } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { droppedFields, type KnownFields } from "../contract/shape.ts";
import { quote } from "../formats/text.ts";
import { ACK_FIELDS } from "../model/ack-selector-schema.ts";
import { readSelectorSpec, type SelectorSpec } from "../model/iamroleselector.ts";
import { rewrittenEntry } from "../model/resource-types.ts";
import type { Fault, QuickCheck } from "./check.ts";
import type { SelectorChange } from "./selector-change.ts";

export const IRS_07: QuickCheck<SelectorChange> = {
  id: "IRS-07",
  severity: "deny",
  waivable: false,
  reason: "If the role of a selector changes, existing resources remain in the account of the old role. The CRD "
    + "rejects this change, but cannot prevent it in two steps: one that removes spec, and one that sets the new role.",
  fix: `create a selector that has another name, the new role and the annotation ${REPLACES_ANNOTATION}: NAME of `
    + "this selector. Delete this selector once no resource needs it",
  example: "# an update from\nspec: {arn: 'arn:aws:iam::111122223333:role/old'}\n"
    + "# to\nspec: {arn: 'arn:aws:iam::111122223333:role/new'}",
  requires: ["the stored object"],
  ofChange: true,
  *find({ spec: { arn }, old }): Iterable<Fault> {
    const stored = old?.arn ?? null;
    if (stored === null || arn === stored) return;
    const change =
      arn === null ? `the role ${quote(stored)} is removed` : `the role changes from ${quote(stored)} to ${quote(arn)}`;
    yield { path: ["spec", "arn"], message: change };
  },
};

export const IRS_16: QuickCheck<SelectorChange> = {
  id: "IRS-16",
  severity: "deny",
  waivable: true,
  reason: "Before the API server calls a webhook, it prunes every field that the CRD does not define. "
    + "The selector then selects more than intended.",
  fix: "use the fields that the CRD defines (kubectl explain iamroleselector.spec), "
    + "or install the CRD that the command `ack-role-resolver manifests crds` prints",
  example: "# kubectl apply, with a CRD that does not define matchExpressions\n"
    + "spec: {namespaceSelector: {names: [], labelSelector: {matchLabels: {}, "
    + "matchExpressions: [{key: team, operator: Exists}]}}}",
  *find({ object, inventory }): Iterable<Fault> {
    for (const path of lostFields(object, inventory.kinds.selectorFields ?? ACK_FIELDS)) {
      yield { path, message: "the API server pruned this field of the applied manifest: the CRD does not define it" };
    }
  },
};

/** Yields the fields that the API server pruned from the manifest of a selector. `served` are the fields of the CRD. */
export function* lostFields(object: JsonObject, served: KnownFields): Iterable<FieldPath> {
  const applied = lastApplied(object);
  if (applied === null) return;
  const rewritten = rewrittenFields(readSelectorSpec(applied), readSelectorSpec(object));
  for (const path of droppedFields(served, applied, object)) if (!rewritten.has(formatFieldPath(path))) yield path;
}

/**
 * Returns the manifest that kubectl applied last, or null. The annotation can contain any text, because a user can
 * write it.
 */
function lastApplied(object: JsonObject): JsonObject | null {
  const applied = parseJSON(annotationAt(object, LAST_APPLIED) ?? "");
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
