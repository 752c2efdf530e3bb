import { type Command, COMMANDS } from "../shared/core/setting-definition.ts";
import { PRODUCT } from "../shared/core/installation.ts";
import { SETTINGS } from "../shared/core/settings.ts";
import { environmentName, type Flags } from "../shared/server/read-settings.ts";
import { type IO, rewriting, type TextStream } from "./io.ts";

/** The names of the files with which kubectl starts a plugin, and asks it for completions. */
export const PLUGIN_FILE = "kubectl-ack_role";
export const COMPLETION_FILE = "kubectl_complete-ack_role";

/** How a user of the plugin starts it. */
const PLUGIN_COMMAND = "kubectl ack-role";

/** The hidden command that prints completions. */
export const COMPLETE = "__complete";

/** The commands that the plugin does not have: kubectl starts no servers. */
export const SERVERS: readonly Command[] = ["local", "webhook", "sidecar"];

const OTHERS = COMMANDS.filter((command) => !SERVERS.includes(command)).map((command) => command.split(" ", 1)[0]);
/** Matches the program where a text tells the user to run it, and the start of an error message. */
const PROGRAM = new RegExp(`\\b${PRODUCT}(?=(?:: | (?:${OTHERS.join("|")}|help)(?![\\w/-])| \\[options\\]))`, "g");

interface Start {
  readonly argv: readonly string[];
  readonly io: IO;
}

/** Returns the arguments and the streams of the program when a file of this name starts it. */
export function started(file: string, { argv, io }: Start): Start {
  const name = file.replace(/\.(js|exe)$/, "");
  if (name !== PLUGIN_FILE && name !== COMPLETION_FILE) return { argv, io };
  const plugin = { ...io, stdout: renaming(io.stdout), stderr: renaming(io.stderr), isPlugin: true };
  return { argv: name === PLUGIN_FILE ? argv : [COMPLETE, ...argv], io: plugin };
}

/** Returns the stream, with the name of the plugin in the texts that it writes. A text must not split the name. */
function renaming(stream: TextStream): TextStream {
  return rewriting(stream, (text) => text.replaceAll(PROGRAM, PLUGIN_COMMAND));
}

/**
 * Returns the flags of a command. Those of the plugin read the cluster of the context, unless files are given, or flags
 * ask what needs no input: `trust policy --group`.
 */
export function withCluster(command: Command, flags: Flags, { isPlugin, environment }: IO): Flags {
  const asksOfGroup = command === "trust policy" && flags["group"] !== undefined;
  const reads = !asksOfGroup && SETTINGS.cluster.commands.some((one) => one === command);
  const isSet = ["from", "cluster"].some((name) => flags[name] !== undefined)
    || [SETTINGS.from, SETTINGS.cluster].some(({ flag }) => environment[environmentName(flag)] !== undefined);
  return isPlugin === true && reads && !isSet ? { ...flags, cluster: true } : flags;
}
