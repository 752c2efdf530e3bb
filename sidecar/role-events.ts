import { SELECTORS } from "../shared/ack/selectors.ts";
import { resourceSubject, selectorSubject } from "../shared/core/event-subjects.ts";
import type { ClusterPorts } from "../shared/api/api.ts";
import { listPages } from "../shared/api/list-watch.ts";
import { resourceOf } from "../shared/core/ack-resource.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import type { EventSubject } from "../shared/formats/object-meta.ts";
import type { Inventory } from "../shared/core/inventory.ts";
import type { TypeEntry } from "../shared/core/resource-types.ts";
import type { RoleGrant } from "../shared/core/grant.ts";
import { selectionFor } from "../shared/ack/selection.ts";
import { BoundedMap } from "../shared/server/bounded-map.ts";
import { MAX_NOTE_BYTES } from "../shared/server/event-series.ts";
import { EventRecorder } from "../shared/server/events.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { InventorySource } from "../shared/sources/source.ts";
import type { SidecarMetrics } from "./metrics.ts";
import type { RefusedCallError } from "./sts-upstream/errors.ts";

/** Finds the resources whose role the selector sets. */
function resourcesOf(selector: string, inventory: Inventory, groups: readonly string[]): Search {
  return {
    types: Array.from(inventory.kinds.installedTypes()).filter(({ group }) => groups.includes(group)),
    metadataOnly: true,
    subjectOf(object) {
      const resource = resourceOf(object);
      const { outcome, selectors } = selectionFor(inventory, resource);
      return outcome === "selected" && selectors[0]?.name === selector ? resourceSubject(resource) : null;
    },
  };
}

/** The maximum number of objects that are reported for one role. */
const MAX_AFFECTED = 20;
const PAGE_SIZE = 500;
/** The maximum number of pages of a kind. Limits the search to 10,000 objects of each kind, fewer if they are large. */
const MAX_PAGES = 20;

interface AffectedPorts extends Omit<ClusterPorts, "random"> {
  readonly inventory: Inventory;
  readonly stopping: AbortSignal;
}

/** How to find the objects that a role affects. */
export interface Search {
  readonly types: readonly TypeEntry[];
  /** Whether to list only the metadata of the objects. */
  readonly metadataOnly: boolean;
  /** Returns the subject of an Event; null if the role does not affect the object. */
  readonly subjectOf: (object: JsonObject) => EventSubject | null;
}

/**
 * Yields up to 20 objects that a role affects. Lists the objects with the rights of the controller, whose
 * service account the sidecar uses. Skips a type that cannot be listed.
 */
async function* affectedObjects(
  ports: AffectedPorts, { types, metadataOnly, subjectOf }: Search,
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

/** The minimum time between two searches for the objects that use the role of one object, in ms. */
const SEARCH_MS = 30 * 60_000;
/** The maximum number of objects whose search time is stored. */
const MAX_SEARCHES = 1_000;

/**
 * Writes Events about roles that STS rejects: on the object that contains the role, such as an IAMRoleSelector, and on
 * objects that use the role. So a user of a resource sees why its controller gets no credentials.
 */
export class RoleEvents {
  readonly #ports: RoleEventPorts;
  readonly #events: EventRecorder;
  readonly #stopping = new AbortController();
  /** The steady time of the last search for each object. */
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
    const { source: { inventory }, groups } = this.#ports;
    for (const name of grant.selectors) {
      const selector = inventory.of(SELECTORS).get(name);
      if (selector === undefined) continue;
      const users = (): Search => resourcesOf(name, inventory, groups);
      this.report({ subject: selectorSubject(selector), object: `IAMRoleSelector ${name}`, error, users });
    }
  }

  /** Reports that STS rejected the role of the object. Never waits and never throws. */
  report({ subject, object, error, users }: RefusedObject): void {
    const note = noteOf(object, error);
    this.#record(subject, note);
    const key = JSON.stringify([subject.kind, subject.namespace, subject.name]);
    if (this.#ports.clock.steady() - (this.#searchedMs.get(key) ?? -Infinity) < SEARCH_MS) return;
    this.#searchedMs.set(key, this.#ports.clock.steady());
    const { kind, name } = subject;
    this.#searching = this.#searching.then(() => this.#recordUsers(users, note)).catch((err: unknown) => (
      this.#ports.log.warn({ err, kind, name }, "users of a rejected role cannot be searched")
    ));
  }

  async #recordUsers(users: RefusedObject["users"], note: string): Promise<void> {
    const { api, clock, source: { inventory } } = this.#ports;
    const stopping = this.#stopping.signal;
    if (stopping.aborted) return;
    for await (const user of affectedObjects({ api, clock, inventory, stopping }, users())) this.#record(user, note);
  }

  #record(subject: EventSubject, note: string): void {
    this.#events.record(subject, { type: "Warning", reason: "RoleRefused", action: "AssumeRole", note });
  }
}

/** An object whose role STS rejected. */
export interface RefusedObject {
  readonly subject: EventSubject;
  /** The kind and the name of the object, for the note. */
  readonly object: string;
  readonly error: RefusedCallError;
  /** Returns how to find the objects that use the role. */
  readonly users: () => Search;
}

/** Returns the note of the object that contains the role. The recorder cuts off the answer of STS, which is last. */
function noteOf(object: string, error: RefusedCallError): string {
  const subject = `The role of ${object} cannot be assumed: `;
  return `${subject}${error.explain(MAX_NOTE_BYTES - CUT_OFF.length - Buffer.byteLength(subject))}`;
}

/** What the recorder appends to a note that it cuts off. */
const CUT_OFF = "...";
