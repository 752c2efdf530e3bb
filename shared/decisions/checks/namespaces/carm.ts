import { ACCOUNT_MAP, OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION, TEAM_MAP } from "../../annotation-keys.ts";
import { IGNORED_NAMESPACES, teamOf } from "../../carm/annotations.ts";
import type { DecisionSettings } from "../../context.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { annotated, type NamespaceChange } from "./change.ts";

const OWNER_PATH = annotationPath(OWNER_ACCOUNT_ANNOTATION);
const TEAM_PATH = annotationPath(TEAM_ANNOTATION);

/** The account key that decides in the namespace, "" where none does: a team that is read decides alone. */
function decidingOwner({ name, settings, state }: NamespaceChange): string {
  const read = !IGNORED_NAMESPACES.has(name) && (!settings.teamLevelCARM || teamOf(state.annotations, settings) === "");
  return read ? annotated(state, OWNER_ACCOUNT_ANNOTATION) : "";
}

/** Why the map has no role for the namespace, or null where it has one, be it for some services only. */
function missing({ inventory, settings }: NamespaceChange, map: string, key: string): string | null {
  const where = `ConfigMap ${settings.ackSystemNamespace}/${map}`;
  const data = inventory.configMap(settings.ackSystemNamespace, map);
  if (data === null) return `${where} is not there, so ${quote(key)} has no role`;
  return hasRole(data, key, settings) ? null : `${where} has no role under the key ${quote(key)}`;
}

function hasRole(data: ReadonlyMap<string, string>, key: string, { serviceLevelCARM }: DecisionSettings): boolean {
  if ((data.get(key) ?? "") !== "") return true;
  return serviceLevelCARM && [...data].some(([other, role]) => other.endsWith(`.${key}`) && role !== "");
}

const FIX_ENTRY = "add the key with its role's ARN to the map first, or correct the annotation";

export const NS_03: QuickCheck<NamespaceChange> = {
  id: "NS-03",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "Controllers look up the role of the namespace's resources under this key of ack-role-account-map; without an entry each of them is stopped.",
  fix: FIX_ENTRY,
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: '111122223333'}} # the map has no such key",
  requires: ["config maps"],
  *find(change): Iterable<Fault> {
    const owner = decidingOwner(change);
    const message = owner === "" ? null : missing(change, ACCOUNT_MAP, owner);
    if (message !== null) yield { path: OWNER_PATH, message };
  },
};

export const NS_03B: QuickCheck<NamespaceChange> = {
  id: "NS-03b",
  severity: "warn",
  waivable: false,
  reason: "A key of the account map may be any text, so a mistyped account id is looked up as it stands.",
  fix: "write the 12 digits of the account, in quotes",
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: 1111-2222-3333}}",
  *find({ state }): Iterable<Fault> {
    const owner = annotated(state, OWNER_ACCOUNT_ANNOTATION);
    if (!/^[\s-]*[0-9][0-9\s-]*$/.test(owner) || /^[0-9]{12}$/.test(owner)) return;
    yield { path: OWNER_PATH, message: `${quote(owner)} looks like an account id, which has 12 digits and nothing else` };
  },
};

export const NS_05: QuickCheck<NamespaceChange> = {
  id: "NS-05",
  severity: "warn",
  waivable: false,
  reason: "Controllers read team-id only with their feature gate TeamLevelCARM, and with it a team decides alone, with no fall-back to the account.",
  fix: "keep the one annotation that the controllers are to read",
  example: "metadata: {annotations: {services.k8s.aws/team-id: a, services.k8s.aws/owner-account-id: '111122223333'}}",
  *find({ settings, state }): Iterable<Fault> {
    const team = teamOf(state.annotations, settings);
    if (settings.mode !== "carm" || team === "") return;
    if (!settings.teamLevelCARM) yield { path: TEAM_PATH, message: "the team is ignored, since --team-level-carm is not on" };
    else if (annotated(state, OWNER_ACCOUNT_ANNOTATION) !== "") yield { path: OWNER_PATH, message: `the account is ignored, since the namespace has a team too, ${quote(team)}` };
  },
};

export const NS_05B: QuickCheck<NamespaceChange> = {
  id: "NS-05b",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "Controllers look up the role of the namespace's resources under this key of ack-role-team-map; without an entry each of them is stopped, with no fall-back to the account.",
  fix: FIX_ENTRY,
  example: "metadata: {annotations: {services.k8s.aws/team-id: payments}} # the map has no such key",
  requires: ["config maps"],
  *find(change): Iterable<Fault> {
    const { name, settings, state } = change;
    const team = teamOf(state.annotations, settings);
    const read = settings.teamLevelCARM && team !== "" && !IGNORED_NAMESPACES.has(name);
    const message = read ? missing(change, TEAM_MAP, team) : null;
    if (message !== null) yield { path: TEAM_PATH, message };
  },
};

/** The annotations by which a namespace asks for CARM, as they stand in it. */
function* carmPaths({ state }: NamespaceChange): Iterable<Fault["path"]> {
  for (const key of [OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION]) if (annotated(state, key) !== "") yield annotationPath(key);
}

export const NS_06: QuickCheck<NamespaceChange> = {
  id: "NS-06",
  severity: "warn",
  waivable: false,
  reason: "While IAMRoleSelectors decide, controllers do not read the annotations of CARM.",
  fix: "write an IAMRoleSelector for the namespace, and remove the annotation once nothing runs with CARM",
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: '111122223333'}} # with --mode selectors",
  *find(change): Iterable<Fault> {
    if (change.settings.mode === "carm") return;
    for (const path of carmPaths(change)) yield { path, message: "the annotation has no effect, since IAMRoleSelectors decide" };
  },
};

export const NS_11: QuickCheck<NamespaceChange> = {
  id: "NS-11",
  severity: "warn",
  waivable: false,
  reason: "Controllers do not read the annotations of CARM on kube-system, kube-public and kube-node-lease, and manage what is there with their own role.",
  fix: "move the resources to another namespace, or use an IAMRoleSelector",
  example: "kubectl annotate namespace kube-system services.k8s.aws/team-id=platform",
  *find(change): Iterable<Fault> {
    if (!IGNORED_NAMESPACES.has(change.name)) return;
    for (const path of carmPaths(change)) yield { path, message: `controllers ignore the annotation on ${change.name}` };
  },
};
