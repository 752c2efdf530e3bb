import { affectedKeys } from "./carm-map-keys.ts";
import { CM_01, CM_04, CM_12 } from "./carm-map-entries.ts";
import { printable, quote } from "../formats/text.ts";
import { controllerCheck } from "./any-kind.ts";
import { type ConfigMapChange, dataPath, isReadByControllers } from "./carm-map-change.ts";
import type { Check, Fault, QuickCheck, ScanningCheck } from "./check.ts";

const CM_08: ScanningCheck<ConfigMapChange> = {
  id: "CM-08",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "Controllers never reconcile a resource whose key or map is missing, or whose role is in a different account "
    + "from the resource.",
  fix: "delete the resources first, or annotate their namespaces with another key whose role is in the same account. "
    + "Then change or remove the key",
  example: "data: {} # was {'111122223333': 'arn:aws:iam::111122223333:role/a'}, and a namespace names 111122223333",
  requires: ["namespaces", "resources"],
  on: ["UPDATE", "DELETE"],
  ofChange: true,
  *scan(change) {
    if (!isReadByControllers(change)) return [];
    const affected = yield* affectedKeys(change);
    return Array.from(affected.groups(), ({ change: { from, key, to }, users }) => {
      const effect = to === null ? "loses its role" : `changes from account ${from} to account ${to}`;
      const message = printable(`the key ${effect}, but is used by ${users.list(affected.isFull)}`);
      return { path: dataPath(key), message };
    });
  },
};

const CM_07: QuickCheck<ConfigMapChange> = {
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

/** The checks that run when a CARM ConfigMap changes. */
export const CONFIG_MAP_CHECKS: readonly Check<ConfigMapChange>[] = [CM_01, CM_04, CM_07, CM_08, CM_09, CM_12, CM_15];
