import { type SendPorts, sendExpecting, storeObject } from "../shared/api/send-request.ts";
import type { ObjectName } from "../shared/api/watched-kind.ts";
import type { AdmissionRequest } from "../shared/core/admission.ts";
import type { Finding } from "../shared/core/check.ts";
import { type Clock, repeat } from "../shared/core/clock.ts";
import {
  addDenials, dataOfObserved, observedDenial, observedIn, type ObservedDenials,
} from "../shared/server/observed-denials.ts";
import { errorMessage } from "../shared/formats/errors.ts";
import { field } from "../shared/formats/json.ts";
import type { Logger } from "../shared/server/logger.ts";

interface ObservedStoreOptions extends SendPorts {
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn">;
  readonly configMap: ObjectName;
}

/** The time between two writes, in ms. */
const WRITE_MS = 10_000;
const QUERY = "?fieldManager=ack-role-resolver-webhook";
const FIX = "apply the objects of `ack-role-resolver manifests rbac`";
const NONE: Pick<ObservedDenials, "denials" | "omitted"> = { denials: [], omitted: new Map() };

/**
 * Counts in a ConfigMap what the profile `enforce` would have denied. The replicas add to the same ConfigMap, which
 * survives all of them. Until it can be written, a replica keeps its counts, as many as the ConfigMap may have.
 */
export class ObservedStore {
  readonly #options: ObservedStoreOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #added = NONE;
  /** Whether this replica has written since when it counts. */
  #hasStarted = false;
  #fault: string | null = null;

  constructor(options: ObservedStoreOptions) {
    this.#options = options;
  }

  /** Counts an admission. Never waits and never throws. */
  add(
    { operation, kind: { kind }, namespace, name, requester }: AdmissionRequest,
    { code, message }: Pick<Finding, "code" | "message">,
  ): void {
    const nowMs = this.#options.clock.now();
    const { username: user } = requester;
    const denial = observedDenial({ code, user, operation, kind, namespace, name, message, lastMs: nowMs });
    this.#added = addDenials({ sinceMs: nowMs, ...this.#added }, { ...NONE, denials: [denial] }, nowMs);
  }

  start(): void {
    this.#running = repeat(this.#options.clock, this.#stopping.signal, async () => {
      await this.#write();
      return WRITE_MS;
    });
  }

  /** Writes what is not written yet. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#write();
  }

  /** Adds the counts to the ConfigMap. If another replica writes at the same time, the next attempt adds them. */
  async #write(): Promise<void> {
    const added = this.#added;
    if (this.#hasStarted && added === NONE) return;
    this.#added = NONE;
    const fault = await this.#store(added).catch(errorMessage);
    if (fault === null) this.#hasStarted = true;
    else this.#added = addDenials({ sinceMs: 0, ...added }, this.#added, this.#options.clock.now());
    if (fault !== null && fault !== CONFLICT && fault !== this.#fault) {
      this.#options.log.warn({ fault, fix: FIX }, "what `enforce` would deny cannot be stored");
    }
    this.#fault = fault;
  }

  /** Returns null if the counts are stored, or why they are not. */
  async #store(added: typeof NONE): Promise<string | null> {
    const { configMap: { namespace, name }, clock } = this.#options;
    const collection = `/api/v1/namespaces/${namespace}/configmaps`;
    const { object } = await sendExpecting(this.#options, { path: `${collection}/${name}` }, []);
    const nowMs = clock.now();
    const stored = observedIn(object ?? {}) ?? { sinceMs: nowMs, ...NONE };
    const data = dataOfObserved(addDenials(stored, added, nowMs));
    if (JSON.stringify(field(object, "data")) === JSON.stringify(data)) return null;
    const written = await storeObject(this.#options, { collection, name, query: QUERY }, { ...object, data });
    return written === null ? CONFLICT : null;
  }
}

const CONFLICT = "another replica has written the ConfigMap";
