import type { Runtime } from "./checks/check.ts";

/** What every decision takes beside the inventory. Read once, frozen. */
export interface DecisionSettings {
  readonly mode: "selectors";
  readonly runtime: Runtime;
  /** The controllers' region, or null when not said. */
  readonly region: string | null;
  readonly controllerAccount: string | null;
  readonly controllerRole: string | null;
  readonly allowedAccounts: readonly string[];
  readonly checkSeverities: ReadonlyMap<string, "deny" | "warn" | "off">;
  readonly waiverUsers: readonly string[];
  readonly waiverGroups: readonly string[];
}
