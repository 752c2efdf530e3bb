import { basename } from "node:path";
import process from "node:process";
import { EXIT } from "./io.ts";
import { COMPLETE, started } from "./plugin.ts";
import { runCommandLine } from "./program.ts";

const { stdin, stdout, stderr, env, argv } = process;
for (const stream of [stdout, stderr]) {
  stream.on("error", ({ code }: NodeJS.ErrnoException) => {
    // EPIPE is not a fault: the reader, such as `head`, has closed the pipe.
    if (code === "EPIPE") return;
    if (stream === stdout) {
      const fault = `cannot write to standard output (${code ?? "unknown error"})`;
      stderr.write(`ack-role-resolver: ${fault}; free disk space or redirect the output\n`);
    }
    process.exit(EXIT.usage);
  });
}
// The exit status if the command waits for an event that can no longer happen.
process.exitCode = EXIT.usage;
const io = { stdin, stdout, stderr, environment: env };
const start = started(basename(argv[1] ?? ""), { argv: argv.slice(2), io });
process.exitCode = await runCommandLine(start.argv, start.io);
// A shell does not wait for a cluster that is too slow.
if (start.argv[0] === COMPLETE) stdout.write("", () => process.exit());
