import { Argument, Command as Commander, CommanderError, Option } from "commander";
import { ResolverError } from "../shared/formats/errors.ts";
import type { Command } from "../shared/core/setting-definition.ts";
import { DEFINITIONS, SETTINGS } from "../shared/core/settings.ts";
import type { Flags } from "../shared/server/read-settings.ts";
import { countOf, withoutCommands } from "../shared/formats/text.ts";
import { VERSION } from "../shared/core/installation.ts";
import { examplesOf } from "./examples.ts";
import { addReader, type CommandContext, pathArgument, settingsOf, settledSettingsOf } from "./command-context.ts";
import { isSplit, optionOf, shorthandsOf } from "./command-options.ts";
import { FEATURES } from "./features.ts";
import { flagGroup, hasHelp, isRare } from "./help.ts";
import { HELP_LAYOUT } from "./help-layout.ts";
import { EXIT, type ExitStatus, type IO, rewriting } from "./io.ts";
import { COMPLETE } from "./plugin.ts";
import { widthOf, wrapLines } from "./output/terminal.ts";

const HELP: ReadonlySet<string> = new Set(["--help", "-h", "help"]);

/** Returns the program, with the flags of each command whose name is in `argv`. `done` receives the exit status. */
export function programOf(argv: readonly string[], io: IO, done: CommandContext["done"] = () => {}): Commander {
  // The suggestion for a misspelled flag must know the rare flags too.
  const listsAll = argv.includes("--all") || !argv.some((word) => HELP.has(word));
  const add: CommandContext["add"] = (parent, command, description) => (
    addCommand(parent, { command, description, argv, listsAll })
  );
  return buildProgram({ io, done, add });
}

/** Runs a command and returns its exit status. `argv` does not include the paths of Node.js and the script. */
export async function runCommandLine(argv: readonly string[], streams: IO): Promise<ExitStatus> {
  const io = {
    ...streams, stdout: rewriting(streams.stdout, withoutCommands), stderr: rewriting(streams.stderr, withoutCommands),
  };
  let status: ExitStatus = EXIT.fine;
  const program = programOf(argv, io, (result) => (status = result));
  try {
    if (argv[0] === COMPLETE) {
      const { runComplete } = await import("./completion/complete.ts");
      return await runComplete(argv.slice(1), program, io);
    }
    await program.parseAsync(withBareValues(argv), { from: "user" });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.usage;
    if (!(error instanceof ResolverError)) throw error;
    for (const line of error.message.split("\n")) io.stderr.write(`ack-role-resolver: ${line}\n`);
    return EXIT.usage;
  }
}

/** The boolean flags that accept a value. */
const BARE: ReadonlyMap<string, string> = new Map(DEFINITIONS.flatMap(([, { flag, type, bare }]) => (
  type === "boolean" && bare !== undefined ? [[flag, `${flag}=${bare}`] as const] : []
)));

/** Adds the values of boolean flags that accept one: commander would read a path after the flag as the value. */
function withBareValues(argv: readonly string[]): string[] {
  return argv.map((word) => BARE.get(word) ?? word);
}

function buildProgram(context: CommandContext): Commander {
  const { io } = context;
  const program = new Commander("ack-role-resolver")
    .description("Resolves, checks and grants the IAM roles that AWS Controllers for Kubernetes (ACK) use.")
    .version(VERSION)
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => widthOf(io.stdout, io.environment),
      getErrHelpWidth: () => widthOf(io.stderr, io.environment),
    })
    .configureHelp(HELP_LAYOUT)
    // So `trust` leaves the flags of `trust check` alone.
    .enablePositionalOptions()
    .showHelpAfterError("(see --help)")
    .addHelpText("after", examplesText(""))
    .exitOverride();
  if (io.isPlugin !== true) addServers(program, context);
  addReaders(program, context);
  addTools(program, context);
  return program;
}

// The module of a command is imported when the command runs, so `lint` does not load a server.

function addServers(program: Commander, { io, done, add }: CommandContext): void {
  program.commandsGroup("Servers:");
  add(program, "local", "run the webhook, the sidecar and an STS emulator locally for a folder of manifests")
    .action(async (flags: Flags) => {
      const { runLocal } = await import("./local/local.ts");
      done(await runLocal(settingsOf("local", flags, io), io));
    });
  add(program, "webhook", "serve the admission webhook").action(async (flags: Flags) => {
    const { limitHeapGrowth } = await import("./small-heap.ts");
    limitHeapGrowth("webhook");
    const { runWebhookCommand } = await import("./webhook.ts");
    done(await runWebhookCommand(settingsOf("webhook", flags, io), io));
  });
  add(program, "sidecar", "serve role credentials on a loopback address").action(async (flags: Flags) => {
    // Limits the heap first, because loading the modules of the sidecar grows the heap.
    const { limitHeapGrowth } = await import("./small-heap.ts");
    limitHeapGrowth("sidecar");
    const { runSidecarCommand } = await import("./sidecar.ts");
    done(await runSidecarCommand(settingsOf("sidecar", flags, io), io));
  });
}

function addReaders(program: Commander, context: CommandContext): void {
  const { io, done, add } = context;
  program.commandsGroup("Checks and reports:");
  const lint = "run the checks of the webhook on manifests or on the objects of a cluster";
  addReader(program, context, ["lint", lint], async () => (await import("./lint.ts")).runLint);
  const resolve = "show the role of each ACK resource and cluster";
  addReader(program, context, ["resolve", resolve], async () => (await import("./resolve.ts")).runResolve);
  add(program, "why", "say why a resource has its role, who reports a problem with it, and what to do")
    .argument("<RESOURCE...>", "TYPE/NAME, such as bucket/logs or buckets.s3.services.k8s.aws/logs")
    .action(async (words: string[], flags: Flags) => {
      const { runWhy } = await import("./why.ts");
      done(await runWhy(words, await settledSettingsOf("why", flags, io), io));
    });
  const audit = "report every problem in a cluster or folder";
  addReader(program, context, ["audit", audit], async () => (await import("./audit.ts")).runAudit);
  addOf("map", program, context);
  add(program, "impact", "show how roles of resources and clusters change if manifests are applied or deleted")
    .addArgument(pathArgument("manifests to apply, or to delete with --delete"))
    .action(async (paths: string[], flags: Flags) => {
      const { runImpact } = await import("./impact.ts");
      done(await runImpact(paths, await settledSettingsOf("impact", flags, io), io));
    });
  add(program, "explain", "explain a check or an error code: why it exists, an example, and the fix")
    .argument("<CODE>", "code, such as IRS-30 or ERR_SELECTOR_CONFLICT")
    .action(async (code: string) => {
      const { runExplain } = await import("./explain.ts");
      done(runExplain(code, io));
    });
  addOf("migrate carm", program, context);
  addOf("trust", program, context);
}

/** Adds a command of a feature, unless the program lacks the feature. */
function addOf(command: Command, program: Commander, context: CommandContext): void {
  for (const { commands } of FEATURES) commands?.[command]?.(program, context);
}

function addTools(program: Commander, { io, done, add }: CommandContext): void {
  program.commandsGroup("Tools:").helpCommand("help [command]", "display help for command");
  const processHelp = "print credentials from a running sidecar, for the setting credential_process in ~/.aws/config";
  add(program, "credential-process", processHelp).action(async (flags: Flags) => {
    const { runCredentialProcess } = await import("./credential-process.ts");
    done(await runCredentialProcess(settingsOf("credential-process", flags, io), io));
  });
  const certs = program.command("certs").description("manage certificates").helpCommand(false);
  add(certs, "certs make", "create the files ca.crt, tls.crt and tls.key").action(async (flags: Flags) => {
    const { runCertsMake } = await import("./certs.ts");
    done(await runCertsMake(settingsOf("certs make", flags, io), io));
  });
  const manageHelp = "maintain the webhook's certificate, its CA and the caBundle in a cluster, until a signal";
  add(certs, "certs manage", manageHelp).action(async (flags: Flags) => {
    const { runCertsManage } = await import("./certs.ts");
    done(await runCertsManage(settingsOf("certs manage", flags, io)));
  });
  const parts = "crds, rbac, policies or webhooks; all for a webhook outside the cluster, with --url and --ca-file";
  add(program, "manifests", "print manifests for users without Helm")
    .addArgument(new Argument("[part]", parts).default("all"))
    .action(async (part: string, flags: Flags) => {
      const { runManifests } = await import("./manifests.ts");
      done(await runManifests(part, settingsOf("manifests", flags, io), io));
    });
  add(program, "completion", "print a script that completes command lines in a shell")
    .argument("<SHELL>", "bash, zsh, fish, powershell, or kubectl for its plugin")
    .action(async (shell: string) => {
      const { runCompletion } = await import("./completion/completion.ts");
      done(runCompletion(shell, io));
    });
  add(program, "version", "print the version of the program and of Node.js").action(async (flags: Flags) => {
    const { runVersion } = await import("./version.ts");
    done(runVersion(settingsOf("version", flags, io), io));
  });
}

interface CommandHelp {
  readonly command: Command;
  readonly description: string;
  readonly argv: readonly string[];
  /** Whether the rare flags are listed too. */
  readonly listsAll: boolean;
}

/** Adds a command, with every flag that the settings table lists for it if the command line names the command. */
function addCommand(parent: Commander, { command, description, argv, listsAll }: CommandHelp): Commander {
  const word = command.split(" ").at(-1) ?? command;
  const created = parent.command(word).description(description);
  if (!argv.includes(word)) return created;
  const own = DEFINITIONS.filter(([name, { commands }]) => commands.includes(command) && hasHelp(name));
  const rare = listsAll ? [] : own.filter(([name]) => isRare(name, command));
  for (const one of own) created.addOption(optionOf(...one, command).hideHelp(rare.includes(one)));
  for (const option of shorthandsOf(command)) created.addOption(option);
  if (own.some(([, definition]) => isSplit(definition))) created.addHelpText("after", () => listsHelp(created));
  const more = rare.length === 0 ? "" : `; --help --all lists ${countOf(rare.length, "more flag")}`;
  created.addHelpOption(new Option("-h, --help", `display help for command${more}`).helpGroup(helpGroupOf(command)));
  return created.addHelpText("after", examplesText(command));
}

/** Returns the heading of `--help`: that of `--log-level`, the last flag of most commands. */
function helpGroupOf(command: Command): string {
  return SETTINGS.logLevel.commands.some((one) => one === command) ? `${flagGroup("logLevel", command)}:` : "Options:";
}

function listsHelp(command: Commander): string {
  const text = "A value with ,... is a comma-separated list, and its flag can be repeated.";
  return ["", ...wrapLines([text], command.configureOutput().getOutHelpWidth?.() ?? Infinity)].join("\n");
}

function examplesText(command: Command | ""): string {
  return ["\nExamples:", ...examplesOf(command).map((line) => `  ${line}`)].join("\n");
}
