import { fileURLToPath } from "node:url";
import { withoutCommands } from "../shared/formats/text.ts";

/** The parts of the SARIF log of `lint -o sarif` that annotations show. */
export interface SARIFLog {
  readonly runs: readonly {
    readonly invocations: readonly { readonly toolExecutionNotifications: readonly SARIFNotification[] }[];
    readonly results: readonly SARIFResult[];
  }[];
}
interface SARIFNotification {
  readonly message: { readonly text: string };
}
export interface SARIFResult {
  readonly ruleId: string;
  readonly level: string;
  readonly message: { readonly text: string };
  readonly locations: readonly SARIFLocation[];
  readonly suppressions: readonly object[];
}
interface SARIFLocation {
  readonly physicalLocation?: {
    readonly artifactLocation: { readonly uri: string };
    readonly region?: { readonly startLine: number };
  };
}

/**
 * Returns a workflow command for each input error and each finding, except waived findings. GitHub shows the commands
 * as annotations of the files: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
 */
export function annotations({ runs }: SARIFLog): readonly string[] {
  return runs.flatMap(({ invocations, results }) => [
    ...invocations.flatMap((one) => one.toolExecutionNotifications).map(({ message }) => command("error", {}, message)),
    ...results.filter(({ suppressions }) => suppressions.length === 0).map(annotation),
  ]);
}

function annotation({ ruleId, level, message, locations }: SARIFResult): string {
  const place = locations[0]?.physicalLocation;
  return command(level === "error" ? "error" : "warning", {
    file: place && pathOf(place.artifactLocation.uri),
    line: place?.region?.startLine,
    title: ruleId,
  }, message);
}

/** Returns the path of a file in the log. */
export function pathOf(uri: string): string {
  return uri.startsWith("file:") ? fileURLToPath(uri) : decodeURIComponent(uri);
}

function command(
  name: string, properties: Readonly<Record<string, string | number | undefined>>, { text }: { readonly text: string },
): string {
  const given = Object.entries(properties).filter(([, value]) => value !== undefined);
  const list = given.map(([key, value]) => `${key}=${escapeProperty(String(value))}`).join(",");
  return `::${name}${list === "" ? "" : ` ${list}`}::${escapeText(text)}`;
}

/**
 * Escapes other commands, and line breaks, because a line break would end the command, and the next line could contain
 * another one.
 */
function escapeText(text: string): string {
  return withoutCommands(text).replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeText(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
