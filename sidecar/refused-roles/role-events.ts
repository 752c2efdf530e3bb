import { SELECTORS } from "../../shared/ack/selectors.ts";
import { selectorSubject } from "../../shared/ack/selectors.ts";
import { identitySubject } from "../../shared/capa/identity.ts";
import { annotatedSubject } from "../../shared/core/problem.ts";
import type { ClusterPorts } from "../../shared/api/api.ts";
import { listPages } from "../../shared/api/list-watch.ts";
import { resourceOf } from "../../shared/core/ack-resource.ts";
import { describeIdentity, REFERRER_KINDS } from "../../shared/core/capa-kinds.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import type { EventSubject } from "../../shared/formats/object-meta.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { type Identity, identityKey } from "../../shared/capa/identity.ts";
import { readReferrer, referenceOf } from "../../shared/capa/referrer.ts";
import type { TypeEntry } from "../../shared/core/resource-types.ts";
import type { RoleGrant } from "../../shared/core/grant.ts";
import { identityChain } from "../../shared/capa/identity-chain.ts";
import { selectionFor } from "../../shared/ack/selection.ts";
import { BoundedMap } from "../../shared/server/bounded-map.ts";
import { MAX_NOTE_BYTES } from "../../shared/server/event-series.ts";
import { EventRecorder } from "../../shared/server/events.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { SidecarMetrics } from "../metrics.ts";
import type { RefusedCallError } from "../sts-upstream/errors.ts";
import type { RefusedRole } from "./refused-identities.ts";

/** Yields resources whose role the selector sets. Lists only metadata. */
function affectedResources(selector: string, ports: AffectedPorts): AsyncIterable<EventSubject> {
  const { inventory, groups } = ports;
  const types = Array.from(inventory.kinds.installedTypes()).filter(({ group }) => groups.includes(group));
  return affectedObjects(types, ports, {
    metadataOnly: true,
    subjectOf(object) {
      const resource = resourceOf(object);
      const { outcome, selectors } = selectionFor(inventory, resource);
      return outcome === "selected" && selectors[0]?.name === selector ? annotatedSubject(resource) : null;
    },
  });
}

/**
 * Yields clusters, and other objects that use an identity, whose chain contains the identity and allows their
 * namespace. Templates use no credentials.
 */
function affectedClusters(identity: Identity, ports: AffectedPorts): AsyncIterable<EventSubject> {
  const { inventory } = ports;
  const types = REFERRER_KINDS.flatMap(({ group, kind, isTemplate }) => {
    const version = isTemplate ? null : inventory.kinds.servedVersion(group, kind);
    return version === null ? [] : [{ group, version, kind }];
  });
  const subjectOf = (object: JsonObject): EventSubject | null => subjectIfAffected(object, identity, inventory);
  return affectedObjects(types, ports, { metadataOnly: false, subjectOf });
}

function subjectIfAffected(object: JsonObject, identity: Identity, inventory: Inventory): EventSubject | null {
  const referrer = readReferrer(object);
  const reference = referrer === null ? null : referenceOf(referrer, inventory.runtime);
  if (referrer === null || reference === null) return null;
  const { identities, denial } = identityChain(inventory, reference, referrer.namespace);
  const key = identityKey(identity);
  return denial === null && identities.some((one) => identityKey(one) === key) ? annotatedSubject(referrer) : null;
}

/** The maximum number of objects that are reported for one role. */
const MAX_AFFECTED = 20;
const PAGE_SIZE = 500;
/** The maximum number of pages of a kind. Limits the search to 10,000 objects of each kind, fewer if they are large. */
const MAX_PAGES = 20;

interface AffectedPorts extends Omit<ClusterPorts, "random"> {
  readonly inventory: Inventory;
  /** The groups of --group. */
  readonly groups: readonly string[];
  readonly stopping: AbortSignal;
}

interface Search {
  /** Whether to list only the metadata of the objects. */
  readonly metadataOnly: boolean;
  /** Returns the subject of an Event; null if the role does not affect the object. */
  readonly subjectOf: (object: JsonObject) => EventSubject | null;
}

/**
 * Yields up to 20 objects of the types that a role affects. Lists the objects with the rights of the controller, whose
 * service account the sidecar uses. Skips a type that cannot be listed.
 */
async function* affectedObjects(
  types: readonly TypeEntry[], ports: AffectedPorts, { metadataOnly, subjectOf }: Search,
): AsyncIterable<EventSubject> {
  let found = 0;
  for (const type of types) {
    // Pages are read in sequence.
    // oxlint-disable-next-line no-await-in-loop
    for await (const object of listedObjects(type, ports, metadataOnly)) {
      const subject = subjectOf(object);
      if (subject === null) continue;
      yield subject;
      if (++found === MAX_AFFECTED) return;
    }
  }
}

/** Yields at most the first 10,000 objects of a type. Yields nothing more if a page cannot be listed. */
async function* listedObjects(
  type: TypeEntry, { api, clock, inventory, stopping }: AffectedPorts, metadataOnly: boolean,
): AsyncIterable<JsonObject> {
  const plural = inventory.kinds.versions(type.group, type.kind)?.plural ?? "";
  const kind = { ...type, plural, metadataOnly, pageSize: PAGE_SIZE, transform: (object: JsonObject) => object };
  let pages = 0;
  try {
    for await (const { objects } of listPages({ api, clock, kind }, stopping)) {
      yield* objects.map(({ object }) => object).filter((object) => object !== null);
      if (++pages === MAX_PAGES) return;
    }
  } catch {
    // The controller may lack the right to list the type.
  }
}

interface RoleEventPorts extends ClusterPorts {
  readonly log: Logger;
  readonly metrics: Pick<SidecarMetrics, "events">;
  readonly source: Pick<InventorySource, "inventory">;
  /** The groups of --group. */
  readonly groups: readonly string[];
  /** The unique name of the sidecar. */
  readonly identity: string;
}

/** The minimum time between two searches for the objects that use the role of one selector or identity, in ms. */
const SEARCH_MS = 30 * 60_000;
/** The maximum number of selectors and identities whose search time is stored. */
const MAX_SEARCHES = 1_000;

/**
 * Writes Events about roles that STS rejects: on the IAMRoleSelector or the identity, and on objects that use the role.
 * So a user of a resource or cluster sees why its controller gets no credentials.
 */
export class RoleEvents {
  readonly #ports: RoleEventPorts;
  readonly #events: EventRecorder;
  readonly #stopping = new AbortController();
  /** The steady time of the last search of each selector and identity. */
  readonly #searchedMs = new BoundedMap<string, number>(MAX_SEARCHES);
  #running: Promise<void> = Promise.resolve();
  /** The searches, one after the other. */
  #searching: Promise<void> = Promise.resolve();

  constructor(ports: RoleEventPorts) {
    this.#ports = ports;
    this.#events = new EventRecorder({ ...ports, controller: "ack-role-resolver.io/sidecar", mayWrite: () => true });
  }

  start(): void {
    this.#running = this.#events.run(this.#stopping.signal);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Reports that STS rejected the role of the grant. Never waits and never throws. */
  refused(grant: RoleGrant, error: RefusedCallError): void {
    const { source: { inventory } } = this.#ports;
    for (const name of grant.selectors) {
      const selector = inventory.of(SELECTORS).get(name);
      if (selector === undefined) continue;
      const note = noteOf(`IAMRoleSelector ${name}`, error);
      const users = (): AsyncIterable<EventSubject> => affectedResources(name, this.#search(inventory));
      this.#report({ subject: selectorSubject(selector), note, users });
    }
  }

  /** Reports that STS rejected the role of the identity. Never rejects. */
  async identityRefused({ identity, error }: RefusedRole): Promise<void> {
    const { source: { inventory } } = this.#ports;
    const note = noteOf(describeIdentity(identity), await error());
    const users = (): AsyncIterable<EventSubject> => affectedClusters(identity, this.#search(inventory));
    this.#report({ subject: identitySubject(identity, inventory), note, users });
  }

  #search(inventory: Inventory): AffectedPorts {
    const { api, clock, groups } = this.#ports;
    return { api, clock, groups, inventory, stopping: this.#stopping.signal };
  }

  #report({ subject, note, users }: Refusal): void {
    this.#record(subject, note);
    const key = JSON.stringify([subject.kind, subject.namespace, subject.name]);
    if (this.#ports.clock.steady() - (this.#searchedMs.get(key) ?? -Infinity) < SEARCH_MS) return;
    this.#searchedMs.set(key, this.#ports.clock.steady());
    const { kind, name } = subject;
    this.#searching = this.#searching.then(() => this.#recordUsers(users, note)).catch((err: unknown) => (
      this.#ports.log.warn({ err, kind, name }, "users of a rejected role cannot be searched")
    ));
  }

  async #recordUsers(users: Refusal["users"], note: string): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    for await (const user of users()) this.#record(user, note);
  }

  #record(subject: EventSubject, note: string): void {
    this.#events.record(subject, { type: "Warning", reason: "RoleRefused", action: "AssumeRole", note });
  }
}

interface Refusal {
  readonly subject: EventSubject;
  readonly note: string;
  /** Returns the objects that use the role. */
  readonly users: () => AsyncIterable<EventSubject>;
}

/** Returns the note of the object that contains the role. The recorder cuts off the answer of STS, which is last. */
function noteOf(object: string, error: RefusedCallError): string {
  const subject = `The role of ${object} cannot be assumed: `;
  return `${subject}${error.explain(MAX_NOTE_BYTES - CUT_OFF.length - Buffer.byteLength(subject))}`;
}

/** What the recorder appends to a note that it cuts off. */
const CUT_OFF = "...";
