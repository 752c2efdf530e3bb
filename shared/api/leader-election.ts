import { errorMessage } from "../formats/errors.ts";
import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { repeat } from "../core/clock.ts";
import type { ClusterPorts } from "./api.ts";
import { microTime } from "./wire.ts";
import { sendExpecting, storeObject } from "./send-request.ts";

/** The durations of client-go's leader election, as kube-controller-manager uses them. */
const LEASE_SECONDS = 15;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2_000;
const RETRY_JITTER = 1.2;

interface LeaderElectionOptions extends ClusterPorts {
  readonly namespace: string;
  readonly name: string;
  /** The unique name of this replica. */
  readonly identity: string;
  /** Called when this replica becomes the leader. */
  readonly onLeading: () => void;
  /** Receives why the Lease cannot be read or written; null when the request succeeds again. */
  readonly onFault: (fault: string | null) => void;
}

/**
 * Elects one replica by a Lease, with the semantics of client-go (k8s.io/client-go tools/leaderelection): a replica
 * takes the Lease if it has not observed a renewal for the duration of the Lease. A replica uses only its own clock.
 * The resource version prevents two replicas from taking the Lease at the same time.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #stopping = new AbortController();
  /** The last observed spec of the Lease as JSON, and the steady time of its last change. */
  #observed = { spec: "", sinceMs: 0 };
  /** The steady time before the last successful renewal; null if this replica does not hold the Lease. */
  #renewedMs: number | null = null;
  #lease: JsonObject | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
  }

  /** Whether this replica holds the Lease, and renewed it in the last 10 s. */
  get isLeader(): boolean {
    return this.#renewedMs !== null && this.#options.clock.steady() - this.#renewedMs < RENEW_DEADLINE_MS;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Releases the Lease, so that another replica can take it immediately. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    if (!this.isLeader || this.#lease === null) return;
    this.#renewedMs = null;
    await this.#write(releasedLease(this.#lease, this.#options.clock.now())).catch(() => false);
  }

  async #run(): Promise<void> {
    const { clock, random, onFault } = this.#options;
    await repeat(clock, this.#stopping.signal, async () => {
      await this.#attempt().catch((error: unknown) => onFault(errorMessage(error)));
      return RETRY_MS * (1 + random() * (RETRY_JITTER - 1));
    });
  }

  async #attempt(): Promise<void> {
    const { clock, identity, onFault, onLeading } = this.#options;
    const startMs = clock.steady();
    const lease = await this.#read();
    const spec = JSON.stringify(field(lease, "spec") ?? null);
    if (spec !== this.#observed.spec) this.#observed = { spec, sinceMs: startMs };
    const unchangedMs = startMs - this.#observed.sinceMs;
    const next = takenLease(lease, { identity, unchangedMs, nowMs: clock.now() });
    const wasLeader = this.isLeader;
    this.#renewedMs = next !== null && (await this.#write(next)) ? startMs : null;
    if (!wasLeader && this.isLeader) onLeading();
    onFault(null);
  }

  async #read(): Promise<JsonObject | null> {
    const { namespace, name } = this.#options;
    const { status, object } = await sendExpecting(this.#options, { path: `${leasesPath(namespace)}/${name}` }, [404]);
    return status === 404 ? null : object;
  }

  /** Creates or updates the Lease. Returns false if another replica changed the Lease at the same time. */
  async #write(lease: JsonObject): Promise<boolean> {
    const { namespace, name } = this.#options;
    const object = { metadata: { namespace, name }, ...lease };
    const stored = await storeObject(this.#options, { collection: leasesPath(namespace), name }, object);
    if (stored === null) return false;
    this.#lease = stored;
    // The replica's own renewal is also a change of the Lease.
    const spec = JSON.stringify(field(stored, "spec") ?? null);
    this.#observed = { spec, sinceMs: this.#options.clock.steady() };
    return true;
  }
}

function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
}

interface Candidate {
  readonly identity: string;
  /** How long the candidate has observed no change of the Lease, in ms. */
  readonly unchangedMs: number;
  readonly nowMs: number;
}

/** Returns the Lease after the candidate has taken or renewed it, or null if another replica holds the Lease. */
export function takenLease(lease: JsonObject | null, { identity, unchangedMs, nowMs }: Candidate): JsonObject | null {
  const spec = field(lease, "spec");
  const holder = stringAt(spec, "holderIdentity") ?? "";
  const isHolder = holder === identity;
  const durationMs = numberAt(spec, "leaseDurationSeconds", LEASE_SECONDS) * 1000;
  if (!isHolder && holder !== "" && unchangedMs < durationMs) return null;
  const transitions = numberAt(spec, "leaseTransitions", 0);
  const now = microTime(nowMs);
  return {
    ...lease, apiVersion: "coordination.k8s.io/v1", kind: "Lease",
    spec: {
      holderIdentity: identity, leaseDurationSeconds: LEASE_SECONDS, renewTime: now,
      acquireTime: isHolder ? stringAt(spec, "acquireTime") ?? now : now,
      leaseTransitions: isHolder || lease === null ? transitions : transitions + 1,
    },
  };
}

function numberAt(spec: unknown, key: string, otherwise: number): number {
  const value = field(spec, key);
  return typeof value === "number" ? value : otherwise;
}

/** Returns the Lease without a holder, as client-go's ReleaseOnCancel writes it. */
function releasedLease(lease: JsonObject, nowMs: number): JsonObject {
  const transitions = field(field(lease, "spec"), "leaseTransitions");
  const [renewTime, acquireTime] = [microTime(nowMs), microTime(nowMs)];
  const spec = { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: transitions, renewTime, acquireTime };
  return { ...lease, spec };
}
