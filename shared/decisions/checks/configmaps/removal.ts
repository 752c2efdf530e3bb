import { printable } from "../../kubernetes/text.ts";
import type { ScanningCheck } from "../check.ts";
import { affectedKeys } from "./affected-keys.ts";
import { type ConfigMapChange, dataPath, isReadByControllers } from "./change.ts";

export const CM_08: ScanningCheck<ConfigMapChange> = {
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
