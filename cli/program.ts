import { Argument, Command as Commander, CommanderError, Option } from "commander";
import { ResolverError } from "../shared/decisions/errors.ts";
import {
  choicesOf, type Command, defaultOf, type Definition, DEFINITIONS, type SettingsFor,
} from "../shared/decisions/settings.ts";
import { type Flags, readSettings } from "../shared/server/settings.ts";
import { VERSION } from "../shared/server/version.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";

/** Adds a command with every flag that the settings have for it. */
export function addCommand(parent: Commander, command: Command, description: string): Commander {
  const created = parent.command(command.split(" ").at(-1) ?? command).description(description);
  for (const [, definition] of DEFINITIONS) {
    if (definition.commands.includes(command)) created.addOption(optionOf(definition, command));
  }
  return created;
}

/** Values stay text here: the schema of the settings judges flags and environment alike. */
function optionOf(definition: Definition, command: Command): Option {
  const { flag, short, type } = definition;
  const help = definition.helpFor?.[command] ?? definition.help;
  const choices = choicesOf(definition, command);
  const value = type === "boolean" ? "" : ` <${definition.value ?? choices?.join("|") ?? "VALUE"}>`;
  const option = new Option(`${short === undefined ? "" : `${short}, `}${flag}${value}`, help + hint(definition, command));
  return type === "strings" ? option.argParser((item: string, before: string[] | undefined) => [...(before ?? []), item]) : option;
}

function hint(definition: Definition, command: Command): string {
  const standard = defaultOf(definition, command);
  const shown = definition.type === "duration" && typeof standard === "number" ? `${standard / 1000}s` : String(standard);
  const remarks = [
    definition.type === "strings" ? "repeatable" : "",
    standard === null || standard === false || shown === "" ? "" : `default: ${shown}`,
  ].filter((remark) => remark !== "");
  return remarks.length === 0 ? "" : ` (${remarks.join("; ")})`;
}

/** Plain arguments that mean the same as a flag. */
export function withPaths(options: Flags, named: readonly string[]): Flags {
  const from = [options["from"] ?? [], named].flat().map(String);
  return from.length === 0 ? options : { ...options, from };
}

/** Runs the command line `argv` (without node and script) and gives the exit status. Servers answer once they have stopped. */
export async function runCommandLine(argv: readonly string[], io: IO): Promise<ExitStatus> {
  let status: ExitStatus = EXIT.fine;
  const program = buildProgram(io, (result) => (status = result));
  try {
    await program.parseAsync([...argv], { from: "user" });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.usage;
    if (!(error instanceof ResolverError)) throw error;
    for (const line of error.message.split("\n")) io.stderr.write(`ack-role-resolver: ${line}\n`);
    return EXIT.usage;
  }
}

function buildProgram(io: IO, done: (status: ExitStatus) => void): Commander {
  const program = new Commander("ack-role-resolver")
    .description("Decides, checks and grants the IAM roles that AWS Controllers for Kubernetes manage resources with.")
    .version(VERSION)
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
    .showHelpAfterError("(--help shows what there is)")
    .exitOverride();
  // Each subcommand is imported on demand, so that `lint` never loads a server.
  addCommand(program, "local", "run webhook, sidecar and an STS emulator on loopback, on a folder of manifests")
    .action(async (options: Flags) => done(await (await import("./local/local.ts")).runLocal(settings("local", options, io), io)));
  addCommand(program, "webhook", "serve the admission webhook")
    .action(async (options: Flags) => done(await (await import("./webhook.ts")).runWebhookCommand(settings("webhook", options, io), io)));
  addCommand(program, "sidecar", "serve role credentials on loopback").action(async (options: Flags) => {
    // Before the modules of the sidecar, whose loading is what makes a heap grow.
    (await import("./small-heap.ts")).keepHeapSmall();
    done(await (await import("./sidecar.ts")).runSidecarCommand(settings("sidecar", options, io), io));
  });
  addCommand(program, "lint", "apply every rule of the webhook to manifests").addArgument(paths("the same as --from PATH"))
    .action(async (named: string[], options: Flags) => done(await (await import("./lint.ts")).runLint(settings("lint", withPaths(options, named), io), io)));
  addCommand(program, "resolve", "tell which role each ACK resource in manifests gets").addArgument(paths("the same as --from PATH"))
    .action(async (named: string[], options: Flags) => done(await (await import("./resolve.ts")).runResolve(settings("resolve", withPaths(options, named), io), io)));
  addCommand(program, "audit", "tell all that is wrong with what a cluster or a folder holds").addArgument(paths("the same as --from PATH"))
    .action(async (named: string[], options: Flags) => done(await (await import("./audit.ts")).runAudit(settings("audit", withPaths(options, named), io), io)));
  addCommand(program, "impact", "tell what would change for ACK resources if manifests were applied or deleted").addArgument(paths("the manifests to apply, or with --delete to delete"))
    .action(async (named: string[], options: Flags) => done(await (await import("./impact.ts")).runImpact(named, settings("impact", options, io), io)));
  const migrate = program.command("migrate").description("move to IAMRoleSelectors");
  addCommand(migrate, "migrate carm", "turn CARM maps and annotations into IAMRoleSelectors, and prove that nothing changes its role").addArgument(paths("the same as --from PATH"))
    .action(async (named: string[], options: Flags) => done(await (await import("./migrate-carm.ts")).runMigrateCARM(settings("migrate carm", withPaths(options, named), io), io)));
  addCommand(program, "credential-process", "print the credentials of a running sidecar, for a profile's credential_process in ~/.aws/config")
    .action(async (options: Flags) => done(await (await import("./credential-process.ts")).runCredentialProcess(settings("credential-process", options, io), io)));
  const certs = program.command("certs").description("make certificates");
  addCommand(certs, "certs make", "write ca.crt, tls.crt and tls.key")
    .action(async (options: Flags) => done(await (await import("./certs.ts")).runCertsMake(settings("certs make", options, io), io)));
  addCommand(program, "manifests", "print the install manifests")
    .addArgument(new Argument("[part]", "which of them").choices(["crds", "rbac", "webhooks", "all"]).default("all"))
    .action(async (part: string, options: Flags) => done(await (await import("./manifests.ts")).runManifests(part, settings("manifests", options, io), io)));
  return program;
}

function paths(description: string): Argument {
  return new Argument("[PATH...]", description);
}

function settings<C extends Command>(command: C, options: Flags, io: IO): SettingsFor<C> {
  return readSettings(command, options, io.environment);
}
