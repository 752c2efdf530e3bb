import { readFileSync } from "node:fs";
import { test } from "tap";
import { codeBlocks } from "../documented-commands.ts";

const PAGE = readFileSync(new URL("../../docs/runbook.md", import.meta.url), "utf8");
const LINES = codeBlocks(PAGE, "sh").flatMap(([, block]) => block.split("\n"));

test("each command of the runbook that reads logs selects the Pods of a component, and reads all lines", (t) => {
  const commands = LINES.filter((line) => line.includes(" logs -l "));
  t.ok(commands.length > 3);
  for (const command of commands) {
    t.match(command, /logs -l app.kubernetes.io\/component=(webhook|certificates) /);
    t.match(command, " --tail=-1 ", "by default, kubectl logs with a selector prints 10 lines of each Pod");
  }
  t.end();
});
