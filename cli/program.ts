import { Argument, Command as Commander, CommanderError } from "commander";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { Command, SettingsFor } from "../shared/decisions/settings.ts";
import { type Flags, readSettings } from "../shared/server/settings.ts";
import { VERSION } from "../shared/server/version.ts";
import { addCommand as add, withPaths } from "./flags.ts";
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
  add(program, "sidecar", "serve role credentials on loopback").action(async (options: Flags) => {
    // Before the modules of the sidecar, whose loading is what makes a heap grow.
    (await import("./small-heap.ts")).keepHeapSmall();
    done(await (await import("./sidecar.ts")).runSidecarCommand(settings("sidecar", options, io), io));
  });
  add(program, "lint", "apply every rule of the webhook to manifests").addArgument(paths("the same as --from PATH"))
    .action(async (named: string[], options: Flags) => done(await (await import("./lint.ts")).runLint(settings("lint", withPaths(options, named), io), io)));
  add(program, "resolve", "tell which role each ACK resource in manifests gets").addArgument(paths("the same as --from PATH"))
    .action(async (named: string[], options: Flags) => done(await (await import("./resolve.ts")).runResolve(settings("resolve", withPaths(options, named), io), io)));
  add(program, "audit", "tell all that is wrong with what a cluster or a folder holds").addArgument(paths("the same as --from PATH"))
    .action(async (named: string[], options: Flags) => done(await (await import("./audit.ts")).runAudit(settings("audit", withPaths(options, named), io), io)));
  add(program, "impact", "tell what would change for ACK resources if manifests were applied or deleted").addArgument(paths("the manifests to apply, or with --delete to delete"))
    .action(async (named: string[], options: Flags) => done(await (await import("./impact.ts")).runImpact(named, settings("impact", options, io), io)));
  const migrate = program.command("migrate").description("move to IAMRoleSelectors");
  add(migrate, "migrate carm", "turn CARM maps and annotations into IAMRoleSelectors, and prove that nothing changes its role").addArgument(paths("the same as --from PATH"))
    .action(async (named: string[], options: Flags) => done(await (await import("./migrate-carm.ts")).runMigrateCARM(settings("migrate carm", withPaths(options, named), io), io)));
  add(program, "credential-process", "print the credentials of a running sidecar, for a profile's credential_process in ~/.aws/config")
    .action(async (options: Flags) => done(await (await import("./credential-process.ts")).runCredentialProcess(settings("credential-process", options, io), io)));
  const certs = program.command("certs").description("make certificates");
  add(certs, "certs make", "write ca.crt, tls.crt and tls.key")
    .action(async (options: Flags) => done(await (await import("./certs.ts")).runCertsMake(settings("certs make", options, io), io)));
  add(program, "manifests", "print the install manifests")
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
