import type { ObservedDenial, ObservedDenials } from "../../shared/server/observed-denials.ts";
import { countOf, printable } from "../../shared/formats/text.ts";
import { shellWord } from "../../shared/formats/shell.ts";
import type { Observation } from "../input/observation.ts";
import { formatTable, type Paint } from "./terminal.ts";

/** Returns the number of admissions that `enforce` would have denied; 0 if it is unknown. */
export function countObserved(observed: Pick<ObservedDenials, "denials" | "omitted"> | null): number {
  if (observed === null) return 0;
  const { denials, omitted } = observed;
  return [...denials, ...omitted.values()].reduce((sum, { count }) => sum + count, 0);
}

/**
 * Returns what the profile `enforce` would have denied, by whom and why, and whether it is safe. `isFine` is whether
 * the audit has no finding that denies.
 */
export function observationLines(
  observation: Observation, isFine: boolean, paint: Paint,
): readonly string[] {
  const { observed, unknown, unnamed } = observation;
  const warned = unnamed.length === 0 ? [] : [unnamedText(observation)];
  if (observed === null) {
    const why = unknown ?? "the webhook has written nothing yet";
    return ["", paint("bold", "What the profile enforce would have denied"), printable(`unknown: ${why}`), ...warned];
  }
  const { sinceMs, untilMs } = observed;
  if (countObserved(observed) > 0) return ["", ...denialLines(observed, paint), UNSAFE, ...warned];
  const period = `from ${timeText(sinceMs)} to ${timeText(untilMs)}`;
  const nothing = `The profile enforce would have denied no admission ${period}.`;
  if (!isFine) return ["", nothing, STORED, ...warned];
  if (warned.length > 0) return ["", nothing, ...warned];
  const verdict = untilMs - sinceMs < DAY_MS ? "Ask again after a day with the usual changes. Then" : "It is safe";
  return ["", nothing, `${verdict}: ${changeText(observation, "profile=enforce", "--profile=enforce")}`];
}

const DAY_MS = 24 * 60 * 60_000;
/** The number of denials that the text report lists. */
const MAX_LISTED = 20;
const STORED = "The stored objects with findings that deny could not be created again. Correct them first.";
const UNSAFE = "Correct these first, or only warn: settings.check: [\"CODE=warn\"]. What does not happen again "
  + "is forgotten after 7 days.";

function denialLines({ sinceMs, denials, omitted }: ObservedDenials, paint: Paint): readonly string[] {
  const total = countObserved({ denials, omitted });
  const title = `The profile enforce would have denied ${countOf(total, "admission")} since ${timeText(sinceMs)}`;
  const listed = denials.slice(0, MAX_LISTED);
  const rows = [["COUNT", "LAST", "CODE", "CHANGE", "USER"], ...listed.map(cellsOf)];
  const [header = "", ...lines] = formatTable(rows, { alignment: ["right"] });
  const reasons = lines.flatMap((line, i) => [line, `    ${printable(listed[i]?.message ?? "")}`]);
  return [paint("bold", title), paint("bold", header), ...reasons, ...moreLines(denials.slice(MAX_LISTED), omitted)];
}

function cellsOf({ count, lastMs, code, operation, kind, namespace, name, user }: ObservedDenial): readonly string[] {
  const place = namespace === "" ? name : `${namespace}/${name}`;
  return [String(count), timeText(lastMs), code, `${operation} ${kind} ${place}`, user];
}

/** Returns a line with the numbers by code that are not listed. */
function moreLines(others: readonly ObservedDenial[], omitted: ObservedDenials["omitted"]): readonly string[] {
  const byCode = new Map(Array.from(omitted, ([code, { count }]) => [code, count]));
  for (const { code, count } of others) byCode.set(code, (byCode.get(code) ?? 0) + count);
  return byCode.size === 0 ? [] : [printable(`and more: ${Array.from(byCode, (one) => one.join(" ")).join(", ")}`)];
}

function unnamedText(observation: Observation): string {
  const { unnamed, users } = observation;
  const all = [...users, ...unnamed].map(printable);
  const flags = all.map((user) => shellWord(`--controller-users=${user}`)).join(" ");
  const change = changeText(observation, `settings.controllerUsers={${all.join(",")}}`, flags);
  return "The webhook does not know the controllers of these service accounts, so it can deny their writes: "
    + `${unnamed.join(", ")}. Name all controllers first: ${change}`;
}

/** Returns how to change a setting of the webhook: with Helm, if it installed the webhook. */
function changeText({ namespace, release }: Observation, value: string, flags: string): string {
  return release === null
    ? `where you installed the webhook, set ${flags}`
    : `helm upgrade ${release} manifests/chart --namespace ${printable(namespace)} `
      + `--reset-then-reuse-values --set ${shellWord(value)}`;
}

function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, "2026-11-22T10:00".length)}Z`;
}

/** Returns the observation for `-o json`; null if the profile is another one. */
export function observationJSON(observation: Observation | null): object | null {
  if (observation === null) return null;
  const { observed, unknown, unnamed } = observation;
  if (observed === null) {
    return { since: null, until: null, admissions: null, denials: [], omitted: {}, unknown, unnamed };
  }
  const denials = observed.denials.map(({ lastMs, ...one }) => ({ ...one, last: new Date(lastMs).toISOString() }));
  return {
    since: new Date(observed.sinceMs).toISOString(), until: new Date(observed.untilMs).toISOString(),
    admissions: countObserved(observed), denials,
    omitted: Object.fromEntries(Array.from(observed.omitted, ([code, { count }]) => [code, count])), unknown, unnamed,
  };
}
