import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { runCommand } from "./cli/run-command.ts";

const ROOT = path.join(import.meta.dirname, "..");
const PAGE = readFileSync(path.join(ROOT, "docs/migrating-from-carm.md"), "utf8");
const BLOCKS = [...PAGE.matchAll(/^```\n\$ npx ack-role-resolver ([^\n]*)\n([^]*?)^```$/gm)];

test("each sample output in the migration guide is the real output of its command", async (t) => {
  process.chdir(ROOT);
  const file = path.join(t.testdir(), "selectors.yaml");
  t.equal(BLOCKS.length, 3);
  for (const [, line = "", sample = ""] of BLOCKS) {
    const [command = "", saved] = line.split(" > ");
    const argv = command.split(" ").map((word) => (word === "selectors.yaml" ? file : word));
    const { stdout, stderr } = await runCommand(argv);
    if (saved !== undefined) writeFileSync(file, stdout);
    const printed = saved === undefined ? stdout : stderr;
    const [start = "", elided] = sample.split("...\n");
    if (elided === undefined) t.equal(printed, sample, line);
    else t.equal(printed.slice(0, start.length), start, line);
  }
});

test("the first command of the migration guide proves that the generated selectors keep all roles", async (t) => {
  process.chdir(ROOT);
  const [command = ""] = BLOCKS[0]?.[1]?.split(" > ") ?? [];
  t.match(await runCommand([...command.split(" "), "-o", "json"]), {
    status: 0,
    stdout: /"differences": \[\]/,
    stderr: "",
  });
});
