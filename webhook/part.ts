import type { SteadyClock } from "../shared/core/clock.ts";
import type { DecisionSettings } from "../shared/core/context.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { TurnQueue } from "../shared/sources/slices.ts";
import type { InventorySource } from "../shared/sources/source.ts";

/** What a part reads of the webhook. */
export interface PartPorts {
  readonly source: Pick<InventorySource, "inventory" | "status" | "onChange">;
  readonly settings: DecisionSettings;
  readonly clock: SteadyClock;
  readonly turns: TurnQueue;
  readonly log: Logger;
}

/**
 * Starts what a feature runs beside the reviews, if the settings ask for it. Returns a function that stops it. main.ts
 * lists the parts.
 */
export type StartPart = (
  settings: Pick<SettingsFor<"webhook">, "ui">, ports: PartPorts,
) => Promise<() => Promise<void>>;
