import { type InputFault, readManifestFiles, type ReadManifests } from "../shared/inventory/manifest-files.ts";
import type { IO } from "./io.ts";

/** Reads the manifests that a command is given, standard input included. */
export async function readInput(paths: readonly string[], io: IO): Promise<ReadManifests> {
  return await readManifestFiles(paths, { stdin: io.stdin });
}

/** `FILE:LINE: MESSAGE`, a line a fault. */
export function reportFaults(faults: readonly InputFault[], io: IO): void {
  for (const { file, line, message } of faults) io.stderr.write(`${file}${line === null ? "" : `:${line}`}: ${message}\n`);
}
