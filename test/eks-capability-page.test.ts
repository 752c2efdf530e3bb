import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { isACKController } from "../shared/core/exemptions.ts";
import { field } from "../shared/formats/json.ts";
import { controllersOf } from "../shared/formats/names.ts";
import { readSettings } from "../shared/server/read-settings.ts";
import { runCommand } from "./cli/run-command.ts";
import { codeBlocks } from "./documented-commands.ts";

const ROOT = path.join(import.meta.dirname, "..");
const PAGE = readFileSync(path.join(ROOT, "docs/eks-capability.md"), "utf8");

test("the policies in the capability guide allow both STS actions that the capability calls", (t) => {
  const policies = codeBlocks(PAGE, "json").map(([, block]): unknown => JSON.parse(block));
  t.equal(policies.length, 2);
  for (const policy of policies) {
    const statements: unknown = field(policy, "Statement");
    t.match(statements, [{ Effect: "Allow", Action: ["sts:AssumeRole", "sts:TagSession"] }]);
  }
  t.end();
});

test("the user pattern in the capability guide names the sessions of the Capability Role, and no other user", (t) => {
  const [, pattern = ""] = /^--controller-users '(.*)'$/m.exec(PAGE) ?? [];
  const given = { cluster: true, tlsDir: "/tls", controllerUsers: [pattern] };
  const { controllerUsers } = readSettings("webhook", given, {});
  const settings = controllersOf(controllerUsers);
  const isController = (username: string): boolean => isACKController({ username, groups: [] }, settings);
  t.ok(isController("arn:aws:sts::111122223333:assumed-role/ACKCapabilityRole/ack-1234"));
  t.notOk(isController("arn:aws:sts::111122223333:assumed-role/ACKCapabilityRoleOfAnother/ack-1234"));
  t.notOk(isController("arn:aws:sts::444455556666:assumed-role/ACKCapabilityRole/ack-1234"));
  t.end();
});

test("the commands in the capability guide work on manifests", async (t) => {
  const commands = [...PAGE.matchAll(/^ack-role-resolver (.*)$/gm)].map(([, words = ""]) => words.split(" "));
  t.equal(commands.length, 2);
  for (const words of commands) {
    const offline = words.map((word) => (word === "--cluster" ? `--from=${ROOT}/manifests/examples` : word));
    const { status, stderr } = await runCommand(offline);
    t.not(status, 2, stderr);
  }
});
