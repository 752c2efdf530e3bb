import { accountOfARN } from "../../kubernetes/arn.ts";
import { printable } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../check.ts";
import { affectedKeys } from "./affected-keys.ts";
import { type ConfigMapChange, dataPath, isReadByControllers } from "./change.ts";

export const CM_08: ScanningCheck<ConfigMapChange> = {
  id: "CM-08",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "Controllers never reconcile a resource whose key is missing from the map, "
    + "or whose role is in a different account from the resource.",
  fix: "delete the resources first, or annotate their namespaces with another key whose role is in the same account. "
    + "Then change or remove the key",
  example: "data: {} # was {'111122223333': 'arn:aws:iam::111122223333:role/a'}, and a namespace names 111122223333",
  requires: ["namespaces", "resources"],
  on: ["UPDATE"],
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

export const CM_10: QuickCheck<ConfigMapChange> = {
  id: "CM-10",
  severity: "warn",
  waivable: false,
  reason: "Controllers apply a change of the map when they next reconcile a resource, at most 10 hours later.",
  fix: "before you delete the old role in IAM, restart the controllers or wait 10 hours",
  example: "data: {'111122223333': 'arn:aws:iam::111122223333:role/b'} # was role/a",
  on: ["UPDATE"],
  ofChange: true,
  *find(change): Iterable<Fault> {
    if (change.settings.mode !== "carm" || !isReadByControllers(change)) return;
    for (const [key, role] of change.data) {
      const before = change.stored.get(key) ?? "";
      const account = accountOfARN(before);
      if (before === role || account === null || account !== accountOfARN(role)) continue;
      yield { path: dataPath(key), message: "controllers may use the old role until their next resync or restart" };
    }
  },
};

export const CM_11: ScanningCheck<ConfigMapChange> = {
  id: "CM-11",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "If the map is deleted, controllers do not reconcile any resource whose role the map set.",
  fix: "keep the map until its resources are deleted and no namespace names an account or a team",
  example: "kubectl -n ack-system delete configmap ack-role-account-map # while a namespace names an account",
  requires: ["namespaces", "resources"],
  on: ["DELETE"],
  *scan(change) {
    if (!isReadByControllers(change)) return [];
    const { allUsers, isFull } = yield* affectedKeys(change);
    if (allUsers.size === 0) return [];
    return [{ path: ["metadata", "name"], message: printable(`the map is used by ${allUsers.list(isFull)}`) }];
  },
};
