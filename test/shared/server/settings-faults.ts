import { checkFault } from "../../../shared/judges.ts";
import type { Command } from "../../../shared/core/setting-definition.ts";
import { type Environment, type Flags, readSettings } from "../../../shared/server/read-settings.ts";

/** Returns each fault of the settings of a command; [] if they are valid. */
export function faultsOf(command: Command, flags: Flags, environment: Environment = {}): readonly string[] {
  try {
    readSettings(command, flags, environment, checkFault);
    return [];
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_CONFIG_INVALID") throw error;
    return error.message.split("\n");
  }
}
