import { ResolverError } from "../../shared/formats/errors.ts";
import { repeat, type SteadyClock } from "../../shared/core/clock.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { SidecarMetrics } from "../metrics.ts";
import type { ProbedRoles, ProbeTarget } from "./probed-roles.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";

interface AssumeRoleProbePorts {
  readonly source: Pick<InventorySource, "status" | "onChange">;
  /** The roles of each enabled check. */
  readonly probed: readonly ProbedRoles[];
  readonly clock: SteadyClock;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly metrics: Pick<SidecarMetrics, "roleProbes">;
}

/**
 * The mean pause between two steps, in ms; the jitter is ±50%. A step probes one role, or reads all objects again
 * after a change of the inventory. Probing 500 roles takes 25 s, and 10% of the STS rate limit.
 */
const PAUSE_MS = 50;
/** The mean pause while no role is due, in ms. */
const IDLE_PAUSE_MS = 1_000;
/** The minimum time between two reads of all objects, in ms. */
const READ_PAUSE_MS = 1_000;
/** The pause after a probe for which STS was not called or did not respond, in ms. */
const UNAVAILABLE_PAUSE_MS = 30_000;
/** The delay until the next probe of a role that STS rejected, in ms. */
const RETRY_MS = 10 * 60_000;
/**
 * The maximum number of probed objects. Probe sessions and client sessions share a cache. With this
 * maximum, probe sessions fill at most half of the cache.
 */
const LIMIT = 500;

interface ProbeState {
  readonly roles: ProbedRoles;
  /** The name of the object. */
  readonly name: string;
  /** A key that identifies the role and its parameters; null if the object has no usable role. */
  readonly key: string | null;
  failing: boolean;
  /** The time of the next probe, on the steady clock; infinite if the role is not probed again. */
  dueMs: number;
}

/**
 * Runs the checks that assume roles, such as IRS-27: assumes each granted role of their objects in the background, one
 * role at a time. Objects that have the same role and session parameters share one cached session. Logs one line when
 * STS rejects a role, and one line when the role works again. Requests do not wait for probes and do not depend on
 * their results, but find their sessions in the cache. A session that no client uses is not renewed.
 */
export class AssumeRoleProbe {
  readonly #ports: AssumeRoleProbePorts;
  /** By check and name. */
  readonly #states = new Map<string, ProbeState>();
  readonly #stopping = new AbortController();
  #isStale = true;
  /** On the steady clock. */
  #nextReadMs = 0;
  #hasLoggedLimit = false;
  #unsubscribe: () => void = () => {};

  constructor(ports: AssumeRoleProbePorts) {
    this.#ports = ports;
  }

  start(): void {
    const { source, clock, random } = this.#ports;
    this.#unsubscribe = source.onChange(() => void (this.#isStale = true));
    void repeat(clock, this.#stopping.signal, async () => (await this.#step()) * (0.5 + random()));
  }

  close(): void {
    this.#unsubscribe();
    this.#stopping.abort();
  }

  /** Returns the number of objects of the check whose role STS rejected in the last probe. */
  failing(check: string): number {
    return [...this.#states.values()].filter(({ failing, roles }) => failing && roles.check === check).length;
  }

  /** Returns the mean pause until the next step, in ms. */
  async #step(): Promise<number> {
    const nowMs = this.#ports.clock.steady();
    if (this.#isStale && this.#ports.source.status.loaded && nowMs >= this.#nextReadMs) {
      this.#isStale = false;
      this.#nextReadMs = nowMs + READ_PAUSE_MS;
      this.#update();
      return PAUSE_MS;
    }
    const due = [...this.#states.values()].filter(({ dueMs }) => dueMs <= nowMs);
    const [next] = due.toSorted((a, b) => a.dueMs - b.dueMs);
    return next === undefined ? IDLE_PAUSE_MS : await this.#probe(next);
  }

  #update(): void {
    const current = new Map<string, Omit<ProbeState, "failing" | "dueMs">>(this.#ports.probed.flatMap((roles) => (
      Array.from(roles.roles(), ([name, key]) => [`${roles.check} ${name}`, { roles, name, key }] as const)
    )));
    for (const id of this.#states.keys()) if (!current.has(id)) this.#states.delete(id);
    for (const [id, one] of current) this.#updateState(id, one);
  }

  #updateState(id: string, current: Omit<ProbeState, "failing" | "dueMs">): void {
    const state = this.#states.get(id);
    if (state === undefined && this.#states.size >= LIMIT) return this.#logLimit(current.roles);
    if (state !== undefined && state.key === current.key) return;
    const dueMs = current.key === null ? Infinity : this.#ports.clock.steady();
    this.#states.set(id, { ...current, failing: false, dueMs });
  }

  #logLimit({ check }: ProbedRoles): void {
    if (this.#hasLoggedLimit) return;
    this.#hasLoggedLimit = true;
    const message = `${check}: too many roles to probe; the sidecar does not probe the roles beyond the limit`;
    this.#ports.log.warn({ check, limit: LIMIT }, message);
  }

  /** Probes the role. Returns the mean pause until the next step, in ms. */
  async #probe(state: ProbeState): Promise<number> {
    const { roles, name } = state;
    state.dueMs = Infinity;
    const target = roles.target(name);
    if (target === null && !roles.retries) return PAUSE_MS;
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
      state.dueMs = this.#ports.clock.steady() + RETRY_MS;
      return PAUSE_MS;
    }
  }

  /** Handles an error that is not an error of STS about a role. */
  #skipAfter(state: ProbeState, error: unknown): number {
    if (error instanceof ResolverError && error.status === 503) {
      this.#skip(state, 0);
      return UNAVAILABLE_PAUSE_MS;
    }
    // Any other error means that the sidecar itself denied the role, for example because the account of the role is not
    // allowed.
    return this.#skip(state, state.roles.retries ? RETRY_MS : Infinity);
  }

  /** Counts the probe, and repeats it after `retryMs`. Returns the mean pause until the next step. */
  #skip(state: ProbeState, retryMs: number): number {
    this.#ports.metrics.roleProbes.inc({ result: "skipped" });
    state.dueMs = this.#ports.clock.steady() + retryMs;
    return PAUSE_MS;
  }

  #report(state: ProbeState, target: ProbeTarget, error: UpstreamSTSError | null): void {
    if (state.failing === (error !== null)) return;
    state.failing = error !== null;
    const { roles: { check, of }, name } = state;
    const fields = { check, [of]: name, role_arn: target.roleARN };
    if (error === null) return this.#ports.log.info(fields, `${check}: the sidecar can assume the ${of}'s role again`);
    this.#ports.log.warn(
      { ...fields, sts_code: error.stsCode, reason: error.message },
      `${check}: the sidecar cannot assume the ${of}'s role`,
    );
  }
}
