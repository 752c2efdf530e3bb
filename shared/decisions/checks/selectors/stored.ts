import { LAST_APPLIED } from "../../annotation-keys.ts";
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
  reason: "Resources that exist in the account of the old role would be left behind there. Removing spec first gets round the CRD's own rule.",
  fix: "create a selector of another name for the new role, with the annotation ack-role-resolver.io/replaces: NAME, and delete this one when nothing needs it",
  example: "# an update from\nspec: {arn: 'arn:aws:iam::111122223333:role/old'}\n# to\nspec: {arn: 'arn:aws:iam::111122223333:role/new'}",
  requires: ["the stored object"],
  ofChange: true,
  *find({ spec: { arn }, old }): Iterable<Fault> {
    const stored = old?.arn ?? null;
    if (stored === null || arn === stored) return;
    yield { path: ["spec", "arn"], message: arn === null ? `the role ${quote(stored)} is removed` : `the role is changed from ${quote(stored)} to ${quote(arn)}` };
  },
};

/** What counts where the served schema is not known. */
const OWN_FIELDS = objectFields({ properties: { spec: SELECTOR_SPEC_SCHEMA, status: { "x-kubernetes-preserve-unknown-fields": true } } });

export const IRS_16: QuickCheck<SelectorChange> = {
  id: "IRS-16",
  severity: "deny",
  waivable: true,
  reason: "The API server drops a field that its CRD does not know before anyone sees it, so the selector selects more than was written.",
  fix: "say it with the fields that there are (kubectl explain iamroleselector.spec), or install the CRD of ack-role-resolver manifests crds",
  example: "# where the CRD does not know matchExpressions, kubectl apply of\nspec: {namespaceSelector: {names: [], labelSelector: {matchLabels: {}, matchExpressions: [{key: team, operator: Exists}]}}}",
  *find({ object, spec, inventory }): Iterable<Fault> {
    const applied = lastApplied(object);
    if (applied === null) return;
    const rewritten = rewrittenFields(readSelectorSpec(applied), spec);
    for (const path of droppedFields(inventory.selectorFields ?? OWN_FIELDS, applied, object)) {
      if (!rewritten.has(formatFieldPath(path))) yield { path, message: "the field was applied, but the cluster does not know it and dropped it" };
    }
  },
};

function lastApplied(object: JsonObject): JsonObject | null {
  // A user's own text, which is no JSON, says nothing.
  const applied = parseJSON(objectMeta(object).annotations.get(LAST_APPLIED) ?? "");
  return isJsonObject(applied) ? applied : null;
}

/** The `apiVersion` of entries that stand in the object as admission rewrites them. */
function rewrittenFields(applied: SelectorSpec, { resourceTypeSelector }: SelectorSpec): ReadonlySet<string> {
  const paths = (applied.resourceTypeSelector ?? []).flatMap((entry, i) => {
    const expected = rewrittenEntry(entry);
    const stored = resourceTypeSelector?.[i];
    const isStored = expected !== null && stored?.group === expected.group && stored.version === expected.version && stored.kind === expected.kind;
    return isStored ? [formatFieldPath(["spec", "resourceTypeSelector", i, "apiVersion"])] : [];
  });
  return new Set(paths);
}
