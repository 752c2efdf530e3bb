import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "tap";
import { controllerDeployment } from "../fixtures/controllers.ts";
import { document, exportOf, roleDetail } from "../shared/trust/iam-export.ts";
import { allow, APP, type Fields, grant } from "../shared/trust/trust-cases.ts";
import { type CommandResult, runCommand } from "./run-command.ts";

const JANE = "arn:aws:iam::111122223333:user/jane";
const BOTH = { Action: ["sts:AssumeRole", "sts:TagSession"] };

function roleARN(name: string): string {
  return `arn:aws:iam::444455556666:role/${name}`;
}

const TRUST: Readonly<Record<string, Fields>> = {
  fine: allow({ AWS: APP }, BOTH), deleted: allow({ AWS: "AROAEXAMPLEEXAMPLEID1" }, BOTH),
  untagged: allow({ AWS: APP }), open: allow("*", BOTH), account: allow({ AWS: "111122223333" }, BOTH),
  others: allow({ AWS: [APP, JANE] }, BOTH),
  external: allow({ AWS: APP }, { ...BOTH, Condition: { StringEquals: { "sts:ExternalId": "hidden" } } }),
};

const folder = mkdtempSync(path.join(tmpdir(), "lint-trust-"));

function fileOf(name: string, ...objects: readonly unknown[]): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  return file;
}

const STS = { RolePolicyList: [{ PolicyName: "sts", PolicyDocument: document(grant()) }] };
const IAM = [
  fileOf("roles.json", exportOf({
    RoleDetailList: Object.entries(TRUST).map(([name, trust]) => roleDetail(roleARN(name), document(trust))),
  })),
  fileOf("caller.json", exportOf({ RoleDetailList: [roleDetail(APP, document(), STS)] })),
].flatMap((file) => ["--iam", file]);

function selector(name: string, metadata: Fields = {}): Fields {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name, ...metadata },
    spec: { arn: roleARN(name), namespaceSelector: { names: [name] } },
  };
}

const SELECTORS = fileOf("selectors.json", ...Object.keys(TRUST).map((name) => selector(name)));
const PODS = ["--caller", APP, "--caller-credentials", "pod-identity"];

function run(command: "lint" | "audit", file: string, ...words: readonly string[]): Promise<CommandResult> {
  return runCommand([command, file, ...IAM, ...words]);
}

/** Returns the codes of each selector that has findings about its role. */
function codesOf(stdout: string): Record<string, string[]> {
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly { code: string; name: string }[] };
  const own = findings.filter(({ code }) => code.startsWith("TR-"));
  const byName = Map.groupBy(own, ({ name }) => name);
  return Object.fromEntries(Array.from(byName, ([name, list]) => [name, list.map(({ code }) => code)]));
}

const EXPECTED = {
  deleted: ["TR-04", "TR-05"], untagged: ["TR-04"], open: ["TR-08"], account: ["TR-09"], others: ["TR-10"],
  external: ["TR-03", "TR-04"],
};

test("lint and audit report what is wrong with the trust policy of each role", async (t) => {
  for (const command of ["lint", "audit"] as const) {
    const { status, stdout } = await run(command, SELECTORS, ...PODS, "-o", "json");
    t.equal(status, 1);
    t.same(codesOf(stdout), EXPECTED);
    t.notMatch(stdout, /"TR-[0-9]+",\s+"needs"/);
    t.notMatch(stdout, "hidden", "prints no value of a condition");
  }
});

test("lint names the missing flag if it gets no export", async (t) => {
  const { stderr, stdout } = await runCommand(["lint", SELECTORS]);
  t.match(stderr, /^not judged: who can assume the roles \(TR-01, .*, TR-10\); pass --iam$/m);
  t.notMatch(stdout, "TR-");
  t.notMatch((await run("lint", SELECTORS, ...PODS)).stderr, "who can assume");
});

test("a role that is fine has exit status 0, and what is only unknown fails with --fail-on warn", async (t) => {
  const fine = fileOf("fine.json", selector("fine"));
  t.equal((await run("lint", fine, ...PODS)).status, 0);
  const unknown = ["lint", fine, "--iam", String(IAM[1]), ...PODS];
  const { status, stdout } = await runCommand(unknown);
  t.match(stdout, /warn TR-02 IAMRoleSelector fine spec.arn\n {4}whether \S+ can assume the role depends on what /);
  t.equal(status, 0);
  t.equal((await runCommand([...unknown, "--fail-on", "warn"])).status, 1);
  const fixed = await run("lint", fileOf("others.json", selector("others")), ...PODS, "--intended", JANE);
  t.notMatch(fixed.stdout, "TR-");
});

test("SARIF and JUnit have the findings as those of every check", async (t) => {
  const { stdout } = await run("lint", SELECTORS, ...PODS, "-o", "sarif");
  const sarif = JSON.parse(stdout) as { runs: [{ results: { ruleId: string; ruleIndex: number; level: string }[];
    tool: { driver: { rules: { id: string }[] } }; }]; };
  const [{ results, tool: { driver: { rules } } }] = sarif.runs;
  const own = results.filter(({ ruleId }) => ruleId.startsWith("TR-"));
  t.equal(own.length, Object.values(EXPECTED).flat().length);
  for (const { ruleId, ruleIndex } of own) t.equal(rules[ruleIndex]?.id, ruleId);
  t.match(own.find(({ ruleId }) => ruleId === "TR-08"), { level: "error" });
  t.match(own.find(({ ruleId }) => ruleId === "TR-09"), { level: "warning" });
  t.match((await run("audit", SELECTORS, ...PODS, "-o", "junit")).stdout, /<failure type="TR-08" message="TR-08 spec.arn/);
});

test("the callers are those of the Deployments, each for the kinds of its controller", async (t) => {
  const account = {
    apiVersion: "v1", kind: "ServiceAccount",
    metadata: { name: "ack-s3", namespace: "ack-system", annotations: { "eks.amazonaws.com/role-arn": APP } },
  };
  const queues = { ...selector("others"), spec: {
    arn: roleARN("others"), namespaceSelector: { names: ["q"] },
    resourceTypeSelector: [{ group: "sqs.services.k8s.aws", version: "", kind: "" }],
  } };
  const lost = controllerDeployment({ name: "ack-sqs", spec: { serviceAccountName: "ack-sqs" } });
  const all = fileOf("deployments.json", selector("untagged"), queues, account, controllerDeployment(), lost);
  const { stdout, stderr } = await run("lint", all, "-o", "json");
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
    fileOf(`roots/${name}/all.json`, selector("shared"), account, controllerDeployment());
  };
  root("a", APP);
  root("b", other);
  const iam = fileOf("shared.json", exportOf({
    RoleDetailList: [roleDetail(roleARN("shared"), document(allow({ AWS: [APP, other, JANE] }, BOTH)))],
  }));
  const { stdout } = await runCommand(["lint", path.join(folder, "roots"), "--iam", iam, "-o", "json"]);
  const { findings } = JSON.parse(stdout) as { findings: { code: string; message: string }[] };
  const others = findings.filter(({ code }) => code === "TR-10").map(({ message }) => message);
  t.same(others, Array.from("ab", () => `others can assume the role: ${JANE}`));
});

test("wrong flags are errors that name the flag", async (t) => {
  t.match(await run("lint", SELECTORS), { status: 2, stderr: /no caller is known: pass .* with --caller/ });
  t.match(await run("lint", SELECTORS, "--caller", "x"), { status: 2, stderr: /"x" is not the ARN of a role/ });
  t.match(await run("audit", SELECTORS, ...PODS, "--intended", "nobody"), { status: 2, stderr: /"nobody" is not an/ });
  t.match(await runCommand(["lint", SELECTORS, "--iam", SELECTORS, ...PODS]), { status: 2, stderr: /--iam .*selectors/ });
});
