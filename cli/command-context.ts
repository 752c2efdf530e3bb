import { Argument, type Command as Commander } from "commander";
import type { Command } from "../shared/core/setting-definition.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { checkFault } from "../shared/judges.ts";
import { type Flags, readSettings } from "../shared/server/read-settings.ts";
import type { ExitStatus, IO } from "./io.ts";
import { withCluster } from "./plugin.ts";

/** What a command gets from the program. */
export interface CommandContext {
  readonly io: IO;
  /** Sets the exit status. */
  readonly done: (status: ExitStatus) => void;
  readonly add: (parent: Commander, command: Command, description: string) => Commander;
}

export function settingsOf<C extends Command>(command: C, given: Flags, io: IO): SettingsFor<C> {
  return readSettings(command, withCluster(command, given, io), io.environment, checkFault);
}

const SAME_AS_FROM = "same as --from PATH";

/** Adds a command whose arguments are paths, like the values of --from. */
export function addReader<C extends Command>(
  parent: Commander, { io, done, add }: CommandContext, [command, description]: readonly [C, string],
  load: () => Promise<(settings: SettingsFor<C>, io: IO) => Promise<ExitStatus>>,
): void {
  add(parent, command, description).addArgument(pathArgument(SAME_AS_FROM))
    .action(async (paths: string[], flags: Flags) => {
      const run = await load();
      done(await run(settingsOf(command, withPaths(flags, paths), io), io));
    });
}

export function pathArgument(description: string): Argument {
  return new Argument("[PATH...]", description);
}

/** Returns the flags, with the path arguments added to the values of --from. */
function withPaths(flags: Flags, paths: readonly string[]): Flags {
  const from = [flags["from"] ?? [], paths].flat().map(String);
  return from.length === 0 ? flags : { ...flags, from };
}
