import { type SendPorts, sendExpecting, storeObject } from "../shared/api/send-request.ts";
import type { ObjectName } from "../shared/api/watched-kind.ts";
import type { AdmissionRequest } from "../shared/core/admission.ts";
import type { Finding } from "../shared/core/check.ts";
import { type Clock, repeat } from "../shared/core/clock.ts";
import {
  addDenials, type AddedDenials, CONFIRM_MS, dataOfObserved, observedDenial, observedIn,
} from "../shared/server/observed-denials.ts";
import { errorMessage } from "../shared/formats/errors.ts";
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
const NONE: AddedDenials = { denials: [], omitted: new Map() };

/**
 * Counts in a ConfigMap what the profile `enforce` would have denied. The replicas add to the same ConfigMap, which
 * survives all of them, and confirm each hour that they count. Until it can be written, a replica keeps its counts, as
 * many as the ConfigMap may have.
 */
export class ObservedStore {
  readonly #options: ObservedStoreOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #added = NONE;
  /** When this replica has stored its counts last. */
  #storedMs = -Infinity;
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
    this.#keep(this.#added, { ...NONE, denials: [denial] });
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
    const [added, nowMs] = [this.#added, this.#options.clock.now()];
    if (added === NONE && nowMs - this.#storedMs < CONFIRM_MS) return;
    this.#added = NONE;
    const fault = await this.#store(added).catch(errorMessage);
    if (fault === null) this.#storedMs = nowMs;
    else if (added !== NONE) this.#keep(added, this.#added);
    if (fault !== null && fault !== CONFLICT && fault !== this.#fault) {
      this.#options.log.warn({ fault, fix: FIX }, "what `enforce` would deny cannot be stored");
    }
    this.#fault = fault;
  }

  #keep(one: AddedDenials, other: AddedDenials): void {
    const nowMs = this.#options.clock.now();
    this.#added = addDenials({ sinceMs: nowMs, untilMs: nowMs, ...one }, other, nowMs);
  }

  /** Returns null if the counts are stored, or why they are not. */
  async #store(added: typeof NONE): Promise<string | null> {
    const { configMap: { namespace, name }, clock } = this.#options;
    const collection = `/api/v1/namespaces/${namespace}/configmaps`;
    const { object } = await sendExpecting(this.#options, { path: `${collection}/${name}` }, []);
    const nowMs = clock.now();
    const stored = observedIn(object ?? {}) ?? { sinceMs: nowMs, untilMs: nowMs, ...NONE };
    const data = dataOfObserved(addDenials(stored, added, nowMs));
    const written = await storeObject(this.#options, { collection, name, query: QUERY }, { ...object, data });
    return written === null ? CONFLICT : null;
  }
}

const CONFLICT = "another replica has written the ConfigMap";
