import { ACCOUNT_MAP, OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION, TEAM_MAP } from "../../annotation-keys.ts";
import { IGNORED_NAMESPACES, teamOf } from "../../carm/maps.ts";
import type { DecisionSettings } from "../../context.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { annotationOf, type NamespaceChange } from "./change.ts";

const OWNER_PATH = annotationPath(OWNER_ACCOUNT_ANNOTATION);
const TEAM_PATH = annotationPath(TEAM_ANNOTATION);
const ENTRY_FIX = "first add the key and the role's ARN to the ConfigMap, or correct the annotation of the namespace";

export const NS_03: QuickCheck<NamespaceChange> = {
  id: "NS-03",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "Controllers look up the owner account of the namespace in ack-role-account-map. "
    + "If the map has no role for the account, controllers do not reconcile the resources of the namespace.",
  fix: ENTRY_FIX,
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: '111122223333'}} # the map has no such key",
  requires: ["config maps"],
  *find(change): Iterable<Fault> {
    const owner = effectiveOwner(change);
    const message = owner === "" ? null : missingRole(change, ACCOUNT_MAP, owner);
    if (message !== null) yield { path: OWNER_PATH, message };
  },
};

/**
 * Returns the key that controllers look up in the account map; "" if controllers ignore the namespace or use its team.
 */
function effectiveOwner({ name, settings, state }: NamespaceChange): string {
  const readsTeam = settings.teamLevelCARM && teamOf(state.annotations, settings) !== "";
  return IGNORED_NAMESPACES.has(name) || readsTeam ? "" : annotationOf(state, OWNER_ACCOUNT_ANNOTATION);
}

/** Returns a message if the map has no role for the key; null if the map has a role for at least one service. */
function missingRole({ inventory, settings }: NamespaceChange, map: string, key: string): string | null {
  const configMap = `ConfigMap ${settings.ackSystemNamespace}/${map}`;
  const data = inventory.configMap(settings.ackSystemNamespace, map);
  if (data === null) return `${configMap} does not exist, so key ${quote(key)} has no role`;
  return hasRole(data, key, settings) ? null : `${configMap} has no role for key ${quote(key)}`;
}

function hasRole(data: ReadonlyMap<string, string>, key: string, { serviceLevelCARM }: DecisionSettings): boolean {
  if ((data.get(key) ?? "") !== "") return true;
  return serviceLevelCARM && [...data].some(([other, role]) => other.endsWith(`.${key}`) && role !== "");
}

export const NS_03B: QuickCheck<NamespaceChange> = {
  id: "NS-03b",
  severity: "warn",
  waivable: false,
  reason: "A key of the account map may be any text, so controllers do not detect a mistyped account id.",
  fix: "write the 12 digits of the account id, in quotes",
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: 1111-2222-3333}}",
  *find({ state }): Iterable<Fault> {
    const owner = annotationOf(state, OWNER_ACCOUNT_ANNOTATION);
    if (!/^[\s-]*[0-9][0-9\s-]*$/.test(owner) || /^[0-9]{12}$/.test(owner)) return;
    yield { path: OWNER_PATH, message: `${quote(owner)} looks like an account id, but is not exactly 12 digits` };
  },
};

export const NS_05: QuickCheck<NamespaceChange> = {
  id: "NS-05",
  severity: "warn",
  waivable: false,
  reason: "Controllers read the team of a namespace only if the feature gate TeamLevelCARM is enabled. "
    + "If it is enabled and a namespace has a team, controllers ignore the account of the namespace.",
  fix: "keep only the annotation that controllers should use",
  example: "metadata: {annotations: {services.k8s.aws/team-id: a, services.k8s.aws/owner-account-id: '111122223333'}}",
  *find({ settings, state }): Iterable<Fault> {
    const team = teamOf(state.annotations, settings);
    if (settings.mode !== "carm" || team === "") return;
    if (!settings.teamLevelCARM) {
      yield { path: TEAM_PATH, message: "controllers ignore the team, because --team-level-carm is off" };
    } else if (annotationOf(state, OWNER_ACCOUNT_ANNOTATION) !== "") {
      const message = `controllers ignore the account, because the team ${quote(team)} takes precedence`;
      yield { path: OWNER_PATH, message };
    }
  },
};

export const NS_05B: QuickCheck<NamespaceChange> = {
  id: "NS-05b",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "Controllers look up the team of the namespace in ack-role-team-map. If the map has no role for the team, "
    + "controllers do not reconcile the resources of the namespace, even if the owner account has a role.",
  fix: ENTRY_FIX,
  example: "metadata: {annotations: {services.k8s.aws/team-id: payments}} # the map has no such key",
  requires: ["config maps"],
  *find(change): Iterable<Fault> {
    const { name, settings, state } = change;
    const team = teamOf(state.annotations, settings);
    const isRead = settings.teamLevelCARM && team !== "" && !IGNORED_NAMESPACES.has(name);
    const message = isRead ? missingRole(change, TEAM_MAP, team) : null;
    if (message !== null) yield { path: TEAM_PATH, message };
  },
};

export const NS_06: QuickCheck<NamespaceChange> = {
  id: "NS-06",
  severity: "warn",
  waivable: false,
  reason: "In mode selectors, controllers do not read the CARM annotations: IAMRoleSelectors set the role.",
  fix: "create an IAMRoleSelector for the namespace, and remove the annotation once no controller uses CARM",
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: '111122223333'}} # with --mode selectors",
  *find(change): Iterable<Fault> {
    if (change.settings.mode === "carm") return;
    for (const path of carmPaths(change)) {
      yield { path, message: "the annotation has no effect, because IAMRoleSelectors set the role" };
    }
  },
};

/** Yields the path of each CARM annotation that the namespace has. */
function* carmPaths({ state }: NamespaceChange): Iterable<Fault["path"]> {
  for (const key of [OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION]) {
    if (annotationOf(state, key) !== "") yield annotationPath(key);
  }
}

export const NS_11: QuickCheck<NamespaceChange> = {
  id: "NS-11",
  severity: "warn",
  waivable: false,
  reason: "Controllers ignore the CARM annotations of kube-system, kube-public and kube-node-lease. "
    + "Controllers manage the resources of these namespaces with their own role.",
  fix: "move the resources to another namespace, or use an IAMRoleSelector",
  example: "kubectl annotate namespace kube-system services.k8s.aws/team-id=platform",
  *find(change): Iterable<Fault> {
    if (!IGNORED_NAMESPACES.has(change.name)) return;
    for (const path of carmPaths(change)) {
      yield { path, message: `controllers ignore this annotation on namespace ${change.name}` };
    }
  },
};
