// `node bench/picture.ts`: draws the newest file in bench/results/ again, as latest.svg.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { compareText } from "../shared/formats/text.ts";
import { formatGoal, formatNumber, type Summary } from "./figure.ts";
import type { Results } from "./results.ts";

const WIDTH = 1_160;
const LINE = 22;
const BOLD = 'font-weight="bold"';
const FONT = 'font-family="sans-serif" font-size="12"';
const TOP = 64;
const LABEL_WIDTH = 400;
const GOAL_AT = 620;
/** The bar of a figure that reaches its goal more than this many times ends here. */
const MAX_SHARE = 1.4;
const [GREEN, RED, GRAY] = ["#2da44e", "#cf222e", "#6e7781"];

/** Returns an SVG with a bar for each figure that has a goal. A bar that reaches the line reaches its goal. */
export function picture({ date, commit, machine, versions, rows }: Results): string {
  const lines = rows.flatMap(({ name, figures, isDisturbed, error }): readonly Line[] => {
    if (error !== null) return [{ label: name, figure: null, isDisturbed }];
    const withGoals = figures.filter(({ goal }) => goal !== null);
    // One row has a figure for each hostile shape. Its worst one says it all.
    const shown = withGoals.length <= 6 ? withGoals : withGoals.toSorted((a, b) => shareOf(a) - shareOf(b)).slice(0, 1);
    return shown.map((figure) => ({ label: `${name}: ${figure.name}`, figure, isDisturbed }));
  });
  const height = TOP + lines.length * LINE + 16;
  const about = [
    date.slice(0, 10), `commit ${commit}`, `Node.js ${versions["node"]}`, `${machine.cores} x ${machine.processor}`,
  ].join(", ");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" ${FONT}>`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    text(12, 22, "How much of each goal is reached: a bar that reaches the line reaches it. Gray: disturbed.", BOLD),
    text(12, 42, about, `fill="${GRAY}"`),
    ...lines.map((line, i) => lineOf(line, TOP + i * LINE)),
    `<path d="M${GOAL_AT} ${TOP - 6}V${height - 10}" stroke="black" stroke-width="1.5"/>`,
    "</svg>\n",
  ].join("\n");
}

interface Line {
  readonly label: string;
  /** Null if the row could not be measured. */
  readonly figure: Summary | null;
  readonly isDisturbed: boolean;
}

function lineOf({ label, figure, isDisturbed }: Line, y: number): string {
  const labeled = text(LABEL_WIDTH - 8, y + 12, shortened(label), 'text-anchor="end"');
  if (figure === null) return `${labeled}\n${text(LABEL_WIDTH, y + 12, "could not be measured", `fill="${RED}"`)}`;
  const { unit, ours, floor, ratio, goal, isMissed } = figure;
  const share = Math.min(MAX_SHARE, Math.max(0.01, shareOf(figure)));
  const width = Math.round((GOAL_AT - LABEL_WIDTH) * share);
  const value = `${formatNumber(ours.median)} ${unit}`;
  const bare = floor === null || ratio === null
    ? "" : `, floor ${formatNumber(floor.median)} ${unit}, ${formatNumber(ratio.median)} x`;
  // A disturbed figure says neither.
  const color = isDisturbed ? GRAY : isMissed ? RED : GREEN;
  const wanted = goal === null ? "" : `; ${formatGoal(goal, unit)}`;
  return [
    labeled,
    `<rect x="${LABEL_WIDTH}" y="${y}" width="${width}" height="${LINE - 6}" fill="${color}"/>`,
    text(GOAL_AT + (GOAL_AT - LABEL_WIDTH) * (MAX_SHARE - 1) + 8, y + 12, `${value}${bare}${wanted}`, `fill="${GRAY}"`),
  ].join("\n");
}

/** Returns 1 for a figure that is exactly at its goal, and more for a better one. */
export function shareOf({ goal, actual }: Summary): number {
  if (goal === null || actual === null || Number.isNaN(actual)) return 0;
  if (goal.bound === "at least") return actual / goal.value;
  if (actual <= 0) return MAX_SHARE;
  return goal.value / actual;
}

function shortened(label: string): string {
  const limit = 62;
  return label.length <= limit ? label : `${label.slice(0, limit - 1)}…`;
}

function text(x: number, y: number, content: string, attributes = ""): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<text x="${x}" y="${y}" ${attributes}>${escaped}</text>`;
}

export function readResults(file: string): Results {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by npm run bench
  return JSON.parse(readFileSync(file, "utf8")) as Results;
}

/** Returns the results of the last run in the folder. Throws if there are none. */
export function newestResults(folder: string): Results {
  const all = globSync("*.json", { cwd: folder }).map((name) => readResults(path.join(folder, name)));
  const [newest] = all.toSorted((a, b) => compareText(b.date, a.date));
  if (newest === undefined) throw new Error(`${folder} has no results; run npm run bench`);
  return newest;
}

if (import.meta.main) {
  const folder = path.join(import.meta.dirname, "results");
  writeFileSync(path.join(folder, "latest.svg"), picture(newestResults(folder)));
}
