import { TEAM_MAP } from "../../annotation-keys.ts";
import { quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { type ConfigMapChange, isRead } from "./change.ts";

export const CM_07: QuickCheck<ConfigMapChange> = {
  id: "CM-07",
  severity: "warn",
  waivable: false,
  reason: "Each controller reads the maps of its own namespace alone.",
  fix: "put the map into the controllers' namespace, or name that with --ack-system-namespace",
  example: "metadata: {name: ack-role-account-map, namespace: default}",
  *find(change): Iterable<Fault> {
    const { namespace, settings } = change;
    if (isRead(change)) return;
    yield { path: ["metadata", "namespace"], message: `controllers read the map in namespace ${settings.ackSystemNamespace}, not in ${quote(namespace)}` };
  },
};

export const CM_07B: QuickCheck<ConfigMapChange> = {
  id: "CM-07b",
  severity: "warn",
  waivable: false,
  reason: "Controllers of several namespaces read a copy each; where the copies differ, so do the roles that they use.",
  fix: "give every copy the same entries",
  example: "data: {} # of ack-role-account-map in ack-system, where the one in ack-s3 has an entry",
  requires: ["config maps"],
  *find({ data, inventory, name, namespace }): Iterable<Fault> {
    for (const other of inventory.namespacesOfConfigMap(name)) {
      const copy = inventory.configMap(other, name);
      if (other === namespace || copy === null || sameEntries(copy, data)) continue;
      yield { path: ["data"], message: `the entries differ from those of the copy in namespace ${quote(other)}` };
    }
  },
};

function sameEntries(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

export const CM_09: QuickCheck<ConfigMapChange> = {
  id: "CM-09",
  severity: "warn",
  waivable: false,
  reason: "While IAMRoleSelectors decide, controllers do not read the maps of CARM.",
  fix: "write an IAMRoleSelector instead; ack-role-resolver migrate carm makes one for each entry",
  example: "data: {'111122223333': 'arn:aws:iam::111122223333:role/a'} # with --mode selectors",
  ofChange: true,
  *find({ data, settings, stored }): Iterable<Fault> {
    if (settings.mode === "carm" || sameEntries(stored, data)) return;
    yield { path: ["data"], message: "the map has no effect, since IAMRoleSelectors decide" };
  },
};

export const CM_12: QuickCheck<ConfigMapChange> = {
  id: "CM-12",
  severity: "warn",
  waivable: false,
  reason: "Controllers read the team map only with their feature gate TeamLevelCARM.",
  fix: "have the controllers run with TeamLevelCARM, and say so with --team-level-carm",
  example: "metadata: {name: ack-role-team-map} # with --mode carm alone",
  *find({ name, settings }): Iterable<Fault> {
    if (name !== TEAM_MAP || settings.mode !== "carm" || settings.teamLevelCARM) return;
    yield { path: ["metadata", "name"], message: "the team map is ignored, since --team-level-carm is not on" };
  },
};
