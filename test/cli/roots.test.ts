import { test } from "tap";
import { runCommand } from "./run-command.ts";

const selector = (account: string, namespace = "team-a"): string => `---
apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec:
  arn: arn:aws:iam::${account}:role/team-a
  namespaceSelector: {names: [${namespace}]}
`;
const BUCKET = `apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: logs, namespace: team-a}
spec: {name: logs}
`;
const FLEET = {
  clusters: {
    dev: { "selector.yaml": selector("111122223333") },
    prod: { "selector.yaml": selector("444455556666") },
  },
  shared: { "bucket.yaml": BUCKET },
};
interface Output {
  readonly findings?: readonly Record<string, unknown>[];
  readonly changes?: readonly unknown[];
}
const parsed = (text: string): Output => JSON.parse(text);
const jsonOf = async (...argv: readonly string[]): Promise<Output> =>
  parsed((await runCommand([...argv, "-o", "json"])).stdout);
const NOTICE = "2 roots, each judged as a cluster: DIR/clusters/dev, DIR/clusters/prod (--root GLOB chooses others)\n";

test("sibling folders that hold the same objects are judged as clusters of their own", async (t) => {
  const dir = t.testdir(FLEET);
  const lint = await runCommand(["lint", dir]);
  t.equal(lint.status, 0);
  t.match(lint.stderr, NOTICE.replaceAll("DIR", dir));
  t.match(lint.stdout, /^3 checked, 0 denied, 0 warned; .*\n$/, "a shared object is counted once");
  t.match(await jsonOf("resolve", dir), [
    { root: `${dir}/clusters/dev`, resource: { name: "logs" }, accountID: "111122223333" },
    { root: `${dir}/clusters/prod`, resource: { name: "logs" }, accountID: "444455556666" },
  ]);
  const table = await runCommand(["resolve", dir]);
  t.match(table.stdout, /^Root \S+\/clusters\/dev\n(.+\n)+Root \S+\/clusters\/prod\n(.+\n)+$/);
  t.equal((await runCommand(["resolve", `${dir}/clusters/dev`, `${dir}/clusters/prod`, "--kind",
    "Bucket.s3.services.k8s.aws"])).stdout.match(/^Root /gm)?.length, 2, "the folders can be given");
});

test("a finding has the root in which it is, unless it is the same in each root", async (t) => {
  const prod = { ...FLEET.clusters.prod, "selector.yaml": selector("444455556666", "team-b") };
  const fleet = { ...FLEET, clusters: { ...FLEET.clusters, prod } };
  const dir = t.testdir({ ...fleet, shared: { "bucket.yaml": BUCKET.replace("spec:", "status: 1\nspec:") } });
  const { stdout } = await runCommand(["lint", dir]);
  t.match(stdout, `${dir}/shared/bucket.yaml:3: warn ACK-05 Bucket team-a/logs metadata (root ${dir}/clusters/prod): `);
  t.match(await jsonOf("lint", dir), { findings: [{ code: "ACK-05", root: `${dir}/clusters/prod` }] });
  t.match(parsed((await runCommand(["lint", dir, "-o", "sarif"])).stdout), {
    runs: [{ results: [{ ruleId: "ACK-05", properties: { root: `${dir}/clusters/prod` } }] }],
  });
  t.match(await jsonOf("audit", dir), {
    roots: [{ summary: { objects: 2, onDefault: 0 } }, { summary: { objects: 2, onDefault: 1 } }],
    findings: [{ root: `${dir}/clusters/prod` }],
    coverage: { judged: 3 },
  });
  const audit = await runCommand(["audit", dir]);
  t.equal(audit.stdout.match(/^Root /gm)?.length, 1, "a root without problems is only counted");
  t.match(audit.stdout, /^Root \S+\/prod\n[^]*\n3 objects judged in 2 roots, 1 without a problem; [^\n]+\n$/);
  t.equal((await runCommand(["audit", dir, "-v"])).stdout.match(/^Root /gm)?.length, 2);
  const broken = t.testdir({ ...FLEET, shared: { "bad.yaml": selector("1").replace("name: team-a", "name: bad") } });
  const shared = (await jsonOf("lint", broken)).findings?.filter(({ code }) => code === "IRS-03");
  t.match(shared, [{ root: null }]);
  t.equal(shared?.length, 1);
});

test("names three roots, and all with --verbose", async (t) => {
  const names = Array.from({ length: 132 }, (_, i) => `c${100 + i}`);
  const dir = t.testdir(Object.fromEntries(names.map((name) => [name, { "selector.yaml": selector("111122223333") }])));
  const { stdout, stderr } = await runCommand(["lint", dir]);
  t.equal(stderr.replaceAll(`${dir}/`, ""),
    "132 roots, each judged as a cluster: c100, c101, c102, ... (-v lists all; --root GLOB chooses others)\n");
  t.match(stdout, /^132 checked, [^\n]+\n$/);
  t.match((await runCommand(["lint", dir, "-v"])).stderr, `${dir}/c230, ${dir}/c231 (--root GLOB chooses others)\n`);
  t.equal((await runCommand(["lint", dir, "--quiet"])).stderr, "");
  const audit = await runCommand(["audit", dir]);
  t.equal(audit.stdout,
    "132 objects judged in 132 roots, 132 without a problem; some checks need more input (-v for details)\n");
  t.equal((await runCommand(["audit", dir, "--quiet"])).stdout, "");
});

test("--root chooses the folders", async (t) => {
  const dir = t.testdir(FLEET);
  t.equal((await runCommand(["lint", dir, "--root", "clusters/*"])).status, 0);
  const together = await runCommand(["lint", dir, "--root", "."]);
  t.equal(together.status, 2);
  t.match(together.stderr, "duplicate IAMRoleSelector");
  const none = await runCommand(["audit", dir, "--root", "cluster/*"]);
  t.equal(none.status, 2);
  t.match(none.stderr, "--root cluster/*: matches no folder that contains objects\n");
  const a = { "a.yaml": selector("111122223333") };
  const apart = t.testdir({ a, b: { "b.yaml": BUCKET }, c: { "c.yaml": BUCKET } });
  const partly = await runCommand(["lint", apart, "--root", "?", "--root", "x*,y"]);
  t.match(partly.stderr, "--root x*,y: matches no folder");
  t.match((await runCommand(["lint", apart, "--root", "?"])).stderr, "3 roots");
});

test("a duplicate in one root, and a duplicate for migrate carm, are faults", async (t) => {
  const dev = { ...FLEET.clusters.dev, "again.yaml": selector("777788889999") };
  const dir = t.testdir({ ...FLEET, clusters: { ...FLEET.clusters, dev } });
  for (const argv of [["lint", dir], ["resolve", dir], ["audit", dir], ["impact", dir, "--from", dir]]) {
    const { status, stderr } = await runCommand(argv);
    t.equal(status, 2, argv.join(" "));
    t.equal(stderr.match(/duplicate IAMRoleSelector/g)?.length, 1, argv.join(" "));
    t.notMatch(stderr, "clusters/prod/selector.yaml");
  }
  t.match((await runCommand(["migrate", "carm", t.testdir(FLEET)])).stderr, "duplicate IAMRoleSelector");
});

test("impact compares the roots of two checkouts", async (t) => {
  const prod = { "selector.yaml": selector("777788889999") };
  const before = t.testdir({ main: structuredClone(FLEET), pr: { ...FLEET, clusters: { ...FLEET.clusters, prod } } });
  const json = (...argv: readonly string[]): Promise<Output> => jsonOf("impact", ...argv);
  const [main, pr] = [`${before}/main`, `${before}/pr`];
  t.match(await json(pr, "--from", main), {
    roots: [{ summary: { unchanged: 1, account: 0 } }, { summary: { unchanged: 0, account: 1 } }],
    changes: [{ root: `${main}/clusters/prod`, change: "account", after: { accountID: "777788889999" } }],
  });
  t.match((await runCommand(["impact", pr, "--from", main])).stdout, /^Root [^]*\nRoot [^]*other account/);
  t.match(await json(`${main}/clusters/prod/selector.yaml`, "--from", main), {
    summary: { unchanged: 1 }, changes: [],
  }, "a file of a root changes only this root");
  const renamed = selector("777788889999").replace("name: team-a", "name: team-z");
  const other = t.testdir({ "a.yaml": renamed, fleet: FLEET });
  t.match(await json(`${other}/a.yaml`, "--from", `${other}/fleet`), {
    roots: [{ summary: { conflict: 1 } }, { summary: { conflict: 1 } }],
  }, "a file in no root changes each root");
  t.match(await json(`${other}/fleet`, "--from", `${other}/fleet/clusters/dev`), { roots: [{}, {}] },
    "roots of the change, one state");
  const empty = await json("-", "--allow-empty", "--from", `${other}/fleet`);
  t.match(empty, { roots: [] }, "nothing is applied");
  const added = { ...FLEET, clusters: { ...FLEET.clusters, stage: { "selector.yaml": selector("123412341234") } } };
  const more = t.testdir({ main: structuredClone(FLEET), pr: added });
  const { changes } = await json(`${more}/pr`, "--from", `${more}/main`);
  t.match(changes, [{ root: "clusters/stage", before: { outcome: "default" }, after: { accountID: "123412341234" } }]);
});
