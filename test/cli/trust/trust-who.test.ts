import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "tap";
import { document, exportOf, roleDetail } from "../../shared/trust/iam-export.ts";
import { allow, APP, NEAR, ROLE } from "../../shared/trust/trust-cases.ts";
import { type CommandResult, runCommand } from "../run-command.ts";
import { STATE } from "../state.ts";

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

const EVERYONE = JSON.stringify(document(allow("*")));

function plan(values: object, unknown: object): string {
  const change = { actions: ["create"], before: null, after: { path: "/", ...values }, after_unknown: unknown };
  const resource = { address: "aws_iam_role.app", mode: "managed", type: "aws_iam_role", name: "app", change };
  const planned = { format_version: "1.2", resource_changes: [resource], configuration: { root_module: {
    resources: [{ address: "aws_iam_role.app", expressions: { name_prefix: {}, assume_role_policy: {} } }],
  } } };
  return fileOf(JSON.stringify(planned));
}

test("trust who --all lists roles without a known name by their address, and judges them", async (t) => {
  const named = { name_prefix: "ack-", assume_role_policy: EVERYONE };
  const run = (file: string, ...words: readonly string[]): Promise<CommandResult> => (
    runCommand(["trust", "who", "--all", "--iam", `222222222222=${file}`, ...words])
  );
  const open = plan(named, { name: true, arn: true });
  const text = /^aws_iam_role\.app \(a role whose name is not known yet\): 1\n {2}\*/;
  t.match(await run(open), { status: 1, stdout: text });
  const json = await run(open, "-o", "json", "--iam", `333333333333=${plan(named, { name: true })}`);
  t.match(JSON.parse(json.stdout), [
    { role: "aws_iam_role.app", unintended: ["*"], chains: [] }, { role: /^aws_iam_role\.app of \/.*input\.json$/ },
  ]);
  const fine = JSON.stringify(document(allow({ AWS: APP })));
  t.match(await run(plan({ ...named, assume_role_policy: fine }, { name: true }), "--intended", APP), { status: 0 });
  const bad = JSON.stringify(document(allow({ AWS: [APP, "ack"] })));
  for (const [file, fault] of [
    [plan({ name_prefix: "ack-" }, { name: true, assume_role_policy: true }), /not valid: not known: aws_iam_role.app/],
    [plan({ name_prefix: "ack-" }, { name: true }), /^aws_iam_role.app: its trust policy is not known yet\n/],
    [plan({ ...named, assume_role_policy: bad }, { name: true }), /^aws_iam_role.app: IAM rejects the planned trust/],
  ] as const) t.match(await run(file), { status: 2, stderr: fault });
});

test("trust who --all fails if an input lacks roles", async (t) => {
  const run = (text: string): Promise<CommandResult> => runCommand(["trust", "who", "--all", "--iam", fileOf(text)]);
  const whole = exportOf({ RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: APP })))] });
  const page = JSON.stringify({ ...whole, IsTruncated: true, Marker: "x" });
  t.match(await run(page), { status: 2, stderr: /is one page of an output: export all pages, without --max-items/ });
  const last = exportOf({ RoleDetailList: [roleDetail(NEAR, document(allow({ AWS: APP })))] });
  const pages = `${page}\n${JSON.stringify({ ...last, IsTruncated: false })}`;
  t.match(await run(pages), { status: 1, stderr: /2 of 2 roles/ });
  t.match(await run(JSON.stringify(exportOf({}))), { status: 2, stderr: /--iam: no input contains a role/ });
  const trust = await runCommand(["trust", "--caller", APP, "--iam", fileOf(JSON.stringify(exportOf({})))]);
  t.match(trust, { status: 2, stderr: /--iam: no input contains a role/ });
  const roles = JSON.stringify({ Roles: [roleDetail(ROLE, document(allow({ AWS: APP })))], IsTruncated: true });
  t.match(await run(roles), { status: 2, stderr: /is one page/ });
});

test("trust says which roles it does not examine, because their names are not known", async (t) => {
  const file = plan({ name_prefix: "ack-", assume_role_policy: EVERYONE }, { name: true });
  const { status, stderr } = await runCommand(["trust", "--caller", APP, "--iam", `222222222222=${file}`]);
  t.equal(status, 1);
  t.match(stderr, /^note: aws_iam_role\.app of \/.*input\.json is not examined: its name is not known yet\n/);
});

const LINKED = "arn:aws:iam::222222222222:role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForAmazonEKS";
const SSO = "arn:aws:iam::222222222222:role/aws-reserved/sso.amazonaws.com/AWSReservedSSO_admin_1";

test("trust who counts service-linked roles, and advises nobody to edit what only AWS can edit", async (t) => {
  const service = allow({ Service: "eks.amazonaws.com" });
  const saml = allow({ Federated: "arn:aws:iam::222222222222:saml-provider/AWSSSO_1" }, {
    Action: "sts:AssumeRoleWithSAML",
  });
  const run = (details: object, ...words: readonly string[]): Promise<CommandResult> => (
    runCommand(["trust", "who", ...words, "--iam", fileOf(JSON.stringify(details))])
  );
  const linked = exportOf({ RoleDetailList: [roleDetail(LINKED, document(service))] });
  t.match(await run(linked, "--all"), { status: 0, stdout: "", stderr: /^note: 1 service-linked role not listed, / });
  const fix = /fix: only eks\.amazonaws\.com can change this service-linked role; pass it with --intended\n/;
  t.match(await run(linked, LINKED), { status: 1, stdout: fix });
  const sso = exportOf({ RoleDetailList: [roleDetail(SSO, document(saml))] });
  t.match(await run(sso, "--all"), { status: 1, stdout: /fix: only IAM Identity Center can change this role; / });
  // Everyone can write such a name into a plan, and IAM reserves the path only for services.
  for (const trust of [document(allow("*")), document(service, allow({ AWS: APP })), "{"]) {
    const { status } = await run(exportOf({ RoleDetailList: [roleDetail(LINKED, trust)] }), "--all");
    t.ok(status > 0);
  }
  const linkedPath = { name: "AWSServiceRoleForX", path: "/aws-service-role/eks.amazonaws.com/" };
  const planned = plan({ ...linkedPath, assume_role_policy: JSON.stringify(document(service)) }, {});
  t.match(await runCommand(["trust", "who", "--all", "--iam", `222222222222=${planned}`]), { status: 1 });
});
