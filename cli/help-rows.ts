import { type Command, COMMANDS } from "../shared/core/setting-definition.ts";

/** A heading in the help, under which flags are listed. */
export type FlagGroup =
  | "Input" | "Decisions" | "Checks" | "Output" | "Resource" | "Webhook" | "Server" | "Grants" | "Credentials"
  | "Certificates" | "Installation" | "Question";

/** The heading and the help of a flag. A help text is a phrase without a full stop at its end. */
export interface FlagHelp {
  readonly group: FlagGroup;
  readonly general: string;
  /** The help for commands for which the flag has a different meaning. */
  readonly commands: Readonly<Partial<Record<Command, string>>>;
  /** The headings for commands that list the flag elsewhere. */
  readonly groups: Readonly<Partial<Record<Command, FlagGroup>>>;
  /** The commands of which only `--help --all` lists the flag, so that each help fits two screens. */
  readonly rareIn?: readonly Command[];
}

export function help(
  group: FlagGroup, general: string, commands: FlagHelp["commands"] = {}, groups: FlagHelp["groups"] = {},
): FlagHelp {
  return { group, general, commands, groups };
}

export function rareIn(commands: readonly Command[], ...row: Parameters<typeof help>): FlagHelp {
  return { ...help(...row), rareIn: commands };
}

export function rare(...row: Parameters<typeof help>): FlagHelp {
  return rareIn(COMMANDS, ...row);
}
