import { CATALOGUE } from "../../../shared/judges.ts";
import path from "node:path";
import { test } from "tap";
import { controllerDeployment } from "../../fixtures/controllers.ts";
import { document, exportOf, roleDetail } from "../../shared/trust/iam-export.ts";
import { allow, APP, type Fields } from "../../shared/trust/trust-cases.ts";
import { IAMFolder, roleARN, selectorOf } from "./iam-folder.ts";
import { type CommandResult, runCommand } from "../run-command.ts";

const JANE = "arn:aws:iam::111122223333:user/jane";
const BOTH = { Action: ["sts:AssumeRole", "sts:TagSession"] };

const TRUST: Readonly<Record<string, Fields>> = {
  fine: allow({ AWS: APP }, BOTH), deleted: allow({ AWS: "AROAEXAMPLEEXAMPLEID1" }, BOTH),
  untagged: allow({ AWS: APP }), open: allow("*", BOTH), account: allow({ AWS: "111122223333" }, BOTH),
  others: allow({ AWS: [APP, JANE] }, BOTH),
  external: allow({ AWS: APP }, { ...BOTH, Condition: { StringEquals: { "sts:ExternalId": "hidden" } } }),
};

const folder = new IAMFolder();
const FILES = folder.exports(TRUST);
const IAM = ["--iam", FILES.roles, "--iam", FILES.caller];
const SELECTORS = folder.write("selectors.json", ...Object.keys(TRUST).map((name) => selectorOf(name)));
const PODS = ["--caller", APP, "--caller-credentials", "pod-identity"];

function run(command: "lint" | "audit", file: string, ...words: readonly string[]): Promise<CommandResult> {
  return runCommand([command, file, ...IAM, ...words]);
}

/** Returns the codes of each selector that has findings about its role. */
function codesOf(text: string): Record<string, string[]> {
  const found = [...text.matchAll(/(TR-[0-9]+) IAMRoleSelector (\S+)/g)];
  const byName = Map.groupBy(found, ([, , name = ""]) => name);
  return Object.fromEntries(Array.from(byName, ([name, list]) => [name, list.map(([, code = ""]) => code)]));
}

/** With every finding on lines of its own. */
const ALL = ["--verbose"];

const EXPECTED = {
  deleted: ["TR-04", "TR-05"], untagged: ["TR-04"], open: ["TR-08"], account: ["TR-09"], others: ["TR-10"],
  external: ["TR-03", "TR-04"],
};

test("lint and audit report what is wrong with the trust policy of each role", async (t) => {
  for (const command of ["lint", "audit"] as const) {
    const { status, stdout } = await run(command, SELECTORS, ...PODS, ...ALL);
    t.equal(status, 1);
    t.same(codesOf(stdout), EXPECTED);
    const json = await run(command, SELECTORS, ...PODS, "-o", "json");
    t.match(json.stdout, /"code": "TR-08",\s+"severity": "deny"/);
    t.notMatch(json.stdout, /"TR-[0-9]+",\s+"needs"/);
    for (const text of [stdout, json.stdout]) t.notMatch(text, "hidden", "prints no value of a condition");
  }
});

test("lint names the missing flag if it gets no export", async (t) => {
  const { stderr, stdout } = await runCommand(["lint", SELECTORS, "-v"]);
  t.match(stderr, /^not judged: who can assume the roles \(TR-01, .*, TR-10\); pass --iam$/m);
  t.notMatch(stdout, "TR-");
  t.notMatch((await run("lint", SELECTORS, ...PODS)).stderr, "who can assume");
});

test("a role that is fine has exit status 0, and what is only unknown fails with --fail-on warn", async (t) => {
  const fine = folder.write("fine.json", selectorOf("fine"));
  t.equal((await run("lint", fine, ...PODS)).status, 0);
  const unknown = ["lint", fine, "--iam", FILES.caller, ...PODS];
  const { status, stdout } = await runCommand(unknown);
  t.match(stdout, /warn TR-02 IAMRoleSelector fine spec.arn: whether \S+ can assume the role depends on what /);
  t.equal(status, 0);
  t.equal((await runCommand([...unknown, "--fail-on", "warn"])).status, 1);
  const fixed = await run("lint", folder.write("others.json", selectorOf("others")), ...PODS, "--intended", JANE);
  t.notMatch(fixed.stdout, "TR-");
});

test("SARIF and JUnit have the findings as those of every check", async (t) => {
  const { stdout } = await run("lint", SELECTORS, ...PODS, "-o", "sarif");
  const count = [...stdout.matchAll(/"ruleId": "TR-/g)].length;
  t.equal(count, Object.values(EXPECTED).flat().length);
  const index = CATALOGUE.findIndex(({ id }) => id === "TR-08");
  t.match(stdout, new RegExp(`"ruleId": "TR-08",\\s+"ruleIndex": ${index},\\s+"level": "error"`));
  t.match(stdout, /"ruleId": "TR-09",\s+"ruleIndex": [0-9]+,\s+"level": "warning"/);
  const junit = await run("audit", SELECTORS, ...PODS, "-o", "junit");
  t.match(junit.stdout, /<failure type="TR-08" message="TR-08 spec.arn/);
});

test("the callers are those of the Deployments, each for the kinds of its controller", async (t) => {
  const account = {
    apiVersion: "v1", kind: "ServiceAccount",
    metadata: { name: "ack-s3", namespace: "ack-system", annotations: { "eks.amazonaws.com/role-arn": APP } },
  };
  const queues = { ...selectorOf("others"), spec: {
    arn: roleARN("others"), namespaceSelector: { names: ["q"] },
    resourceTypeSelector: [{ group: "sqs.services.k8s.aws", version: "", kind: "" }],
  } };
  const lost = controllerDeployment({ name: "ack-sqs", spec: { serviceAccountName: "ack-sqs" } });
  const all = folder.write("deployments.json", selectorOf("untagged"), queues, account, controllerDeployment(), lost);
  const { stdout, stderr } = await run("lint", all, ...ALL);
  t.same(codesOf(stdout), { others: ["TR-02", "TR-10"] }, "IRSA adds no tags");
  t.match(stderr, /^note: the role of Deployment ack-system\/ack-sqs is unknown: .*; pass --caller$/m);
  const trust = await runCommand(["trust", "--from", all, ...IAM]);
  t.match(trust.stderr, /^note: IAMRoleSelector "others" is not examined: no known controller manages what it/m);
  t.match(trust, { status: 1, stdout: /^yes +IAMRoleSelector untagged/m });
});

test("roots can share roles, so that the callers of each are intended", async (t) => {
  const other = "arn:aws:iam::111122223333:role/other";
  const root = (name: string, role: string): void => {
    const account = {
      apiVersion: "v1", kind: "ServiceAccount",
      metadata: { name: "ack-s3", namespace: "ack-system", annotations: { "eks.amazonaws.com/role-arn": role } },
    };
    folder.write(`roots/${name}/all.json`, selectorOf("shared"), account, controllerDeployment());
  };
  root("a", APP);
  root("b", other);
  const iam = folder.write("shared.json", exportOf({
    RoleDetailList: [roleDetail(roleARN("shared"), document(allow({ AWS: [APP, other, JANE] }, BOTH)))],
  }));
  const { stdout } = await runCommand(["lint", path.join(folder.path, "roots"), "--iam", iam, ...ALL]);
  const others = stdout.split("\n").flatMap((line) => /: (others can assume .*)/.exec(line)?.[1] ?? []);
  t.same(others, Array.from("ab", () => `others can assume the role: ${JANE}`));
});

test("wrong flags are errors that name the flag", async (t) => {
  t.match(await run("lint", SELECTORS), { status: 2, stderr: /no caller is known: pass .* with --caller/ });
  t.match(await run("lint", SELECTORS, "--caller", "x"), { status: 2, stderr: /"x" is not an ARN/ });
  const nobody = await run("audit", SELECTORS, ...PODS, "--intended", "nobody");
  t.match(nobody, { status: 2, stderr: /--intended "nobody" is not an/ });
  const wrongFile = await runCommand(["lint", SELECTORS, "--iam", SELECTORS, ...PODS]);
  t.match(wrongFile, { status: 2, stderr: /--iam .*selectors/ });
});

test("lint notes a controller that does not get its own role", async (t) => {
  const { roles, caller } = new IAMFolder().exports({ "team-a": allow({ AWS: APP }) });
  const manifests = folder.write("selector.yaml", selectorOf("team-a"));
  const flags = ["--iam", roles, "--iam", caller, "--caller", APP, "--caller-credentials", "pod-identity"];
  const { stderr } = await runCommand(["lint", manifests, ...flags]);
  t.match(stderr, /^note: pods\.eks\.amazonaws\.com cannot assume the controller's own role arn:\S+app: no statement/m);
});
