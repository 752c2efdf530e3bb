import { NAMESPACE_OWNERS } from "./namespace-owners.ts";
import { CARM_MAPS } from "./map-store.ts";
import { RESOURCES } from "../ack/resources.ts";
import { ACCOUNT_MAP } from "../core/annotation-keys.ts";
import { carmAnnotations, lookUpEntry, type MapEntry, mapEntryOf } from "./carm-maps.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import { accountOfARN } from "../formats/arn.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { RESOURCES_BETWEEN_PAUSES } from "../ack/change-set.ts";
import { listNamespaces, listResources, SCAN_LIMIT } from "../core/fault-texts.ts";
import { type ConfigMapChange, dataPath, isReadByControllers, parseKey } from "./map-entry-checks.ts";
import { printable, quote } from "../formats/text.ts";
import { controllerCheck } from "../core/any-kind.ts";
import { by, remove, repairsOf, set } from "../core/repair.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../core/check.ts";
import { NEEDS } from "../core/requirements.ts";
import { ACK_NEEDS } from "../ack/requirements.ts";

/** A map key that loses its role or gets a role in another account. */
interface KeyChange {
  readonly key: string;
  readonly from: string;
  /** The account after the change; null if the key no longer has a role. */
  readonly to: string | null;
}

/** A user of a key: a namespace whose annotation names the key, or a resource whose role the key sets. */
type KeyUser = { readonly namespace: string } | { readonly resource: ACKResource };

interface KeyGroup {
  readonly change: KeyChange;
  readonly users: KeyUsers;
}

class KeyUsers {
  readonly #namespaces: string[] = [];
  readonly #resources: ACKResource[] = [];

  add(user: KeyUser): void {
    if ("namespace" in user) this.#namespaces.push(user.namespace);
    else this.#resources.push(user.resource);
  }

  /**
   * Returns `1 namespace: team-a; 1 resource: Bucket team-a/b1`. If `isPartial`, the scan stopped early and may have
   * missed users.
   */
  list(isPartial: boolean): string {
    const parts: string[] = [];
    if (this.#namespaces.length > 0) parts.push(listNamespaces(this.#namespaces, isPartial));
    if (this.#resources.length > 0) parts.push(listResources(this.#resources, (count) => count, isPartial));
    return parts.join("; ");
  }
}

/** The keys whose account changes, and the namespaces and resources that use each key. */
class AffectedKeys {
  readonly #groups = new Map<string, KeyGroup>();
  #found = 0;

  add(change: KeyChange, user: KeyUser): void {
    const id = JSON.stringify(change);
    const group = this.#groups.get(id) ?? { change, users: new KeyUsers() };
    this.#groups.set(id, group);
    group.users.add(user);
    this.#found++;
  }

  /** Whether the scan can stop because it has found `SCAN_LIMIT` users of the keys. */
  get isFull(): boolean {
    return this.#found >= SCAN_LIMIT;
  }

  groups(): Iterable<KeyGroup> {
    return this.#groups.values();
  }
}

/** Returns the keys that lose their role or get a role in another account, and the users of each key. */
export function* affectedKeys(change: ConfigMapChange): Paced<AffectedKeys> {
  const affected = new AffectedKeys();
  yield* paced(candidates(change, changedIDs(change)), RESOURCES_BETWEEN_PAUSES, ({ entry, group, user }) => {
    const keyChange = entry === null ? null : keyChangeOf(change, entry, group);
    if (keyChange !== null) affected.add(keyChange, user);
    return !affected.isFull;
  });
  return affected;
}

/** Returns the account IDs or team IDs whose map entries change. */
function changedIDs({ data, settings, stored }: ConfigMapChange): ReadonlySet<string> {
  const keys = [...stored].flatMap(([key, value]) => (data.get(key) === value ? [] : [key]));
  return new Set(settings.serviceLevelCARM ? [...keys, ...keys.map((key) => parseKey(key).id)] : keys);
}

/** A namespace or resource that may use a changed key. */
interface Candidate {
  /** The map entry that applies to the namespace or resource; null if the change does not affect this entry. */
  readonly entry: MapEntry | null;
  /** The API group of the resource; "" for a namespace, whose resources can belong to any service. */
  readonly group: string;
  readonly user: KeyUser;
}

function* candidates(change: ConfigMapChange, ids: ReadonlySet<string>): Iterable<Candidate> {
  const { inventory } = change;
  // Copies the names, because the inventory may change during a pause.
  const namespaces = [...inventory.of(NAMESPACE_OWNERS).names];
  for (const namespace of namespaces) {
    const entry = entryOf(change, ids, namespace, NOT_CREATED);
    yield { entry, group: "", user: { namespace } };
    if (entry === null) continue;
    const resources = [...inventory.of(RESOURCES).inNamespace(namespace)];
    for (const resource of resources) yield { entry, group: resource.group, user: { resource } };
  }
  if (change.name !== ACCOUNT_MAP) return;
  for (const id of ids) {
    const resources = [...inventory.of(RESOURCES).ofAccount(id)];
    for (const resource of resources) {
      // Skips the namespaces that name an account or a team, because the first loop has already visited their
      // resources.
      const isVisited = entryOf(change, null, resource.namespace, NOT_CREATED) !== null;
      const entry = isVisited ? null : entryOf(change, ids, resource.namespace, resource);
      yield { entry, group: resource.group, user: { resource } };
    }
  }
}

/** The status of a resource that does not exist in AWS yet and therefore has no account. */
const NOT_CREATED: Pick<ACKResource, "status"> = { status: { ownerAccountID: null, region: null } };

/**
 * Returns the map entry that CARM looks up for the resource. If `ids` is set, returns null unless the entry is in the
 * changed map and its key is in `ids`.
 */
function entryOf(
  { inventory, name, settings }: ConfigMapChange,
  ids: ReadonlySet<string> | null,
  namespace: string,
  resource: Pick<ACKResource, "status">,
): MapEntry | null {
  const annotations = carmAnnotations(namespace, inventory.namespaces.annotationsOf(namespace));
  const entry = mapEntryOf(annotations, resource, settings);
  if (entry === null || ids === null) return entry;
  return entry.map === name && ids.has(entry.id) ? entry : null;
}

function keyChangeOf({ data, settings, stored }: ConfigMapChange, entry: MapEntry, group: string): KeyChange | null {
  const before = lookUpEntry(stored, group, entry, settings);
  const from = accountOf(before.roleARN);
  const to = accountOf(lookUpEntry(data, group, entry, settings).roleARN);
  return from === null || from === to ? null : { key: before.key, from, to };
}

function accountOf(roleARN: string | null): string | null {
  return roleARN === null ? null : accountOfARN(roleARN);
}

export const CM_08: ScanningCheck<ConfigMapChange> = {
  id: "CM-08",
  severity: "deny",
  waivable: true,
  deniesInCARM: true,
  reason: "Controllers never reconcile a resource whose key or map is missing, or whose role is in another account.",
  fix: "delete the resources first, or annotate their namespaces with another key whose role is in the same account. "
    + "Then change or remove the key",
  example: "data: {} # was {'111122223333': 'arn:aws:iam::111122223333:role/a'}, and a namespace names 111122223333",
  requires: [NEEDS.namespaces, ACK_NEEDS.resources],
  on: ["UPDATE", "DELETE"],
  ofChange: true,
  *scan(change) {
    if (!isReadByControllers(change)) return [];
    const affected = yield* affectedKeys(change);
    return Array.from(affected.groups(), ({ change: { from, key, to }, users }) => {
      const effect = to === null ? "loses its role" : `changes from account ${from} to account ${to}`;
      const message = printable(`the key ${effect}, but is used by ${users.list(affected.isFull)}`);
      const path = dataPath(key);
      // A deleted map has no entry that could be kept.
      const repairs = change.operation === "DELETE" ? [] : by(set(path, change.stored.get(key)));
      return { path, message, fix: CM_08.fix, ...repairsOf(repairs) };
    });
  },
};

export const CM_07: QuickCheck<ConfigMapChange> = {
  id: "CM-07",
  severity: "warn",
  reason: "Each controller reads only the maps in its own namespace. If controllers run in several namespaces and "
    + "their maps differ, the controllers use different roles.",
  fix: "move the map to the controllers' namespace, or set --ack-system-namespace to the namespace of the map",
  example: "metadata: {name: ack-role-account-map, namespace: default}",
  *find(change): Iterable<Fault> {
    const { data, inventory, name, namespace, operation, settings } = change;
    if (!isReadByControllers(change)) {
      const read = settings.ackSystemNamespace;
      const message = `controllers read the map in namespace ${read}, not in ${quote(namespace)}`;
      const path = ["metadata", "namespace"];
      yield { path, message, fix: CM_07.fix, ...(operation === "CREATE" && { repairs: by(set(path, read)) }) };
    }
    for (const other of inventory.of(CARM_MAPS).namespacesOf(name)) {
      const copy = inventory.of(CARM_MAPS).data(other, name);
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
  reason: "In mode selectors, controllers read neither the CARM maps nor the CARM annotations of namespaces.",
  fix: "replace each entry with an IAMRoleSelector; ack-role-resolver migrate carm generates these selectors",
  example: "data: {'111122223333': 'arn:aws:iam::111122223333:role/a'} # with --mode selectors",
  *find({ data, operation, settings, stored }): Iterable<Fault> {
    if (settings.mode === "carm" || sameEntries(stored, data)) return;
    const message = "the map has no effect, because IAMRoleSelectors set the role";
    const edit = operation === "UPDATE" ? set(["data"], Object.fromEntries(stored)) : remove([]);
    yield { path: ["data"], message, fix: CM_09.fix, repairs: by(edit) };
  },
};

export const CM_15 = controllerCheck({
  id: "CM-15",
  reason:
    "ACK's charts let controllers write every ConfigMap, and a FieldExport makes them do it. Anyone who can create "
    + "a FieldExport could then add any role to the map.",
  fix: "write the map as a user or with a deployment tool, and delete the FieldExport that names the map",
  example: "# sent by system:serviceaccount:ack-system:ack-s3-controller, one of --controller-users",
  objects: "CARM maps",
  path: ["data"],
});
