import { ResolverError } from "../../shared/formats/errors.ts";
import type { Clock } from "../../shared/clock.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { SidecarMetrics } from "../metrics.ts";
import type { ProbedRoles, ProbeTarget } from "./probed-roles.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";

interface AssumeRoleProbePorts {
  readonly source: Pick<InventorySource, "status" | "onChange">;
  /** The roles of each enabled check. */
  readonly probed: readonly ProbedRoles[];
  readonly clock: Clock;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly metrics: Pick<SidecarMetrics, "roleProbes">;
}

/**
 * The mean pause between probes, in ms; the jitter is ±50%. Probing 500 roles takes 8 minutes and uses 10% of the STS
 * rate limit.
 */
const PAUSE_MS = 1_000;
/** The delay of an update after a change of the inventory, in ms. An update reads all selectors and identities. */
const UPDATE_MS = 1_000;
/** The pause after a probe for which STS was not called or did not respond, in ms. */
const UNAVAILABLE_PAUSE_MS = 30_000;
/** The delay until the next probe of a role that STS rejected, in ms. */
const RETRY_MS = 10 * 60_000;
/**
 * The maximum number of probed selectors and identities. Probe sessions and client sessions share a cache. With this
 * maximum, probe sessions fill at most half of the cache.
 */
const LIMIT = 500;

interface ProbeState {
  /** The check and the name. */
  readonly id: string;
  readonly roles: ProbedRoles;
  /** The name of the selector or identity. */
  readonly name: string;
  /** A key that identifies the role and its parameters; null if the object has no usable role. */
  readonly key: string | null;
  failing: boolean;
}

/**
 * Runs checks IRS-27 and CI-35: assumes each granted role of selectors and identities in the background, one role at a
 * time. Objects that have the same role and session parameters share one cached session. Logs one line when STS rejects
 * a role, and one line when the role works again. Requests do not wait for probes and do not depend on their results.
 */
export class AssumeRoleProbe {
  readonly #ports: AssumeRoleProbePorts;
  /** By check and name. */
  readonly #states = new Map<string, ProbeState>();
  /** The keys of the states, in the order in which the roles are probed. */
  readonly #queue = new Set<string>();
  readonly #timers = new Set<() => void>();
  #isScheduled = false;
  #isUpdateScheduled = false;
  #hasLoggedLimit = false;
  #isClosed = false;
  #unsubscribe: () => void = () => {};

  constructor(ports: AssumeRoleProbePorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#unsubscribe = this.#ports.source.onChange(() => this.#updateSoon());
    this.#update();
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    for (const cancel of this.#timers) cancel();
  }

  /** The number of selectors whose role STS rejected in the last probe. */
  get failing(): number {
    return [...this.#states.values()].filter(({ failing, roles }) => failing && roles.of === "selector").length;
  }

  /** Combines all changes within the delay into one update. */
  #updateSoon(): void {
    if (this.#isUpdateScheduled) return;
    this.#isUpdateScheduled = true;
    this.#startTimer(UPDATE_MS, () => {
      this.#isUpdateScheduled = false;
      this.#update();
    });
  }

  #update(): void {
    const { source, probed } = this.#ports;
    if (!source.status.loaded) return;
    const current = new Map<string, Omit<ProbeState, "failing">>();
    for (const roles of probed) {
      for (const [name, key] of roles.roles()) {
        const id = `${roles.check} ${name}`;
        current.set(id, { id, roles, name, key });
      }
    }
    for (const id of this.#states.keys()) if (!current.has(id)) this.#remove(id);
    for (const state of current.values()) this.#updateState(state);
    this.#schedule(PAUSE_MS);
  }

  #remove(id: string): void {
    this.#states.delete(id);
    this.#queue.delete(id);
  }

  #updateState(current: Omit<ProbeState, "failing">): void {
    const { id } = current;
    const state = this.#states.get(id);
    if (state === undefined && this.#states.size >= LIMIT) return this.#logLimit(current.roles);
    if (state !== undefined && state.key === current.key) return;
    // Replaces the entry by a new object, so that the result of a probe in flight does not apply to the new role.
    this.#states.set(id, { ...current, failing: false });
    if (current.key !== null) this.#queue.add(id);
  }

  #logLimit({ check }: ProbedRoles): void {
    if (this.#hasLoggedLimit) return;
    this.#hasLoggedLimit = true;
    const message = `${check}: too many roles to probe; the sidecar does not probe the roles beyond the limit`;
    this.#ports.log.warn({ check, limit: LIMIT }, message);
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
    const [id] = this.#queue;
    const state = id === undefined ? undefined : this.#states.get(id);
    let pauseMs = PAUSE_MS;
    if (id !== undefined) this.#queue.delete(id);
    if (state !== undefined) pauseMs = await this.#probe(state);
    this.#isScheduled = false;
    this.#schedule(pauseMs);
  }

  /** Probes the role. Returns the pause until the next probe, in ms. */
  async #probe(state: ProbeState): Promise<number> {
    const { roles, name } = state;
    const target = roles.target(name);
    if (target === null && roles.of === "selector") return PAUSE_MS;
    // A namespace that may use the identity can be created, and the role of a source can be repaired.
    if (target === null || target.isBlocked) return this.#skip(state, RETRY_MS);
    try {
      await target.assume();
      this.#ports.metrics.roleProbes.inc({ result: "ok" });
      this.#report(state, target, null);
      return PAUSE_MS;
    } catch (error) {
      if (!(error instanceof UpstreamSTSError)) return this.#skipAfter(state, error);
      if (!target.isRejected(error)) return this.#skip(state, RETRY_MS);
      this.#ports.metrics.roleProbes.inc({ result: "refused" });
      this.#report(state, target, error);
      this.#retry(state, RETRY_MS);
      return PAUSE_MS;
    }
  }

  /** Handles an error that is not an error of STS about a role. Returns the pause until the next probe, in ms. */
  #skipAfter(state: ProbeState, error: unknown): number {
    if (error instanceof ResolverError && error.status === 503) {
      this.#skip(state, 0);
      return UNAVAILABLE_PAUSE_MS;
    }
    // Any other error means that the sidecar itself denied the role, for example because the account of the role is not
    // allowed. The access key of an identity can be repaired.
    return this.#skip(state, state.roles.of === "identity" ? RETRY_MS : null);
  }

  /** Counts the probe, and repeats it after `retryMs`. Returns the pause until the next probe, in ms. */
  #skip(state: ProbeState, retryMs: number | null): number {
    this.#ports.metrics.roleProbes.inc({ result: "skipped" });
    if (retryMs !== null) this.#retry(state, retryMs);
    return PAUSE_MS;
  }

  #retry(state: ProbeState, ms: number): void {
    if (ms === 0) return this.#enqueue(state);
    this.#startTimer(ms, () => this.#enqueue(state));
  }

  /** Queues the role, unless its object has changed or is removed. */
  #enqueue(state: ProbeState): void {
    if (this.#states.get(state.id) !== state) return;
    this.#queue.add(state.id);
    this.#schedule(PAUSE_MS);
  }

  #report(state: ProbeState, target: ProbeTarget, error: UpstreamSTSError | null): void {
    if (state.failing === (error !== null)) return;
    state.failing = error !== null;
    const { roles: { check, of }, name } = state;
    const fields = { check, [of]: name, role_arn: target.roleARN };
    if (error === null) return this.#ports.log.info(fields, `${check}: the sidecar can assume the ${of}'s role again`);
    this.#ports.log.warn(
      { ...fields, sts_code: error.stsCode, reason: error.message, fix: target.fix() },
      `${check}: the sidecar cannot assume the ${of}'s role`,
    );
  }
}
