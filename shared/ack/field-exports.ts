import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { isCARMMapName } from "../core/ack-groups.ts";
import { quote } from "../formats/text.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import { crossingsOf } from "./crossings.ts";
import type { Check, Fault, QuickCheck } from "../core/check.ts";
import { ownerOfNamespace, type ProtectionSettings } from "../core/protected-namespaces.ts";
import { by, set } from "../core/repair.ts";
import { FOR_NOW, namespacePath, ownNamespace } from "./resource-crossings.ts";
import { NEEDS } from "../core/requirements.ts";

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
  reason:
    "A FieldExport makes an ACK controller copy a field into a ConfigMap or Secret, with the controller's rights. "
    + "In the namespaces of controllers and of the webhook, and in a CARM map of any namespace, the value can grant a "
    + "role, or replace a CA or a credential.",
  fix: "export to another ConfigMap or Secret in the namespace of the FieldExport",
  example: "spec: {to: {kind: configmap, namespace: ack-system, name: ack-role-account-map, key: '111122223333'}}",
  *find({ object, settings }): Iterable<Fault> {
    const to = field(field(object, "spec"), "to");
    const named = stringAt(to, "namespace") ?? "";
    // Without a namespace, the controller writes into the namespace of the FieldExport (ACK runtime,
    // pkg/runtime/field_export_reconciler.go).
    const own = namespaceOrDefault(objectReference(object).namespace);
    const namespace = named === "" ? own : named;
    const name = stringAt(to, "name") ?? "";
    const owner = ownerOfNamespace(namespace, settings);
    if (owner !== null) {
      const path = named === "" ? ["metadata", "namespace"] : ["spec", "to", "namespace"];
      const target = quote(`${namespace}/${name}`);
      const message = `the controller would write ${target}, whose namespace belongs to ${owner}`;
      const fix = named === "" ? OTHER_NAMESPACE : FE_01.fix;
      const isFree = named !== "" && ownerOfNamespace(own, settings) === null;
      yield { path, message, fix, repairs: isFree ? by(set(path, own)) : [] };
    }
    if (!isCARMMapName(name)) return;
    const message = `${quote(name)} is the name of a CARM map, from which ACK controllers read roles`;
    yield { path: ["spec", "to", "name"], message };
  },
};

export const FE_03: QuickCheck<FieldExportWrite> = {
  id: "FE-03",
  severity: "warn",
  waivable: true,
  reason: "ACK announced that controllers will reject a FieldExport into another namespace by default "
    + "(aws-controllers-k8s/community#3031). Until then, its author needs no right to the ConfigMap or Secret.",
  fix: `export into the FieldExport's namespace, and copy that; ${FOR_NOW}`,
  example: "spec: {to: {kind: secret, namespace: team-b, name: endpoints}} # of a FieldExport in namespace team-a",
  requires: [NEEDS.ownNamespace],
  section: "crossNamespace",
  *find({ object, settings }): Iterable<Fault> {
    const own = namespaceOrDefault(objectReference(object).namespace);
    for (const crossing of crossingsOf(object)) {
      const { namespace, name } = crossing;
      const message = `for the FieldExport in namespace ${quote(own)}, the controller writes the `
        + `ConfigMap or Secret ${quote(`${namespace}/${name}`)}`;
      const repairs = ownerOfNamespace(own, settings) === null ? ownNamespace(crossing, own) : [];
      yield { path: namespacePath(crossing), message, fix: FE_03.fix, repairs };
    }
  },
};

/** The checks of a FieldExport. No check applies to its deletion. */
export const FIELD_EXPORT_CHECKS: readonly Check<FieldExportWrite>[] = [FE_01, FE_03];
