#!/usr/bin/env node
import process from "node:process";
import { EXIT } from "./io.ts";
import { runCommandLine } from "./program.ts";

const { stdin, stdout, stderr, env } = process;
for (const stream of [stdout, stderr]) {
  stream.on("error", ({ code }: NodeJS.ErrnoException) => {
    // A reader that has enough (`| head`) is no fault of ours; of anything else half an answer must not pass for a whole one.
    if (code === "EPIPE") return;
    if (stream === stdout) stderr.write(`ack-role-resolver: standard output cannot be written (${code ?? "unknown"}); make room for it, or write it elsewhere\n`);
    process.exit(EXIT.usage);
  });
}
process.exitCode = await runCommandLine(process.argv.slice(2), { stdin, stdout, stderr, environment: env });
