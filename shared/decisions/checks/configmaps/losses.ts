import { ACCOUNT_MAP } from "../../annotation-keys.ts";
import { carmAnnotations } from "../../carm/annotations.ts";
import { lookUpIn, type MapEntry, mapEntryOf, serviceOf } from "../../carm/maps.ts";
import type { ACKResource } from "../../kubernetes/ack-resource.ts";
import { accountOfARN } from "../../kubernetes/arn.ts";
import { type Paced, paced } from "../../paced.ts";
import { ENOUGH, namedNamespaces, namedResources, RESOURCES_BETWEEN_PAUSES } from "../message-lists.ts";
import type { ConfigMapChange } from "./change.ts";
import { keyParts } from "./entries.ts";

/** What becomes of the account that a key led to: null where it leads to no role any more. */
interface Loss {
  readonly key: string;
  readonly from: string;
  readonly to: string | null;
}

/** A namespace, or a resource, for which a key does not lead to the account any more that it led to. */
type Loser = { readonly namespace: string } | { readonly resource: ACKResource };

/** Who loses what by a change of a map, by key and by what becomes of it. */
export class Losses {
  readonly #byLoss = new Map<string, { readonly loss: Loss; readonly users: Users }>();
  /** Everyone, whatever the key. */
  readonly all = new Users();

  add(loss: Loss, loser: Loser): void {
    const key = JSON.stringify(loss);
    const entry = this.#byLoss.get(key) ?? { loss, users: new Users() };
    this.#byLoss.set(key, entry);
    entry.users.add(loser);
    this.all.add(loser);
  }

  get enough(): boolean {
    return this.all.size >= ENOUGH;
  }

  entries(): Iterable<{ readonly loss: Loss; readonly users: Users }> {
    return this.#byLoss.values();
  }
}

export class Users {
  readonly #namespaces: string[] = [];
  readonly #resources: ACKResource[] = [];

  add(user: Loser): void {
    if ("namespace" in user) this.#namespaces.push(user.namespace);
    else this.#resources.push(user.resource);
  }

  get size(): number {
    return this.#namespaces.length + this.#resources.length;
  }

  /** `1 namespace: team-a; 2 resources: Bucket team-a/b1 and Bucket team-a/b2`. */
  describe(ended: boolean): string {
    const parts: string[] = [];
    if (this.#namespaces.length > 0) parts.push(namedNamespaces(this.#namespaces, ended));
    if (this.#resources.length > 0) parts.push(namedResources(this.#resources, ended));
    return parts.join("; ");
  }
}

/** Who uses the keys that a change takes from a map, or leads to another account. Yields null where it may be put off. */
export function* lossesOf(change: ConfigMapChange): Paced<Losses> {
  const losses = new Losses();
  yield* paced(usersOf(change, changedIDs(change)), RESOURCES_BETWEEN_PAUSES, ({ entry, group, loser }) => {
    const loss = entry === null ? null : lossOf(change, entry, group);
    if (loss !== null) losses.add(loss, loser);
    return !losses.enough;
  });
  return losses;
}

/** The ids that are looked up under a key whose value changes. */
function changedIDs({ data, settings, stored }: ConfigMapChange): ReadonlySet<string> {
  const keys = [...stored].flatMap(([key, value]) => (data.get(key) === value ? [] : [key]));
  return new Set(settings.serviceLevelCARM ? [...keys, ...keys.map((key) => keyParts(key).id)] : keys);
}

interface User {
  /** Null where the user is not of this map, or of none of the ids. */
  readonly entry: MapEntry | null;
  /** "" for a namespace, where a resource of any service may be made. */
  readonly group: string;
  readonly loser: Loser;
}

function* usersOf(change: ConfigMapChange, ids: ReadonlySet<string>): Iterable<User> {
  const { inventory } = change;
  // Copies, since what is put off may go on after the inventory has changed.
  const namespaces = [...inventory.namespacesOfCARM];
  for (const namespace of namespaces) {
    const entry = entryIn(change, ids, namespace, NOWHERE);
    yield { entry, group: "", loser: { namespace } };
    for (const resource of entry === null ? [] : [...inventory.resources.inNamespace(namespace)]) yield { entry, group: resource.group, loser: { resource } };
  }
  if (change.name !== ACCOUNT_MAP) return;
  for (const id of ids) {
    const resources = [...inventory.resources.ofAccount(id)];
    for (const resource of resources) {
      // Those whose namespace says whose they are were met there.
      const named = entryIn(change, null, resource.namespace, NOWHERE) !== null;
      yield { entry: named ? null : entryIn(change, ids, resource.namespace, resource), group: resource.group, loser: { resource } };
    }
  }
}

/** What was never made in AWS has no account that could count. */
const NOWHERE: Pick<ACKResource, "status"> = { status: { ownerAccountID: null, region: null } };

/** Where CARM looks for the namespace's roles, if that is this map, under one of the ids (null: any). */
function entryIn({ inventory, name, settings }: ConfigMapChange, ids: ReadonlySet<string> | null, namespace: string, resource: Pick<ACKResource, "status">): MapEntry | null {
  const entry = mapEntryOf(carmAnnotations(namespace, inventory.namespaceAnnotations(namespace)), resource, settings);
  if (entry === null || ids === null) return entry;
  return entry.map === name && ids.has(entry.key) ? entry : null;
}

function lossOf({ data, settings, stored }: ConfigMapChange, entry: MapEntry, group: string): Loss | null {
  const from = accountIn(lookUpIn(stored, group, entry, settings).roleARN);
  const to = accountIn(lookUpIn(data, group, entry, settings).roleARN);
  if (from === null || from === to) return null;
  const serviceKey = `${serviceOf(group)}.${entry.key}`;
  const ofService = settings.serviceLevelCARM && (stored.get(serviceKey) ?? "") !== "";
  return { key: ofService ? serviceKey : entry.key, from, to };
}

function accountIn(roleARN: string | null): string | null {
  return roleARN === null ? null : accountOfARN(roleARN);
}
