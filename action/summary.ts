import { code, fitting, row } from "../cli/output/markdown.ts";
import { countOf } from "../shared/formats/text.ts";
import { pathOf, type SARIFLog, type SARIFResult } from "./annotations.ts";

/** The bytes of the table. GitHub limits a summary to 1 MiB. */
const MAX_BYTES = 500_000;
const MAX_TEXT = 1_000;

/**
 * Returns the findings as a summary of the job in Markdown. Each text from the files is a code span, in which GitHub
 * reads neither HTML, links nor mentions.
 */
export function summary({ runs }: SARIFLog): string {
  const results = runs.flatMap((run) => run.results);
  const errors = runs.flatMap(({ invocations }) => invocations.flatMap((one) => one.toolExecutionNotifications));
  const open = results.filter(({ suppressions }) => suppressions.length === 0);
  const denied = open.filter(({ level }) => level === "error").length;
  const counts = [
    `${denied} denied`, `${open.length - denied} warned`, `${results.length - open.length} waived`,
    ...(errors.length === 0 ? [] : [`${countOf(errors.length, "input error")}, so the result is incomplete`]),
  ];
  const rows = [
    ...errors.map(({ message }) => row(["error", "", "", code(message.text, MAX_TEXT)])),
    ...open.toSorted((a, b) => Number(b.level === "error") - Number(a.level === "error")).map(rowOf),
  ];
  const header = [row(["", "check", "place", "finding"]), row(["---", "---", "---", "---"])];
  const table = rows.length === 0 ? [] : ["", ...header, ...fitting(rows, MAX_BYTES, "more finding")];
  return [`**IAM roles: ${counts.join(", ")}**`, ...table, ""].join("\n");
}

function rowOf({ ruleId, level, message, locations }: SARIFResult): string {
  const place = locations[0]?.physicalLocation;
  const file = place === undefined ? "" : pathOf(place.artifactLocation.uri);
  const line = place?.region === undefined ? "" : `:${place.region.startLine}`;
  return row([level === "error" ? "**deny**" : "warn", ruleId, code(file + line), code(message.text, MAX_TEXT)]);
}
