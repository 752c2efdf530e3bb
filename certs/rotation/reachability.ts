import type { SteadyClock } from "../../shared/core/clock.ts";
import { isSuccess, sendRequest, type SendPorts } from "../../shared/api/send-request.ts";
import type { ObjectName } from "../../shared/api/watched-kind.ts";
import { REACHED } from "../../shared/core/installation.ts";
import type { CertificateReports } from "./reports.ts";

interface ReachabilityOptions extends SendPorts {
  readonly clock: SteadyClock;
  readonly reports: Pick<CertificateReports, "unreached">;
  /** The Lease of this process. */
  readonly lease: ObjectName;
}

/** The time between two questions, in ms. */
export const REACH_MS = 2_000;
/** After how many ms a ready Pod that the API server does not reach is a fault. It reads the caBundle first. */
const UNREACHED_MS = 15_000;

/** Whether the API server reaches the webhook, which has a ready Pod. Once it has, it is not asked again. */
export class Reachability {
  readonly #options: ReachabilityOptions;
  #isReached = false;
  #askedMs = -Infinity;
  /** Since when (steady time) the API server does not reach the webhook; null if it does, or if no Pod is ready. */
  #unreachedSinceMs: number | null = null;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
  }

  /** Whether a Pod is ready that the API server has not reached yet. */
  get isWaiting(): boolean {
    return this.#unreachedSinceMs !== null;
  }

  /** Whether the API server does not reach a ready Pod, although it had time to read the caBundle. */
  get isUnreached(): boolean {
    return this.#unreachedSinceMs !== null && this.#options.clock.steady() - this.#unreachedSinceMs >= UNREACHED_MS;
  }

  /** Returns whether the API server has reached the webhook. Asks at most every 2 s. */
  async ask(): Promise<boolean> {
    const { clock, lease } = this.#options;
    const nowMs = clock.steady();
    if (this.#isReached || nowMs - this.#askedMs < REACH_MS) return this.#isReached;
    this.#askedMs = nowMs;
    this.#isReached = await isReached(this.#options, lease);
    this.#set(this.#isReached ? null : this.#unreachedSinceMs ?? nowMs);
    return this.#isReached;
  }

  /** Forgets for how long the webhook was not reached: nothing depends on it now. */
  forget(): void {
    this.#set(null);
  }

  #set(sinceMs: number | null): void {
    this.#unreachedSinceMs = sinceMs;
    this.#options.reports.unreached(this.isUnreached);
  }
}

/**
 * Returns whether the API server reaches the webhook: whether its answer to an update of the Lease, in a dry run that
 * changes nothing, contains the webhook's warning. False if this is not known.
 */
async function isReached(ports: SendPorts, { namespace, name }: ObjectName): Promise<boolean> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  try {
    const lease = await sendRequest(ports, { path });
    if (!isSuccess(lease)) return false;
    const body = JSON.stringify(lease.object);
    const { warning } = await sendRequest(ports, { method: "PUT", path: `${path}?dryRun=All`, body });
    return warning.includes(REACHED.warning);
  } catch {
    return false;
  }
}
