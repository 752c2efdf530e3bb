import { text } from "node:stream/consumers";
import { readManifestPaths } from "../shared/inventory/manifest-files.ts";
import { formatInputFault, type InputFault, type ManifestReading } from "../shared/inventory/manifest-reader.ts";
import type { IO } from "./io.ts";

/** Reads the manifests that a command is given, standard input included. */
export async function readInput(paths: readonly string[], io: IO): Promise<ManifestReading> {
  return await readManifestPaths(paths, () => text(io.stdin));
}

export function reportFaults(faults: readonly InputFault[], io: IO): void {
  for (const fault of faults) io.stderr.write(`${formatInputFault(fault)}\n`);
}
