import type { KubernetesAPI } from "../../shared/api/api.ts";
import type { SteadyClock } from "../../shared/core/clock.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import type { Problem } from "../../shared/core/problem.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import type { Logger } from "../../shared/server/logger.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { WebhookMetrics } from "../metrics.ts";

/** What only the leader does beside the annotations. */
export interface LeaderTask {
  /** Works until `stopping` aborts. Never rejects. */
  run(stopping: AbortSignal): Promise<void>;
}

export type LeaderFlags = Pick<SettingsFor<"webhook">, "autoControllerIdentity">;

export interface LeaderPorts {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly metrics: WebhookMetrics;
  readonly source: Pick<InventorySource, "inventory">;
  readonly settings: DecisionSettings;
  readonly flags: LeaderFlags;
  /** Whether this replica is the leader. */
  readonly mayWrite: () => boolean;
  readonly report: (problem: Problem) => void;
}

/** Returns a task; null if the settings ask for none. */
export type StartTask = (ports: LeaderPorts) => LeaderTask | null;
