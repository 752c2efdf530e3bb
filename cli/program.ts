import { Argument, Command as Commander, CommanderError, Option } from "commander";
import { ResolverError } from "../shared/decisions/errors.ts";
import { type Command, defaultOf, type Definition, DEFINITIONS, type SettingsFor } from "../shared/decisions/settings.ts";
import { type Flags, readSettings } from "../shared/server/settings.ts";
import { VERSION } from "../shared/server/version.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";

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
  add(program, "local", "run webhook, sidecar and an STS emulator on loopback, on a folder of manifests")
    .action(async (options: Flags) => done(await (await import("./local/local.ts")).runLocal(settings("local", options, io), io)));
  add(program, "webhook", "serve the admission webhook")
    .action(async (options: Flags) => done(await (await import("./webhook.ts")).runWebhookCommand(settings("webhook", options, io), io)));
  add(program, "sidecar", "serve role credentials on loopback")
    .action(async (options: Flags) => done(await (await import("./sidecar.ts")).runSidecarCommand(settings("sidecar", options, io), io)));
  add(program, "lint", "apply every rule of the webhook to manifests").addArgument(paths())
    .action(async (named: string[], options: Flags) => done(await (await import("./lint.ts")).runLint(settings("lint", withPaths(options, named), io), io)));
  add(program, "resolve", "tell which role each ACK resource in manifests gets").addArgument(paths())
    .action(async (named: string[], options: Flags) => done(await (await import("./resolve.ts")).runResolve(settings("resolve", withPaths(options, named), io), io)));
  const certs = program.command("certs").description("make certificates");
  add(certs, "certs make", "write ca.crt, tls.crt and tls.key")
    .action(async (options: Flags) => done(await (await import("./certs.ts")).runCertsMake(settings("certs make", options, io), io)));
  add(program, "manifests", "print the install manifests")
    .addArgument(new Argument("[part]", "which of them").choices(["crds", "rbac", "webhooks", "all"]).default("all"))
    .action(async (part: string, options: Flags) => done(await (await import("./manifests.ts")).runManifests(part, settings("manifests", options, io), io)));
  return program;
}

function add(parent: Commander, command: Command, description: string): Commander {
  const created = parent.command(command.split(" ").at(-1) ?? command).description(description);
  for (const [, definition] of DEFINITIONS) {
    if (definition.commands.includes(command)) created.addOption(optionOf(definition, command));
  }
  return created;
}

/** Values stay text here: the schema of the settings judges flags and environment alike. */
function optionOf(definition: Definition, command: Command): Option {
  const { flag, short, type, help } = definition;
  const value = type === "boolean" ? "" : ` <${definition.value ?? definition.choices?.join("|") ?? "VALUE"}>`;
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

function paths(): Argument {
  return new Argument("[PATH...]", "the same as --from PATH");
}

function withPaths(options: Flags, named: readonly string[]): Flags {
  const from = [options["from"] ?? [], named].flat().map(String);
  return from.length === 0 ? options : { ...options, from };
}

function settings<C extends Command>(command: C, options: Flags, io: IO): SettingsFor<C> {
  return readSettings(command, options, io.environment);
}
