import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { wrapLines } from "../cli/output/terminal.ts";
import { runProgram } from "../test/programs/run-program.ts";

const ROOT = path.join(import.meta.dirname, "..");
const EXAMPLES = "manifests/examples";
/** What a reader tries first: what is wrong, what follows from it, and the whole picture. */
const COMMANDS = [
  `lint ${EXAMPLES}/analytics/iamroleselectors.yaml`,
  `resolve ${EXAMPLES} --only namespace=analytics-ingest`,
  `map ${EXAMPLES} --html role-map.html`,
] as const;

/** The size of the terminal and of its characters, in characters and pixels. */
const COLUMNS = 116;
const CHARACTER = { width: 7.83, height: 19 } as const;
const MARGIN = 18;

const PROGRAM = [process.execPath, path.join(ROOT, "cli/start.js")] as const;

interface Step {
  readonly command: string;
  /** What the terminal shows: both streams of the command, in their order. */
  readonly output: string;
}

/** Returns a picture, as SVG, of a terminal in which the commands ran on the examples. */
export async function terminalSession(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-session-"));
  try {
    await cp(path.join(ROOT, EXAMPLES), path.join(folder, EXAMPLES), { recursive: true });
    const steps: Step[] = [];
    for (const command of COMMANDS) {
      // oxlint-disable-next-line no-await-in-loop -- one after another, as in a terminal
      const { stdout } = await runProgram("sh", ["-c", `exec 2>&1; "$0" "$1" ${command}`, ...PROGRAM], { cwd: folder });
      steps.push({ command, output: stdout });
    }
    return sessionPicture(steps);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const STYLE = [
  "text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre;",
  "  fill: #24292f; }",
  "rect { fill: #f6f8fa; stroke: #d0d7de; }",
  ".prompt { fill: #6e7781; } .command { font-weight: 600; }",
  "@media (prefers-color-scheme: dark) {",
  "  text { fill: #e6edf3; } rect { fill: #161b22; stroke: #30363d; } .prompt { fill: #8b949e; }",
  "}",
].join("\n");

/** Returns the picture of a terminal. The programs wrap their lines at its width. */
export function sessionPicture(steps: readonly Step[]): string {
  const lines = steps.flatMap(({ command, output }, i) => [
    ...(i === 0 ? [] : [""]),
    `<tspan class="prompt">$ </tspan><tspan class="command">${escaped(`ack-role-resolver ${command}`)}</tspan>`,
    ...output.trimEnd().split("\n").flatMap((line) => wrapLines([line], COLUMNS)).map(escaped),
  ]);
  const width = Math.ceil(2 * MARGIN + COLUMNS * CHARACTER.width);
  const height = 2 * MARGIN + lines.length * CHARACTER.height;
  const texts = lines.map((line, i) => (
    `<text x="${MARGIN}" y="${MARGIN + 14 + i * CHARACTER.height}" xml:space="preserve">${line}</text>`
  ));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<style>\n${STYLE}\n</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...texts, "</svg>", "",
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
