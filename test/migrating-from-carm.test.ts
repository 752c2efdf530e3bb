import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { runCommand } from "./cli/run-command.ts";
import { argumentsOf, documentedCommands } from "./documented-commands.ts";

const ROOT = path.join(import.meta.dirname, "..");
const PAGE = readFileSync(path.join(ROOT, "docs/migrating-from-carm.md"), "utf8");
const SAMPLES = documentedCommands(PAGE);

test("each sample output in the migration guide is the real output of its command", async (t) => {
  process.chdir(ROOT);
  const file = path.join(t.testdir(), "selectors.yaml");
  t.equal(SAMPLES.length, 3);
  for (const { command, output } of SAMPLES) {
    const [line = "", saved] = command.split(" > ");
    const argv = argumentsOf(line).map((word) => (word === "selectors.yaml" ? file : word));
    const { stdout, stderr } = await runCommand(argv);
    if (saved !== undefined) writeFileSync(file, stdout);
    const printed = saved === undefined ? stdout : stderr;
    const [start = "", elided] = output.split("...\n");
    if (elided === undefined) t.equal(printed, output, line);
    else t.equal(printed.slice(0, start.length), start, line);
  }
});

test("the first command of the migration guide proves that the generated selectors change no role", async (t) => {
  process.chdir(ROOT);
  const [line = ""] = SAMPLES[0]?.command.split(" > ") ?? [];
  t.match(await runCommand([...argumentsOf(line), "-o", "json"]), {
    status: 0,
    stdout: /"differences": \[\]/,
    stderr: "",
  });
});
