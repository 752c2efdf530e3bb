import { text } from "node:stream/consumers";
import { countOf, printable } from "../../shared/decisions/kubernetes/text.ts";
import type { SettingsFor } from "../../shared/decisions/settings.ts";
import { type ManifestInput, readManifestPaths } from "../../shared/inventory/manifests/files.ts";
import { STDIN } from "../../shared/inventory/manifests/listing.ts";
import { formatInputFault, type ManifestResult } from "../../shared/inventory/manifests/reader.ts";
import { countSkipped, type SkipCounts, skipName, skipText } from "../../shared/inventory/manifests/skip.ts";
import { type IO, writeLines } from "../io.ts";
import { showElapsed } from "../output/progress.ts";

export type InputSettings = Pick<SettingsFor<"lint">, "ignore" | "skipUnreadable" | "allowEmpty" | "logLevel">;

/** The objects and faults of the input, and the number of skipped files by reason. */
interface Input extends ManifestResult {
  readonly skippedFiles: SkipCounts;
}

/**
 * Reads manifests from files, folders and standard input. Reports skipped files to stderr. `stdinCommand` is the
 * command, such as `lint -`, that reads the same manifests from standard input.
 */
export async function readInput(
  paths: readonly string[], settings: InputSettings, io: IO, stdinCommand: string,
): Promise<Input> {
  const { ignore, skipUnreadable } = settings;
  const reading = readManifestPaths(paths, { ignore, skipUnreadable, stdin: () => text(io.stdin) });
  // A progress line would overwrite what a user types as standard input.
  const input = paths.includes(STDIN) ? await reading : await showElapsed("reading manifests", io, reading);
  writeLines(io.stderr, skippedLines(input, settings.logLevel === "debug", stdinCommand));
  const { manifests, faults } = input;
  const isEmpty = manifests.length === 0 && faults.length === 0 && !settings.allowEmpty;
  const empty = { file: paths.join(", "), line: null, message: EMPTY };
  return { manifests, faults: isEmpty ? [empty] : faults, skippedFiles: countSkipped(input.skipped) };
}

const EMPTY = "no Kubernetes object found; pass other files or folders, or pass --allow-empty if this is expected";

const HELM_TEMPLATE = "helm template . | ack-role-resolver";

function skippedLines({ skipped, skippedFaults }: ManifestInput, isListed: boolean, stdinCommand: string): string[] {
  if (skipped.length === 0) return [];
  const counts = countSkipped(skipped);
  const hints = [
    ...(isListed ? [] : ["--log-level debug lists them"]),
    ...(counts["helm-template"] === undefined ? [] : [`to read a chart: ${HELM_TEMPLATE} ${stdinCommand}`]),
  ];
  const unreadable = countOf(counts.unreadable ?? 0, "file");
  return [
    ...(isListed ? skipped.map(({ path, reason }) => printable(`skipped ${path}: ${skipName(reason)}`)) : []),
    ...skippedFaults.map((fault) => `warning: ${formatInputFault(fault)}`),
    ...(skippedFaults.length === 0 ? [] : [`warning: ${unreadable} skipped as unreadable; the result may be wrong`]),
    `skipped ${skipText(counts)}${hints.length === 0 ? "" : ` (${hints.join("; ")})`}`,
  ];
}
