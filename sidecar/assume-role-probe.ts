import { ResolverError } from "../shared/decisions/errors.ts";
import type { Grant, RoleGrant } from "../shared/decisions/grants/grant.ts";
import type { Inventory } from "../shared/decisions/inventory/inventory.ts";
import type { EffectiveSelector } from "../shared/decisions/selectors/effective.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { SidecarMetrics } from "./metrics.ts";
import { UpstreamSTSError } from "./sts-upstream/errors.ts";
import { trustPolicyFix } from "./trust-policy-fix.ts";

interface AssumeRoleProbePorts {
  readonly source: Pick<InventorySource, "status" | "onChange"> & {
    readonly inventory: Pick<Inventory, "selectors">;
  };
  /** Decides whether the selector grants its role to the controller of this sidecar. */
  readonly grantOf: (selector: string) => Grant;
  /**
   * Returns a cached session, or requests a new one at the lowest priority. Rejects with UpstreamSTSError if STS
   * rejects the call.
   */
  readonly assume: (grant: RoleGrant) => Promise<unknown>;
  /** Returns the ARN of the base identity; null until STS verifies the identity. */
  readonly identity: () => string | null;
  readonly clock: Clock;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly metrics: Pick<SidecarMetrics, "roleProbes">;
}

/**
 * The mean pause between probes, in ms; the jitter is ±50%. Probing 500 selectors takes 8 minutes and uses 10% of the
 * STS rate limit.
 */
const PAUSE_MS = 1_000;
/** The pause after a probe for which STS was not called or did not respond, in ms. */
const UNAVAILABLE_PAUSE_MS = 30_000;
/** The delay until the next probe of a role that STS rejected, in ms. */
const RETRY_MS = 10 * 60_000;
/**
 * The maximum number of probed selectors. Probe sessions and client sessions share a cache. With this maximum, probe
 * sessions fill at most half of the cache.
 */
const LIMIT = 500;

interface ProbeState {
  /** The last known version of the selector. If a selector changes, the new version is a different object. */
  selector: EffectiveSelector;
  /** A key that identifies the role and the session extras; null if the selector grants no role. */
  readonly key: string | null;
  failing: boolean;
}

/**
 * Runs check IRS-27: assumes each granted role in the background, one role at a time. Selectors that have the same role
 * and session extras share one cached session. Logs one line when STS rejects a role, and one line when the role works
 * again. Requests do not wait for probes and do not depend on their results.
 */
export class AssumeRoleProbe {
  readonly #ports: AssumeRoleProbePorts;
  readonly #states = new Map<string, ProbeState>();
  /** The names of the selectors, in the order in which the selectors are probed. */
  readonly #queue = new Set<string>();
  readonly #timers = new Set<() => void>();
  #isScheduled = false;
  #hasLoggedLimit = false;
  #isClosed = false;
  #unsubscribe: () => void = () => {};

  constructor(ports: AssumeRoleProbePorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#unsubscribe = this.#ports.source.onChange(() => this.#update());
    this.#update();
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    for (const cancel of this.#timers) cancel();
  }

  /** The number of selectors whose role STS rejected in the last probe. */
  get failing(): number {
    return [...this.#states.values()].filter((state) => state.failing).length;
  }

  #update(): void {
    const { source } = this.#ports;
    if (!source.status.loaded) return;
    const { selectors } = source.inventory;
    for (const name of this.#states.keys()) if (!selectors.has(name)) this.#remove(name);
    for (const selector of selectors.values()) this.#updateSelector(selector.name, selector);
    this.#schedule(PAUSE_MS);
  }

  #remove(name: string): void {
    this.#states.delete(name);
    this.#queue.delete(name);
  }

  #updateSelector(name: string, selector: EffectiveSelector): void {
    const state = this.#states.get(name);
    if (state?.selector === selector) return;
    if (state === undefined && this.#states.size >= LIMIT) return this.#logLimit();
    const key = probeKey(this.#ports.grantOf(name));
    if (state !== undefined && state.key === key) {
      state.selector = selector;
      return;
    }
    // Replaces the entry by a new object, so that the result of a probe in flight does not apply to the new role.
    this.#states.set(name, { selector, key, failing: false });
    if (key !== null) this.#queue.add(name);
  }

  #logLimit(): void {
    if (this.#hasLoggedLimit) return;
    this.#hasLoggedLimit = true;
    const message = "IRS-27: too many selectors to probe; the sidecar does not probe the selectors beyond the limit";
    this.#ports.log.warn({ check: "IRS-27", limit: LIMIT }, message);
  }

  #schedule(ms: number): void {
    if (this.#isScheduled || this.#queue.size === 0) return;
    this.#isScheduled = true;
    this.#startTimer(ms * (0.5 + this.#ports.random()), () => void this.#probeNext());
  }

  #startTimer(ms: number, run: () => void): void {
    if (this.#isClosed) return;
    const cancel = this.#ports.clock.schedule(ms, () => {
      this.#timers.delete(cancel);
      run();
    });
    this.#timers.add(cancel);
  }

  async #probeNext(): Promise<void> {
    const [name] = this.#queue;
    const grant = name === undefined ? null : this.#ports.grantOf(name);
    let pauseMs = PAUSE_MS;
    if (name !== undefined) this.#queue.delete(name);
    if (name !== undefined && grant?.verdict === "role") pauseMs = await this.#probe(name, grant);
    this.#isScheduled = false;
    this.#schedule(pauseMs);
  }

  /** Probes the role of the selector. Returns the pause until the next probe, in ms. */
  async #probe(name: string, grant: RoleGrant): Promise<number> {
    const { assume, metrics } = this.#ports;
    const state = this.#states.get(name);
    try {
      await assume(grant);
      metrics.roleProbes.inc({ result: "ok" });
      this.#report(state, { name, grant, error: null });
      return PAUSE_MS;
    } catch (error) {
      if (error instanceof UpstreamSTSError) {
        metrics.roleProbes.inc({ result: "refused" });
        this.#report(state, { name, grant, error });
        this.#startTimer(RETRY_MS, () => this.#enqueue(name));
        return PAUSE_MS;
      }
      metrics.roleProbes.inc({ result: "skipped" });
      // Retries only after an error with status 503. Any other status means that the sidecar itself denied the role,
      // for example because the account of the role is not allowed.
      const isUnavailable = error instanceof ResolverError && error.status === 503;
      if (isUnavailable) this.#enqueue(name);
      return isUnavailable ? UNAVAILABLE_PAUSE_MS : PAUSE_MS;
    }
  }

  #enqueue(name: string): void {
    if (!this.#states.has(name)) return;
    this.#queue.add(name);
    this.#schedule(PAUSE_MS);
  }

  #report(state: ProbeState | undefined, { name, grant, error }: Outcome): void {
    if (state === undefined || state.failing === (error !== null)) return;
    state.failing = error !== null;
    const { log, identity } = this.#ports;
    const fields = { check: "IRS-27", selector: name, role_arn: grant.roleARN };
    if (error === null) return log.info(fields, "IRS-27: the sidecar can assume the selector's role again");
    log.warn(
      { ...fields, sts_code: error.stsCode, reason: error.message, fix: trustPolicyFix(grant, identity()) },
      "IRS-27: the sidecar cannot assume the selector's role",
    );
  }
}

function probeKey(grant: Grant): string | null {
  return grant.verdict === "role" ? JSON.stringify([grant.roleARN, grant.extras]) : null;
}

interface Outcome {
  readonly name: string;
  readonly grant: RoleGrant;
  readonly error: UpstreamSTSError | null;
}
