import type { RoleGrant } from "../shared/decisions/grants/grant.ts";
import { type EventSubject, resourceSubject, selectorSubject } from "../shared/decisions/problems/problem.ts";
import type { SteadyClock } from "../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../shared/inventory/cluster/api.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { type EventOutcome, EventRecorder } from "../shared/server/events.ts";
import type { Logger } from "../shared/server/logger.ts";
import { affectedResources } from "./affected-resources.ts";
import type { SidecarMetrics } from "./metrics.ts";
import type { UpstreamSTSError } from "./sts-upstream/errors.ts";
import { trustPolicyFix } from "./trust-policy-fix.ts";

export interface RoleEventPorts {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Pick<SidecarMetrics, "events">;
  readonly source: Pick<InventorySource, "inventory">;
  /** The groups of --group. */
  readonly groups: readonly string[];
  /** Returns the ARN of the base identity; null until STS verifies the identity. */
  readonly baseARN: () => string | null;
  /** The unique name of the sidecar. */
  readonly identity: string;
}

/** The minimum time between two searches for the resources of one selector, in ms. */
const SEARCH_MS = 30 * 60_000;
/** The maximum number of selectors whose search time is stored. */
const MAX_SELECTORS = 1_000;

/**
 * Writes Events about roles that STS rejects: on the IAMRoleSelector, and on resources that it selects. So a user of a
 * resource sees why its controller gets no credentials.
 */
export class RoleEvents {
  readonly #ports: RoleEventPorts;
  readonly #events: EventRecorder;
  readonly #stopping = new AbortController();
  /** The steady time of the last search of each selector. */
  readonly #searchedMs = new Map<string, number>();
  #running: Promise<void> = Promise.resolve();
  /** The searches, one after the other. */
  #searching: Promise<void> = Promise.resolve();
  #fault: string | null = null;

  constructor(ports: RoleEventPorts) {
    this.#ports = ports;
    this.#events = new EventRecorder({
      ...ports, controller: "ack-role-resolver.io/sidecar", mayWrite: () => true,
      onOutcome: (outcome, fault) => this.#count(outcome, fault),
    });
  }

  start(): void {
    this.#running = this.#events.run(this.#stopping.signal);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Reports that STS rejected the role of the grant. Never waits and never throws. */
  refused(grant: RoleGrant, error: UpstreamSTSError): void {
    const { source: { inventory }, baseARN, clock } = this.#ports;
    for (const name of grant.selectors) {
      const selector = inventory.selectors.get(name);
      if (selector === undefined) continue;
      const fix = trustPolicyFix(grant, baseARN());
      const note = `The role ${grant.roleARN} of IAMRoleSelector ${name} cannot be assumed: ${sentence(error.message)} `
        + `${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`;
      this.#record(selectorSubject(selector), note);
      if (clock.steady() - (this.#searchedMs.get(name) ?? -Infinity) < SEARCH_MS) continue;
      this.#remember(name);
      this.#searching = this.#searching.then(() => this.#recordResources(name, note)).catch((err: unknown) => (
        this.#ports.log.warn({ err, selector: name }, "resources of a rejected role cannot be searched")
      ));
    }
  }

  async #recordResources(selector: string, note: string): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { source: { inventory }, ...ports } = this.#ports;
    for await (const resource of affectedResources(selector, { ...ports, inventory })) {
      this.#record(resourceSubject(resource), note);
    }
  }

  #record(subject: EventSubject, note: string): void {
    this.#events.record(subject, { type: "Warning", reason: "RoleRefused", action: "AssumeRole", note });
  }

  #remember(selector: string): void {
    const [oldest] = this.#searchedMs.keys();
    if (this.#searchedMs.size >= MAX_SELECTORS && oldest !== undefined) this.#searchedMs.delete(oldest);
    this.#searchedMs.set(selector, this.#ports.clock.steady());
  }

  /** Counts the Event. Logs a fault once, until an Event is written again. */
  #count(outcome: EventOutcome, fault: string | null): void {
    const { metrics, log } = this.#ports;
    metrics.events.inc({ outcome });
    if (outcome === "ok") this.#fault = null;
    if (fault === null || this.#fault !== null) return;
    this.#fault = fault;
    log.warn({ fault }, "Event could not be written; retrying");
  }
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
