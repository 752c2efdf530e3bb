import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { runCommand } from "./cli/run-command.ts";
import { argumentsOf, codeBlocks, documentedCommands } from "./documented-commands.ts";

const PAGE = readFileSync(path.join(import.meta.dirname, "../docs/cluster-api.md"), "utf8");

test("each sample output in the guide to Cluster API identities is the real output of its command", async (t) => {
  const before = process.cwd();
  t.teardown(() => process.chdir(before));
  process.chdir(t.testdir());
  // The quick start writes the first manifests of the page to a file.
  writeFileSync("capa.yaml", codeBlocks(PAGE, "yaml")[0]?.[1] ?? "");
  const samples = documentedCommands(PAGE);
  t.equal(samples.length, 2);
  for (const { command, output } of samples) {
    const { stdout } = await runCommand(argumentsOf(command));
    t.equal(stdout, output, command);
  }
});
