import process from "node:process";
import { PRODUCT, VERSION } from "../shared/core/installation.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "./io.ts";

/** Prints what a report of a problem should state: the version of the program, and of the Node.js that runs it. */
export function runVersion({ output }: SettingsFor<"version">, io: IO): ExitStatus {
  const { node } = process.versions;
  if (output === "json") writeJSON(io, { version: VERSION, node });
  else writeLines(io.stdout, [`${PRODUCT} ${VERSION}`, `Node.js ${node}`]);
  return EXIT.fine;
}
