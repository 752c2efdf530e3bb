// Every command that reads a checkout, with a link that leads out of it.
import { symlink } from "node:fs/promises";
import { type Test, test } from "tap";
import { selector } from "../shared/sources/fake-source.ts";
import { runCommand } from "./run-command.ts";

const FAULT = "leads out of the given folders; remove the link, or exclude it with --ignore or in "
  + ".ack-role-resolver-ignore, and pass its target as a path if it is needed";

async function checkout(t: Test): Promise<string> {
  const folder = t.testdir({
    checkout: { "a.yaml": selector("a") },
    // Both the name and the findings of a file outside the checkout can be confidential.
    outside: { "planted.yaml": selector("planted").replace("arn:aws:iam", "arn:planted:iam"), "planted.json": "{" },
  });
  await symlink("../outside", `${folder}/checkout/folder`);
  await symlink("../outside/planted.yaml", `${folder}/checkout/file.yaml`);
  return `${folder}/checkout`;
}

const COMMANDS: readonly string[] = [
  "lint", "lint --output=json", "lint --output=sarif", "lint --output=junit", "lint --skip-unreadable", "resolve",
  "why IAMRoleSelector/planted --from", "impact --from=FOLDER", "map --html=-", "audit --from", "migrate carm",
  "trust --from",
];

for (const command of COMMANDS) {
  test(`${command} reports a link out of the checkout, and nothing behind it`, async (t) => {
    const folder = await checkout(t);
    const { status, stdout, stderr } = await runCommand([...command.replace("FOLDER", folder).split(" "), folder]);
    t.notMatch(stdout + stderr, command.startsWith("why") ? "planted:" : "planted");
    t.match(stderr, `${folder}/folder: ${FAULT}`);
    t.match(stderr, `${folder}/file.yaml: ${FAULT}`);
    t.equal(status, command.includes("--skip") ? 0 : 2);
  });
}
