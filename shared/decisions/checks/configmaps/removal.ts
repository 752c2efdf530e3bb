import { accountOfARN } from "../../kubernetes/arn.ts";
import { printable } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../check.ts";
import { type ConfigMapChange, isRead, keyPath } from "./change.ts";
import { lossesOf } from "./losses.ts";

export const CM_08: ScanningCheck<ConfigMapChange> = {
  id: "CM-08",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "Controllers stop every resource under a key that is gone, and every one that exists in another account than its role's, for ever.",
  fix: "keep the key's account until the resources are gone, or first let the namespaces name another key whose role is in the same account",
  example: "data: {} # was {'111122223333': 'arn:aws:iam::111122223333:role/a'}, and a namespace names 111122223333",
  requires: ["namespaces", "resources"],
  on: ["UPDATE"],
  ofChange: true,
  *scan(change) {
    if (!isRead(change)) return [];
    const losses = yield* lossesOf(change);
    return Array.from(losses.entries(), ({ loss: { from, key, to }, users }) => {
      const what = to === null ? "leads to no role any more" : `leads from account ${from} to account ${to}`;
      return { path: keyPath(key), message: printable(`the key ${what}, and is used by ${users.describe(losses.enough)}`) };
    });
  },
};

export const CM_10: QuickCheck<ConfigMapChange> = {
  id: "CM-10",
  severity: "warn",
  waivable: false,
  reason: "Controllers notice a change of the map only when they next look at a resource, 10 hours later at the latest.",
  fix: "keep the old role until then, or restart the controllers",
  example: "data: {'111122223333': 'arn:aws:iam::111122223333:role/b'} # was role/a",
  on: ["UPDATE"],
  ofChange: true,
  *find(change): Iterable<Fault> {
    if (change.settings.mode !== "carm" || !isRead(change)) return;
    for (const [key, role] of change.data) {
      const before = change.stored.get(key) ?? "";
      const account = accountOfARN(before);
      if (before === role || account === null || account !== accountOfARN(role)) continue;
      yield { path: keyPath(key), message: "controllers may use the old role until their next resync or restart" };
    }
  },
};

export const CM_11: ScanningCheck<ConfigMapChange> = {
  id: "CM-11",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "Without the map controllers stop every resource whose role it holds.",
  fix: "keep the map until no namespace names an account or a team and the resources are gone",
  example: "kubectl -n ack-system delete configmap ack-role-account-map # while a namespace names an account",
  requires: ["namespaces", "resources"],
  on: ["DELETE"],
  *scan(change) {
    if (!isRead(change)) return [];
    const losses = yield* lossesOf(change);
    if (losses.all.size === 0) return [];
    return [{ path: ["metadata", "name"], message: printable(`the map is used by ${losses.all.describe(losses.enough)}`) }];
  },
};
