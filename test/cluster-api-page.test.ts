import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { runCommand } from "./cli/run-command.ts";
import { argumentsOf, codeBlocks, documentedCommands } from "./documented-commands.ts";

const PAGE = readFileSync(path.join(import.meta.dirname, "../docs/cluster-api.md"), "utf8");
/** The files that the quick start writes: the first manifests of the page. */
const FILES = ["capa.yaml", "new-label.yaml"];

test("each sample output in the guide to Cluster API identities is the real output of its command", async (t) => {
  const before = process.cwd();
  t.teardown(() => process.chdir(before));
  process.chdir(t.testdir());
  const manifests = codeBlocks(PAGE, "yaml");
  for (const [i, file] of FILES.entries()) writeFileSync(file, manifests[i]?.[1] ?? "");
  const samples = documentedCommands(PAGE);
  t.equal(samples.length, 3);
  for (const { command, output } of samples) {
    const { stdout } = await runCommand(argumentsOf(command));
    t.equal(stdout, output, command);
  }
});
