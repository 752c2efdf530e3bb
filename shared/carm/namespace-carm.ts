import { SELECTORS } from "../ack/selectors.ts";
import { CARM_MAPS } from "./map-store.ts";
import {
  DEFAULT_REGION_ANNOTATION, DELETION_POLICY_ANNOTATION, IGNORED_NAMESPACES, isServiceDeletionPolicy,
  NAMESPACE_ANNOTATIONS, OWNER_ACCOUNT_ANNOTATION, PROPOSED_TEAM_ANNOTATION, REGION_ANNOTATION, RESOURCE_ANNOTATIONS,
  TEAM_ANNOTATION, USE_SELECTOR_ANNOTATION,
} from "../core/annotation-keys.ts";
import {
  carmAnnotations, choosingAnnotation, choosingAnnotations, lookUpEntry, type MapEntry, mapEntryOf, teamOf,
} from "./carm-maps.ts";
import type { DecisionSettings } from "../core/context.ts";
import { ACCOUNT_ID, parseRoleARN } from "../formats/arn.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { by, remove, type Repair, repairsOf, safely, set } from "../core/repair.ts";
import { digitsOf, missingRoleRepairs, oldChoices } from "./annotation-repairs.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { CM_09 } from "./map-key-checks.ts";
import { annotationOf, type NamespaceChange } from "../core/namespace-change.ts";
import type { Inventory } from "../core/inventory.ts";
import { selectsNamespace } from "../core/effective-selector.ts";
import { NO_STATUS } from "./carm-role.ts";
import { resolutionClause } from "../ack/resource-change.ts";
import { unknownAnnotation } from "../ack/resource-annotations.ts";
import { ACK_36, CHOICE_PATH, ignoredChoiceFaults } from "../ack/role-inputs.ts";
import { CARM_NEEDS } from "./requirements.ts";

const OWNER_PATH = annotationPath(OWNER_ACCOUNT_ANNOTATION);
const TEAM_PATH = annotationPath(TEAM_ANNOTATION);

export const NS_03: QuickCheck<NamespaceChange> = {
  id: "NS-03",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason:
    "Controllers look up the account or team of the namespace in the CARM maps. If the map has no role for the key, "
    + "controllers do not reconcile the resources of the namespace.",
  fix: "either add the key with the ARN of a role to the ConfigMap, or correct the annotation of the namespace",
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: '111122223333'}} # the map has no such key",
  requires: [CARM_NEEDS.maps],
  *find(change): Iterable<Fault> {
    const { stored } = change;
    const fault = missingRoleFault(change);
    if (fault === null) return;
    const repairs = fault.repairs();
    const wasMissing = stored === null || missingRoleFault({ ...change, state: stored }) !== null;
    const all = repairs.length > 0 || wasMissing ? repairs : by(...oldChoices(change, stored));
    yield { path: fault.path, message: fault.message, fix: NS_03.fix, ...repairsOf(all) };
  },
};

interface MissingRoleFault {
  readonly path: FieldPath;
  readonly message: string;
  readonly repairs: () => readonly Repair[];
}

/** Returns the fault of a namespace whose account or team has no role. */
function missingRoleFault(change: NamespaceChange): MissingRoleFault | null {
  const { inventory, name, settings, state: { annotations } } = change;
  const read = carmAnnotations(name, annotations);
  const [chooser, entry] = [choosingAnnotation(read, settings), mapEntryOf(read, { status: NO_STATUS }, settings)];
  const message = entry === null ? null : missingRole(change, entry);
  if (chooser === null || entry === null || message === null) return null;
  const path = annotationPath(chooser);
  const data = inventory.of(CARM_MAPS).data(settings.ackSystemNamespace, entry.map);
  const hasRole = (id: string): boolean => missingRole(change, { ...entry, id }) === null;
  return { path, message, repairs: () => missingRoleRepairs(change, { path, entry, data, hasRole }) };
}

/** Returns a message if the map has no role for the entry; null if the map has a role for at least one service. */
function missingRole({ inventory, settings }: NamespaceChange, entry: MapEntry): string | null {
  const { map, id } = entry;
  const data = inventory.of(CARM_MAPS).data(settings.ackSystemNamespace, map);
  const lookup = lookUpEntry(data, NO_GROUP, entry, settings);
  if (lookup.code === null || hasServiceRole(data, id, settings)) return null;
  const configMap = `ConfigMap ${settings.ackSystemNamespace}/${map}`;
  const isSet = lookup.code === "ERR_CARM_ARN" || data === null;
  return isSet ? resolutionClause(lookup) : `${configMap} has no role for key ${quote(id)}`;
}

/** The group of no controller, whose service has no key in the map. */
const NO_GROUP = "";

function hasServiceRole(data: MapData | null, id: string, { serviceLevelCARM }: DecisionSettings): boolean {
  return serviceLevelCARM && data !== null
    && [...data].some(([key, role]) => key.endsWith(`.${id}`) && parseRoleARN(role) !== null);
}

type MapData = ReadonlyMap<string, string>;

/** NS-03 for the syntax of an account ID, also if no map is known. A key may be any text, so the fault only warns. */
export const NS_03_SYNTAX: QuickCheck<NamespaceChange> = {
  ...NS_03,
  requires: [],
  *find({ state }): Iterable<Fault> {
    const owner = annotationOf(state, OWNER_ACCOUNT_ANNOTATION);
    if (!/^[\s-]*[0-9][0-9\s-]*$/.test(owner) || ACCOUNT_ID.test(owner)) return;
    const message = `${quote(owner)} looks like an account id, but is not exactly 12 digits`;
    const [fix, digits] = ["write the 12 digits of the account id, in quotes", digitsOf(owner)];
    const repairs = digits === null ? [] : safely(set(OWNER_PATH, digits));
    yield { path: OWNER_PATH, message, fix, severity: "warn", ...repairsOf(repairs) };
  },
};

export const NS_05: QuickCheck<NamespaceChange> = {
  id: "NS-05",
  severity: "warn",
  reason: "Controllers read the team of a namespace only if the feature gate TeamLevelCARM is enabled. "
    + "If it is enabled and a namespace has a team, controllers ignore the account of the namespace.",
  fix: "keep only the annotation that controllers should use",
  example: "metadata: {annotations: {services.k8s.aws/team-id: a, services.k8s.aws/owner-account-id: '111122223333'}}",
  *find(change): Iterable<Fault> {
    const { settings, state } = change;
    const team = teamOf(state.annotations, settings);
    if (settings.mode !== "carm" || team === "") return;
    const withoutTeam = choosingAnnotations({ ...settings, teamLevelCARM: true })
      .filter((key) => key !== OWNER_ACCOUNT_ANNOTATION).map((key) => remove(annotationPath(key)));
    if (!settings.teamLevelCARM) {
      const message = "controllers ignore the team, because --team-level-carm is off";
      yield { path: TEAM_PATH, message, fix: NS_05.fix, repairs: by(...withoutTeam) };
    } else if (annotationOf(state, OWNER_ACCOUNT_ANNOTATION) !== "") {
      const message = `controllers ignore the account, because the team ${quote(team)} takes precedence`;
      const byTeam = { when: "to use the team", edits: [remove(OWNER_PATH)] };
      const byAccount = { when: "to use the account", edits: withoutTeam };
      const repairs = mayUseAccount(change) ? [byTeam, byAccount] : [byTeam];
      yield { path: OWNER_PATH, message, fix: NS_05.fix, repairs };
    }
  },
};

/** Whether the role of the account can replace that of the team: it exists, and no resource could use the other yet. */
function mayUseAccount(change: NamespaceChange): boolean {
  const settings = { ...change.settings, teamLevelCARM: false };
  return change.operation === "CREATE" && missingRoleFault({ ...change, settings }) === null;
}

/** CM-09 for the annotations of a namespace. */
export const CM_09_OF_NAMESPACES: QuickCheck<NamespaceChange> = {
  ...CM_09,
  when: ({ settings }) => settings.mode !== "carm",
  *find(change): Iterable<Fault> {
    const message = "the annotation has no effect, because IAMRoleSelectors set the role";
    const fix = "create an IAMRoleSelector for the namespace, and remove the annotation once no controller uses CARM";
    for (const path of carmPaths(change)) yield { path, message, fix, repairs: by(remove(path)) };
  },
};

/** Yields the path of each CARM annotation that the namespace has. */
function* carmPaths({ state }: NamespaceChange): Iterable<Fault["path"]> {
  for (const key of [OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION]) {
    if (annotationOf(state, key) !== "") yield annotationPath(key);
  }
}

/** The annotations of a namespace with --runtime extended. */
const PROPOSED_ANNOTATIONS: ReadonlySet<string> = new Set([...NAMESPACE_ANNOTATIONS, PROPOSED_TEAM_ANNOTATION]);

export const NS_10: QuickCheck<NamespaceChange> = {
  id: "NS-10",
  severity: "warn",
  reason: "Controllers ignore unknown annotations, such as a misspelled one, and read some, such as "
    + "services.k8s.aws/region, only on resources. Controllers also ignore the CARM annotations of kube-system, "
    + "kube-public and kube-node-lease, and manage the resources of these namespaces with their own role.",
  fix: "remove the annotation, or move it from the namespace to its resources",
  example: "metadata: {annotations: {services.k8s.aws/region: eu-west-1}}",
  *find(change): Iterable<Fault> {
    const { settings } = change;
    const known = settings.runtime === "extended" ? PROPOSED_ANNOTATIONS : NAMESPACE_ANNOTATIONS;
    for (const key of change.state.annotations.keys()) {
      if (!isServiceDeletionPolicy(key) && !RESOURCE_ANNOTATIONS.has(key)) {
        yield* unknownAnnotation(key, known, settings);
      }
      // Check NS-09 reports a deletion policy that names no service.
      if (!RESOURCE_ANNOTATIONS.has(key) || key === DELETION_POLICY_ANNOTATION) continue;
      const message = "controllers ignore this annotation on a namespace";
      const fix = `set ${DEFAULT_REGION_ANNOTATION} on the namespace, or annotate its resources`;
      const path = annotationPath(key);
      yield { path, message, fix: key === REGION_ANNOTATION ? fix : NS_10.fix, repairs: by(remove(path)) };
    }
    if (!IGNORED_NAMESPACES.has(change.name)) return;
    const fix = "move the resources to another namespace, or use an IAMRoleSelector";
    for (const path of carmPaths(change)) {
      const message = `controllers ignore this annotation on namespace ${change.name}`;
      yield { path, message, fix, repairs: by(remove(path)) };
    }
  },
};

/** ACK-36 for the annotation of a namespace. */
export const ACK_36_OF_NAMESPACES: QuickCheck<NamespaceChange> = {
  ...ACK_36,
  when: ({ state }) => state.annotations.has(USE_SELECTOR_ANNOTATION),
  find: ({ settings }) => ignoredChoiceFaults(settings),
};

export const NS_16: QuickCheck<NamespaceChange> = {
  id: "NS-16",
  severity: "warn",
  reason: `The annotation \`${USE_SELECTOR_ANNOTATION}\` of a namespace applies to each resource of the namespace that `
    + "does not have the annotation itself. A resource that the named selector does not select has no role.",
  fix: "name a selector that selects the resources of the namespace, or annotate single resources instead",
  example: `metadata: {name: team-a, annotations: {${USE_SELECTOR_ANNOTATION}: no-such-selector}} `
    + "# with --runtime extended",
  *find({ inventory, name, origin, settings, state }): Iterable<Fault> {
    const chosen = state.annotations.get(USE_SELECTOR_ANNOTATION);
    if (chosen === undefined || settings.runtime === "ack" || settings.mode === "carm") return;
    // If the manifests contain no selectors, the named selector may still exist in the cluster.
    const selectors = inventory.of(SELECTORS);
    if (origin === "file" && selectors.size + selectors.malformed.size === 0) return;
    const fault = choiceFault(inventory, chosen, { name, labels: state.labels });
    if (fault !== null) yield { path: CHOICE_PATH, message: `IAMRoleSelector ${quote(chosen)} ${fault}` };
  },
};

function choiceFault(
  inventory: Inventory,
  chosen: string,
  { name, labels }: { readonly name: string; readonly labels: ReadonlyMap<string, string> },
): string | null {
  const selector = inventory.of(SELECTORS).get(chosen);
  if (selector === undefined) return inventory.of(SELECTORS).malformed.has(chosen) ? "is malformed" : "does not exist";
  return selectsNamespace(selector, name, labels) ? null : `selects no resource in namespace ${name}`;
}
