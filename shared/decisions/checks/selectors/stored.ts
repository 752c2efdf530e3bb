import { LAST_APPLIED, REPLACES_ANNOTATION } from "../../annotation-keys.ts";
import { formatFieldPath } from "../../kubernetes/field-path.ts";
import { isJsonObject, type JsonObject, parseJSON } from "../../kubernetes/json.ts";
import { objectMeta } from "../../kubernetes/object-meta.ts";
import { droppedFields, objectFields } from "../../kubernetes/shape.ts";
import { quote } from "../../kubernetes/text.ts";
import { readSelectorSpec, type SelectorSpec } from "../../selectors/iamroleselector.ts";
import { SELECTOR_SPEC_SCHEMA } from "../../selectors/schema.ts";
import { rewrittenEntry } from "../../selectors/type-entry.ts";
import type { Fault, QuickCheck } from "../check.ts";
import type { SelectorChange } from "./change.ts";

export const IRS_07: QuickCheck<SelectorChange> = {
  id: "IRS-07",
  severity: "deny",
  waivable: false,
  reason: "Existing resources would stay behind in the account of the old role. "
    + "The CRD's own rule does not prevent a change in two steps, which removes spec first.",
  fix: `create a selector with another name and the new role, with the annotation ${REPLACES_ANNOTATION}: NAME, `
    + "and delete this selector once no resource needs it",
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

/** The fields of this project's CRD, used if the CRD of the cluster is unknown. */
const OWN_FIELDS = objectFields({
  properties: { spec: SELECTOR_SPEC_SCHEMA, status: { "x-kubernetes-preserve-unknown-fields": true } },
});

export const IRS_16: QuickCheck<SelectorChange> = {
  id: "IRS-16",
  severity: "deny",
  waivable: true,
  reason: "The API server prunes fields that the CRD does not define before it calls any webhook. "
    + "The selector then selects more than intended.",
  fix: "use the fields that the CRD defines (kubectl explain iamroleselector.spec), "
    + "or install the CRD from ack-role-resolver manifests crds",
  example: "# kubectl apply, with a CRD that does not define matchExpressions\n"
    + "spec: {namespaceSelector: {names: [], labelSelector: {matchLabels: {}, "
    + "matchExpressions: [{key: team, operator: Exists}]}}}",
  *find({ object, spec, inventory }): Iterable<Fault> {
    const applied = lastApplied(object);
    if (applied === null) return;
    const rewritten = rewrittenFields(readSelectorSpec(applied), spec);
    for (const path of droppedFields(inventory.kinds.selectorFields ?? OWN_FIELDS, applied, object)) {
      if (rewritten.has(formatFieldPath(path))) continue;
      yield { path, message: "the field was applied, but the CRD does not define it and the API server pruned it" };
    }
  },
};

/** Returns the manifest that kubectl applied last, or null. A user can write any text into the annotation. */
function lastApplied(object: JsonObject): JsonObject | null {
  const applied = parseJSON(objectMeta(object).annotations.get(LAST_APPLIED) ?? "");
  return isJsonObject(applied) ? applied : null;
}

/** Returns the paths of `apiVersion` in the applied entries that the object contains as admission rewrote them. */
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
