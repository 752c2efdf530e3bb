import { readFileSync } from "node:fs";
import { test } from "tap";
import { field, isJsonObject } from "../../shared/formats/json.ts";
import { runCommand } from "../cli/run-command.ts";
import { codeBlocks } from "../documented-commands.ts";

const PAGE = readFileSync(new URL("../../docs/least-privilege.md", import.meta.url), "utf8");
const COMMANDS = [...PAGE.matchAll(/^npx --no-install ack-role-resolver (.*)$/gm)].map(([, words = ""]) => words);

async function outputOf(command: string | undefined): Promise<unknown> {
  const { stdout, status } = await runCommand(String(command).split(" "));
  if (status !== 0) throw new Error(`${command} ended with status ${status}`);
  return JSON.parse(stdout);
}

function firstOf(object: unknown, key: string): unknown {
  const list = field(isJsonObject(object) ? object : {}, key);
  return Array.isArray(list) ? list[0] : undefined;
}

test("the guide on least privilege shows the policies that its commands print", async (t) => {
  const [ofSelector, ofGroup] = COMMANDS;
  const policies = await outputOf(ofSelector);
  const printed = [
    field(firstOf(policies, "roles"), "trustPolicy"), field(firstOf(policies, "callers"), "policy"),
    await outputOf(ofGroup),
  ];
  const shown = codeBlocks(PAGE, "json").map(([, block]): unknown => JSON.parse(block));
  t.equal(shown.length, 3);
  t.same(shown, printed);
});
