import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "tap";
import { document, exportOf, roleDetail } from "../shared/trust/iam-export.ts";
import { allow, APP, NEAR, ROLE } from "../shared/trust/trust-cases.ts";
import { type CommandResult, runCommand } from "./run-command.ts";
import { STATE } from "./state.ts";

function fileOf(text: string, name = "input.json"): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "trust-who-")), name);
  writeFileSync(file, text);
  return file;
}

const TEAM_A = "arn:aws:iam::111122223333:role/team-a";
const QUEUES = "arn:aws:iam::111122223333:role/queues";
const IAM = fileOf([
  exportOf({ RoleDetailList: [
    roleDetail(ROLE, document(
      { ...allow({ AWS: [NEAR, APP] }), Sid: "Callers", Condition: { StringEquals: { "sts:ExternalId": "hidden" } } },
      allow({ AWS: "333333333333" }),
    )),
    roleDetail(NEAR, document(allow({ Service: "ec2.amazonaws.com" }))),
  ] }),
  exportOf({ RoleDetailList: [
    roleDetail(TEAM_A, document(allow({ AWS: APP }))), roleDetail(QUEUES, document(allow("*"))),
    roleDetail(APP, document(allow({ Service: "pods.eks.amazonaws.com" }))),
  ] }),
].map((one) => JSON.stringify(one)).join("\n"));
const MANIFESTS = fileOf(STATE, "state.yaml");

function who(...words: readonly string[]): Promise<CommandResult> {
  return runCommand(["trust", "who", "--iam", IAM, ...words]);
}

test("trust who lists who else can assume a role, and exits 1 if somebody can", async (t) => {
  const { status, stdout } = await who(ROLE, "-o", "json", "--intended", APP);
  t.equal(status, 1);
  t.same(JSON.parse(stdout), {
    role: ROLE, unintended: ["333333333333", NEAR],
    chains: [{ principal: "ec2.amazonaws.com", through: [NEAR], verdict: "yes" }],
  });
  const accounts = ["--intended", "222222222222", "--intended", "333333333333"];
  const all = await who(ROLE, "-o", "json", "--intended", APP, ...accounts);
  t.match([all.status, JSON.parse(all.stdout)], [0, { unintended: [] }]);
});

test("trust who prints statements, conditions and fixes, and no values of conditions", async (t) => {
  const { status, stdout, stderr } = await who(ROLE, "--intended", "333333333333");
  t.same([status, stderr], [1, "others can assume 1 of 1 role\n"]);
  t.equal(stdout, `${ROLE}: 2
  ${APP}
    statement Callers, if StringEquals sts:ExternalId
    fix: remove it from the policy, or pass it with --intended
  ${NEAR}
    statement Callers, if StringEquals sts:ExternalId
    fix: remove it from the policy, or pass it with --intended
  chain: ec2.amazonaws.com -> ${NEAR}
`);
  t.match(await who(NEAR, "--intended", "ec2.amazonaws.com"), { status: 0, stdout: `${NEAR}: nobody else\n` });
});

test("trust who lists the users of every identity provider in JSON as everyone, once", async (t) => {
  const action = ["sts:AssumeRole", "sts:AssumeRoleWithSAML"];
  const everyone = document(allow({ Federated: "*", AWS: "*" }, { Action: action }), allow({ AWS: NEAR }));
  const iam = fileOf(JSON.stringify(exportOf({ RoleDetailList: [
    roleDetail(ROLE, everyone), roleDetail(TEAM_A, document(allow({ Federated: "*" }, { Action: action }))),
  ] })));
  for (const [role, json, text] of [
    [ROLE, ["*", NEAR], "3"], [TEAM_A, ["*"], "1\n  Federated *"],
  ] as const) {
    const { stdout } = await runCommand(["trust", "who", "--iam", iam, role, "-o", "json"]);
    t.match(JSON.parse(stdout), { unintended: json });
    t.match((await runCommand(["trust", "who", "--iam", iam, role])).stdout, `${role}: ${text}`);
  }
});

test("trust who reads the role of a selector, of all selectors, or all roles", async (t) => {
  const from = ["--from", MANIFESTS, "-o", "json"];
  const one = await who("team-a", ...from);
  t.match([one.status, JSON.parse(one.stdout)], [1, { role: TEAM_A, unintended: [APP] }]);
  const all = await who("--all", ...from);
  t.match([all.status, JSON.parse(all.stdout)], [1, [{ role: QUEUES, unintended: ["*"] }, { role: TEAM_A }]]);
  t.match(all.stderr, /IAMRoleSelector team-b is malformed/);
  t.equal((await who("--all")).stderr, "others can assume 5 of 5 roles\n");
});

test("trust who exits 2 for bad input, and names it", async (t) => {
  const fault = async (...words: readonly string[]): Promise<string> => {
    const { status, stderr } = await who(...words);
    t.equal(status, 2);
    return stderr;
  };
  t.match(await fault(), /pass either the ARN of a role, the name of a selector or --all/);
  t.match(await fault(ROLE, "--all"), /pass either/);
  t.match(await fault("team-a"), /team-a is the name of a selector: pass --from or --cluster to read it/);
  t.match(await fault("arn:aws:iam::1:role/x"), /roleArn "arn:aws:iam::1:role\/x" is not the ARN of a role/);
  t.match(await fault(ROLE, "--intended", "app"), /--intended "app" is not an ARN, an account of 12 digits/);
  t.match(await fault(`${ROLE}2`), /target2: the role does not exist in the export of its account/);
  t.match(await fault("arn:aws:iam::444455556666:role/x"), /no export contains the role; pass the export/);
  t.match(await fault("team-x", "--from", MANIFESTS), /IAMRoleSelector team-x does not exist; did you mean team-a\?/);
  t.match(await fault("zzzzzzzz", "--from", MANIFESTS), /IAMRoleSelector zzzzzzzz does not exist\n/);
  t.match(await fault("team-b", "--from", MANIFESTS), /IAMRoleSelector team-b is malformed/);
  t.match(await fault("team-a", "--from", fileOf("a: [", "bad.yaml")), /bad.yaml/);
  t.match(await fault("team-a", "--from", MANIFESTS, "--cluster"), /--from, --cluster: exactly one is required/);
  const without = await runCommand(["trust", "who", ROLE]);
  t.match([without.status, without.stderr], [2, /--iam is missing/]);
});
