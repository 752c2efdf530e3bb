import { clusterProblems } from "../../shared/checks/problems.ts";
import type { Problem } from "../../shared/checks/problem.ts";
import type { SteadyClock } from "../../shared/clock.ts";
import type { KubernetesAPI } from "../../shared/cluster/api.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import { EventRecorder } from "../../shared/server/events.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { TurnQueue } from "../../shared/server/turn-queue.ts";
import { EVENT_CONTROLLER, type WebhookMetrics } from "../metrics.ts";
import { runInBackground } from "./refresher.ts";

interface ProblemReporterOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Pick<WebhookMetrics, "events">;
  readonly source: InventorySource;
  readonly extraGroups: readonly string[];
  readonly identity: string;
  readonly turns: TurnQueue;
  /** Whether this replica is the leader. */
  readonly mayWrite: () => boolean;
}

/** The time between two scans without a change of a selector, in ms. */
const INTERVAL_MS = 60_000;
/** The minimum time between two scans as a multiple of the duration of a scan. */
const PAUSE = 4;

/** Writes Events about problems of ACK resources, IAMRoleSelectors and CustomResourceDefinitions. */
export class ProblemReporter {
  readonly #options: ProblemReporterOptions;
  readonly #events: EventRecorder;
  #last: { readonly revision: number; readonly endMs: number; readonly durationMs: number } | null = null;

  constructor(options: ProblemReporterOptions) {
    this.#options = options;
    this.#events = new EventRecorder({ ...options, controller: EVENT_CONTROLLER });
  }

  async run(stopping: AbortSignal): Promise<void> {
    await this.#events.run(stopping);
  }

  report({ subject, reason, note }: Problem): void {
    this.#events.record(subject, { type: "Warning", reason, action: "Resolve", note });
  }

  /** Forgets all Events when another replica may lead. */
  reset(): void {
    this.#last = null;
    this.#events.clear();
  }

  /** Whether a selector has changed, or the last scan was long ago. */
  get isDue(): boolean {
    const { clock, source: { inventory } } = this.#options;
    if (this.#last === null) return true;
    const { revision, endMs, durationMs } = this.#last;
    const isChanged = revision !== inventory.selectors.revision;
    return clock.steady() - endMs >= (isChanged ? durationMs * PAUSE : INTERVAL_MS);
  }

  /** Reports the problems of all selectors and CustomResourceDefinitions. Resources are reported by their scan. */
  async scan(): Promise<void> {
    const { clock, turns, source: { inventory }, extraGroups } = this.#options;
    const startMs = clock.steady();
    const { revision } = inventory.selectors;
    const problems = clusterProblems(inventory, extraGroups, (problem) => this.report(problem));
    await runInBackground(problems, { clock, turns });
    const endMs = clock.steady();
    this.#last = { revision, endMs, durationMs: endMs - startMs };
  }
}
