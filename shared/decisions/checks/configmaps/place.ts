import { quote } from "../../kubernetes/text.ts";
import { controllerCheck } from "../any-kind/controllers.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { type ConfigMapChange, isReadByControllers } from "./change.ts";

export const CM_07: QuickCheck<ConfigMapChange> = {
  id: "CM-07",
  severity: "warn",
  waivable: false,
  reason: "Each controller reads only the maps in its own namespace. If controllers run in several namespaces and "
    + "their maps differ, the controllers use different roles.",
  fix: "move the map to the controllers' namespace, or set --ack-system-namespace to the namespace of the map",
  example: "metadata: {name: ack-role-account-map, namespace: default}",
  *find(change): Iterable<Fault> {
    const { data, inventory, name, namespace, settings } = change;
    if (!isReadByControllers(change)) {
      const read = settings.ackSystemNamespace;
      const message = `controllers read the map in namespace ${read}, not in ${quote(namespace)}`;
      yield { path: ["metadata", "namespace"], message };
    }
    for (const other of inventory.namespacesOfConfigMap(name)) {
      const copy = inventory.configMap(other, name);
      if (other === namespace || copy === null || sameEntries(copy, data)) continue;
      const message = `the entries differ from the entries of the map in namespace ${quote(other)}`;
      yield { path: ["data"], message, fix: COPIES_FIX };
    }
  },
};

const COPIES_FIX = "write the same entries to the map in every namespace where controllers run";

function sameEntries(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

export const CM_09: QuickCheck<ConfigMapChange> = {
  id: "CM-09",
  severity: "warn",
  waivable: false,
  reason: "In mode selectors, controllers read neither the CARM maps nor the CARM annotations of namespaces: "
    + "IAMRoleSelectors set the role.",
  fix: "replace each entry with an IAMRoleSelector; ack-role-resolver migrate carm generates these selectors",
  example: "data: {'111122223333': 'arn:aws:iam::111122223333:role/a'} # with --mode selectors",
  *find({ data, settings, stored }): Iterable<Fault> {
    if (settings.mode === "carm" || sameEntries(stored, data)) return;
    yield { path: ["data"], message: "the map has no effect, because IAMRoleSelectors set the role" };
  },
};

export const CM_15 = controllerCheck({
  id: "CM-15",
  reason: "A FieldExport makes an ACK controller write a ConfigMap, and ACK's charts let controllers write every "
    + "ConfigMap. Anyone who can create a FieldExport could then add any role to the map.",
  fix: "write the map as a user or with a deployment tool, and delete the FieldExport that names the map",
  example: "# sent by system:serviceaccount:ack-system:ack-s3-controller, one of --controller-users",
  objects: "CARM maps",
  path: ["data"],
});
