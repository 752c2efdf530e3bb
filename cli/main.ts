#!/usr/bin/env node
import process from "node:process";
import { runCommandLine } from "./program.ts";

// A reader that has enough (`| head`) is no fault of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});
const { stdin, stdout, stderr, env } = process;
process.exitCode = await runCommandLine(process.argv.slice(2), { stdin, stdout, stderr, environment: env });
