import { field, type JsonObject, stringAt } from "../../kubernetes/json.ts";
import { isCARMMapName } from "../../kubernetes/kinds.ts";
import { objectReference } from "../../kubernetes/object-meta.ts";
import { quote } from "../../kubernetes/text.ts";
import type { Check, Fault, QuickCheck } from "../check.ts";
import { ownerOfNamespace, type ProtectionSettings } from "./protected-namespaces.ts";

/** A FieldExport after its change. */
export interface FieldExportWrite {
  readonly object: JsonObject;
  readonly settings: ProtectionSettings;
}

/** The fix for a FieldExport in a protected namespace. */
const OTHER_NAMESPACE = "create the FieldExport in another namespace";

export const FE_01: QuickCheck<FieldExportWrite> = {
  id: "FE-01",
  severity: "deny",
  waivable: true,
  reason: "A FieldExport makes an ACK controller copy a field of a resource into a ConfigMap or a Secret, with the "
    + "rights of the controller. In the namespaces of controllers and of the webhook, and in a CARM map of any "
    + "namespace, the value can grant a role, or replace a CA or a credential.",
  fix: "export to another ConfigMap or Secret in the namespace of the FieldExport",
  example: "spec: {to: {kind: configmap, namespace: ack-system, name: ack-role-account-map, key: '111122223333'}}",
  *find({ object, settings }): Iterable<Fault> {
    const to = field(field(object, "spec"), "to");
    const named = stringAt(to, "namespace") ?? "";
    const { namespace: own } = objectReference(object);
    // Without a namespace, the controller writes into the namespace of the FieldExport (ACK runtime,
    // pkg/runtime/field_export_reconciler.go). A manifest without a namespace stands for `default`.
    const namespace = [named, own].find((one) => one !== "") ?? "default";
    const owner = ownerOfNamespace(namespace, settings);
    if (owner !== null) {
      const path = named === "" ? ["metadata", "namespace"] : ["spec", "to", "namespace"];
      const message = `the controller would write into namespace ${quote(namespace)}, which belongs to ${owner}`;
      yield { path, message, ...(named === "" && { fix: OTHER_NAMESPACE }) };
    }
    const name = stringAt(to, "name") ?? "";
    if (!isCARMMapName(name)) return;
    const message = `${quote(name)} is the name of a CARM map, from which ACK controllers read roles`;
    yield { path: ["spec", "to", "name"], message };
  },
};

/** The checks of a FieldExport. No check applies to its deletion. */
export const FIELD_EXPORT_CHECKS: readonly Check<FieldExportWrite>[] = [FE_01];
