import { Argument, type Command as Commander } from "commander";
import type { Command } from "../shared/core/setting-definition.ts";
import type { OFFLINE, SettingsFor } from "../shared/core/settings.ts";
import type { OF_SELECTORS } from "../shared/core/trust-settings.ts";
import { errorMessage } from "../shared/formats/errors.ts";
import { printable } from "../shared/formats/text.ts";
import { checkFault } from "../shared/judges.ts";
import { completed, differences, type Given } from "../shared/server/installed-settings.ts";
import { type Flags, readSettings } from "../shared/server/read-settings.ts";
import { openCluster } from "./input/connection.ts";
import { type ExitStatus, type IO, writeLines } from "./io.ts";
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

/** The commands that judge the objects of a cluster, whose webhook has settings of its own. */
type Reader = (typeof OFFLINE | typeof OF_SELECTORS)[number];

/** The commands that do not report what the Deployments of the controllers show. */
const UNREPORTED: ReadonlySet<Command> = new Set(["lint", "resolve", "map", "impact"]);

/** What a command was given, and its settings. */
interface Settled<C extends Reader> {
  readonly given: Given;
  readonly settings: SettingsFor<C>;
}

/**
 * Returns the settings of a command. With --cluster, what the user does not state is as the webhook in the cluster was
 * given it, or else as all ACK controllers run, so that all say the same. Writes which settings these are to stderr.
 */
export async function settledSettingsOf<C extends Reader>(command: C, given: Flags, io: IO): Promise<SettingsFor<C>> {
  const settings = settingsOf(command, given, io);
  const choice = settingsOf<Reader>(command, given, io);
  const stated = { given: { flags: withCluster(command, given, io), environment: io.environment }, settings };
  if (!choice.cluster) return settings;
  const { readInstalledWebhook } = await import("./input/installed-webhook.ts");
  const { api } = await openCluster(choice, io);
  const { given: installed, name, unknown } = await readInstalledWebhook(api);
  if (unknown !== null) writeLines(io.stderr, [unknownNote(unknown)]);
  const byWebhook = installed === null ? stated : settle(command, stated, [`the webhook ${name}`, installed], io);
  if (!UNREPORTED.has(command)) return byWebhook.settings;
  const { readSettledControllers } = await import("./input/settled-controllers.ts");
  const shown = await readSettledControllers(api, choice.ackSystemNamespace);
  return settle(command, byWebhook, ["the Deployments", shown], io).settings;
}

/** Completes the settings of a command by those of a program in the cluster, and writes which these are. */
function settle<C extends Reader>(
  command: C, before: Settled<C>, [source, installed]: readonly [source: string, installed: Given], io: IO,
): Settled<C> {
  const given = completed(command, before.given, installed);
  try {
    const settings = readSettings(command, given.flags, given.environment, checkFault);
    const read = differences(before.settings, settings);
    if (read.length > 0) writeLines(io.stderr, [printable(`Settings from ${source}: ${read.join(" ")}`)]);
    return { given, settings };
  } catch (error) {
    // The webhook can have another version than this program.
    writeLines(io.stderr, [unknownNote(withFlags(errorMessage(error)))]);
    return before;
  }
}

/** Names the flags of the webhook instead of the variables by which a command gets their values. */
function withFlags(text: string): string {
  return text.replaceAll(/\bACK_ROLE_RESOLVER_([A-Z_]+)/g, (_, name: string) => (
    `--${name.toLowerCase().replaceAll("_", "-")}`
  ));
}

function unknownNote(reason: string): string {
  return printable(`note: the settings of the webhook are unknown: ${reason}; state them with flags`);
}

const SAME_AS_FROM = "same as --from PATH";

/** Adds a command whose arguments are paths, like the values of --from. */
export function addReader<C extends Reader>(
  parent: Commander, { io, done, add }: CommandContext, [command, description]: readonly [C, string],
  load: () => Promise<(settings: SettingsFor<C>, io: IO) => Promise<ExitStatus>>,
): void {
  add(parent, command, description).addArgument(pathArgument(SAME_AS_FROM))
    .action(async (paths: string[], flags: Flags) => {
      const run = await load();
      done(await run(await settledSettingsOf(command, withPaths(flags, paths), io), io));
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
