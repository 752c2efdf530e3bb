import { type Test, test } from "tap";
import { EXTENDED_NOTICE } from "../../shared/core/context.ts";
import { gatedDeployment } from "../fixtures/controllers.ts";
import { ACK_SELECTOR_CRD, olderACKSelectorCRD } from "../fixtures/ack-selector-crd.ts";
import {
  BUCKETS, definition, DEFINITIONS, FakeCluster, NAMESPACES_PATH, resource, SELECTORS_PATH,
} from "../shared/api/fake-cluster.ts";
import { type CommandResult, runCommand } from "./run-command.ts";

const selector = (name: string, arn: string, namespace: string): object => ({
  metadata: { name, resourceVersion: "7", managedFields: [{ manager: "kubectl" }] },
  spec: { arn, namespaceSelector: { names: [namespace] } },
});
const MANIFEST = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: a}
spec: {arn: "arn:aws:iam::444455556666:role/a", namespaceSelector: {names: [team-a]}}
`;

/** Returns a function that runs a command with --cluster against a fake API server on loopback. */
async function onFakeCluster(
  t: Test,
  prepare: (cluster: FakeCluster) => void = () => {},
): Promise<(command: string, ...rest: readonly string[]) => Promise<CommandResult>> {
  const cluster = new FakeCluster();
  await cluster.start();
  t.teardown(() => cluster.server.stop());
  cluster.objects.set(DEFINITIONS, [definition("s3.services.k8s.aws", "Bucket")]);
  cluster.objects.set(NAMESPACES_PATH, [{ metadata: { name: "team-a", resourceVersion: "1" } }]);
  cluster.objects.set(SELECTORS_PATH, [
    selector("b", "arn:aws:iam::111122223333:role/b", "team-b"),
    selector("a", "arn:aws:iam::111122223333:role/a", "team-a"),
  ]);
  cluster.objects.set(BUCKETS, [resource("b2", { namespace: "team-b" }), resource("b1")]);
  prepare(cluster);
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: cluster.server.url } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "test", context: { cluster: "c", user: "u" } }],
  };
  const dir = t.testdir({ kubeconfig: JSON.stringify(kubeconfig) });
  return (command, ...rest) =>
    runCommand([command, "--cluster", "--kubeconfig", `${dir}/kubeconfig`, "--context", "test", ...rest], {
      stdin: MANIFEST,
    });
}

test("resolve, audit, impact and lint read the objects of a cluster and sort the objects", async (t) => {
  const run = await onFakeCluster(t);
  const resolved = await run("resolve");
  t.equal(resolved.status, 0, resolved.stderr);
  t.equal(resolved.stdout, [
    "NAMESPACE  RESOURCE   OUTCOME   ROLE OR REASON",
    "team-a     Bucket/b1  selected  111122223333/a",
    "team-b     Bucket/b2  selected  111122223333/b",
    "",
  ].join("\n"));
  t.equal(resolved.stderr, "", "no progress is shown if stderr is not a terminal");
  const impact = await run("impact", "-");
  t.equal(impact.status, 1);
  t.match(impact.stdout, /^2 resources: 1 other account, 1 unchanged\n/);
  const audit = await run("audit", "-o", "json", "--allowed-accounts", "999999999999");
  t.equal(audit.status, 1);
  t.match(JSON.parse(audit.stdout), { summary: { selectors: 2, resources: 2, unexpectedAccounts: 2, onDefault: 0 } });
  const lint = await run("lint", "-o", "json", "--allowed-accounts", "999999999999");
  t.match(JSON.parse(lint.stdout), {
    findings: [{ file: null, line: null, kind: "IAMRoleSelector", name: "a", code: "IRS-04" }],
  });
  t.match(
    (await run("lint", "--allowed-accounts", "999999999999")).stdout,
    /^deny IRS-04 IAMRoleSelector a spec\.arn: [^\n]+ \(and 1 more: IAMRoleSelector b\)\n/,
    "a cluster object has no file name in text output",
  );
});

test("audit reports a CRD that lacks fields, an unknown ACK group, and a kind that cannot be listed", async (t) => {
  const things = "/apis/new.services.k8s.aws/v1alpha1/things";
  const run = await onFakeCluster(t, (cluster) => {
    const selectors = { ...olderACKSelectorCRD(), metadata: { ...ACK_SELECTOR_CRD.metadata, resourceVersion: "1" } };
    const bucket = definition("s3.services.k8s.aws", "Bucket");
    cluster.objects.set(DEFINITIONS, [selectors, bucket, definition("new.services.k8s.aws", "Thing")]);
    cluster.errors.set(things, { status: 403 });
  });
  const { stdout, status } = await run("audit");
  t.equal(status, 0, "the findings are warnings");
  t.match(stdout, /warn AUD-08 CustomResourceDefinition iamroleselectors\.services\.k8s\.aws spec\.versions: /);
  t.match(stdout, "the CRD does not define spec.resourceLabelSelector, which the CRD of ACK's charts defines");
  t.match(stdout, /warn AUD-09 CustomResourceDefinition things\.new\.services\.k8s\.aws spec\.group: /);
  t.match(stdout, /warn AUD-10 CustomResourceDefinition things\.new\.services\.k8s\.aws spec\.names\.plural: /);
  t.notMatch(stdout, "buckets.s3.services.k8s.aws");
  const known = await run("audit", "--extra-groups", "new.services.k8s.aws");
  t.notMatch(known.stdout, "AUD-09");
});

test("with --runtime extended, each command writes one notice to stderr", async (t) => {
  const run = await onFakeCluster(t);
  const notice = `warning: ${EXTENDED_NOTICE}\n`;
  for (const command of ["resolve", "audit", "lint"]) {
    t.equal((await run(command, "--runtime", "extended")).stderr.split(notice).length, 2, command);
    t.notMatch((await run(command)).stderr, notice, command);
  }
  t.equal((await run("impact", "-", "--runtime", "extended")).stderr.split(notice).length, 2);
  const manifests = await runCommand(["manifests", "crds", "--runtime", "extended"]);
  t.equal(manifests.stderr.split(notice).length, 2);
});

const ARGS = new Map([["new", ["--profile-namespace=platform"]], ["own", ["--profile-namespace=team-a"]]]);

test("audit names the Pods whose sidecar does not follow the profile of the installation", async (t) => {
  const prepare = (profile: string) => (cluster: FakeCluster): void => {
    cluster.objects.set("/api/v1/pods", ["old", "new", "own"].map((name) => ({
      metadata: { name, namespace: "ack-system", resourceVersion: "1", managedFields: [] },
      spec: { containers: [{
        name: "ack-role-resolver", args: ["sidecar", ...(ARGS.get(name) ?? [])],
      }] },
    })));
    const metadata = { name: "ack-role-resolver-profile", namespace: "platform", resourceVersion: "1" };
    cluster.objects.set("/api/v1/configmaps", [{ metadata, data: { profile } }]);
  };
  const run = await onFakeCluster(t, prepare("strict"));
  const { stdout, status } = await run("audit");
  t.equal(status, 0, "the finding is a warning");
  t.match(stdout, /warn AUD-16 Pod ack-system\/old spec\.containers\[0\]: /);
  t.match(stdout, "run `kubectl -n ack-system delete pod old`");
  t.match(stdout, /warn AUD-16 Pod ack-system\/own spec\.containers\[0\]: /, "it follows another namespace");
  t.notMatch(stdout, "ack-system/new");
  const enforced = await onFakeCluster(t, prepare("enforce"));
  t.notMatch((await enforced("audit")).stdout, "AUD-16");
  t.match((await enforced("audit", "--profile", "strict")).stdout, "AUD-16", "before the upgrade");
  const blind = await onFakeCluster(t, (cluster) => cluster.errors.set("/api/v1/configmaps", { status: 403 }));
  const needs = "the right to list Pods, and ConfigMaps of the name ack-role-resolver-profile";
  t.match((await blind("audit", "-v")).stderr, needs);
  t.notMatch((await blind("audit", "-v", "--check", "AUD-16=off")).stderr, needs);
});

const DEPLOYMENTS = "/apis/apps/v1/deployments";
const DEPLOYMENTS_OF_ACK = "/apis/apps/v1/namespaces/ack-system/deployments";

test("audit reads the Deployments of the controllers, and says if it may not", async (t) => {
  const { metadata, spec } = gatedDeployment("IAMRoleSelector=true", true);
  const run = await onFakeCluster(t, (cluster) => {
    cluster.objects.set(DEPLOYMENTS, [{ metadata: Object.assign({ resourceVersion: "1" }, metadata), spec }]);
  });
  const { stdout } = await run("audit");
  t.match(stdout, "\nack-system/ack-s3  nothing: it exits  eu-west-1  all namespaces  EKS Pod Identity");
  t.match(stdout, "deny AUD-15 Deployment ack-system/ack-s3 spec.template.spec.containers: ");
  const denied = await onFakeCluster(t, (cluster) => {
    for (const path of [DEPLOYMENTS, DEPLOYMENTS_OF_ACK]) cluster.errors.set(path, { status: 403 });
  });
  t.match((await denied("audit")).stdout,
    "\nnote: the configuration of the controllers is unknown: not allowed to list deployments.apps in the namespace "
    + "ack-system; grant the verb list on it; API server message: simulated; state it with flags\n");
  const absent = await onFakeCluster(t);
  t.match((await absent("audit")).stdout, "unknown: namespace ack-system has no Deployment of an ACK controller");
});

test("audit fails if the controllers use CARM and their maps may not be read", async (t) => {
  const { metadata, spec } = gatedDeployment("", true);
  const run = await onFakeCluster(t, (cluster) => {
    cluster.objects.set(DEPLOYMENTS, [{ metadata: Object.assign({ resourceVersion: "1" }, metadata), spec }]);
    cluster.errors.set("/api/v1/namespaces/ack-system/configmaps", { status: 403 });
  });
  t.match(await run("audit"), { status: 2, stderr: /The cluster cannot be read: not allowed to list configmaps/ });
  t.equal((await run("audit", "--mode", "selectors")).status, 0);
});

const ALL_MAPS = "/api/v1/configmaps";

const ALL_MAPS_RIGHT = "the right to list the CARM maps by name in all namespaces";

test("lint and audit report a CARM map outside the system namespace", async (t) => {
  const stray = { metadata: { name: "ack-role-account-map", namespace: "team-a", resourceVersion: "1" }, data: {} };
  const run = await onFakeCluster(t, (cluster) => cluster.objects.set(ALL_MAPS, [stray]));
  for (const command of ["lint", "audit"]) {
    const { stdout, stderr } = await run(command, "-v");
    t.match(stdout, /warn CM-07 ConfigMap team-a\/ack-role-account-map/, command);
    t.notMatch(stderr, ALL_MAPS_RIGHT, command);
  }
});

test("lint and audit report that CM-07 is skipped if the user may not list all CARM maps", async (t) => {
  const run = await onFakeCluster(t, (cluster) => cluster.errors.set(ALL_MAPS, { status: 403 }));
  for (const command of ["lint", "audit"]) {
    const { stdout } = await run(command, "-o", "json");
    t.match(stdout, /"code": "CM-07",\s+"needs": "the right to list the CARM maps by name in all namespaces"/, command);
    t.match((await run(command, "-v")).stderr, ALL_MAPS_RIGHT, command);
    t.notMatch((await run(command, "-v", "--check", "CM-07=off")).stderr, ALL_MAPS_RIGHT, command);
  }
  t.notMatch((await run("resolve")).stderr, ALL_MAPS_RIGHT, "resolve does not need these maps");
});

test("exits 2 if the command line has both --cluster and --from", async (t) => {
  const run = await onFakeCluster(t);
  for (const command of ["resolve", "audit", "lint", "impact"]) {
    const { status, stdout, stderr } = await run(command, "--from", "x");
    t.equal(status, 2);
    t.equal(stdout, "");
    t.match(stderr, "--from, --cluster: exactly one is required");
  }
});

test("exits 2 and names the missing permission if the cluster denies listing a known kind", async (t) => {
  const run = await onFakeCluster(t, ({ errors }) => errors.set(BUCKETS, { status: 403 }));
  const { status, stdout, stderr } = await run("audit");
  t.equal(status, 2);
  t.equal(stdout, "");
  t.match(
    stderr,
    /^ack-role-resolver: The cluster cannot be read: not allowed to list buckets\.s3\.services\.k8s\.aws [^\n]*\n$/,
  );
});

test("exits 2 and reports a refused connection once", async (t) => {
  // No process listens on port 1 (tcpmux).
  const dir = t.testdir({
    kubeconfig: JSON.stringify({
      clusters: [{ name: "c", cluster: { server: "http://127.0.0.1:1" } }], users: [{ name: "u", user: {} }],
      contexts: [{ name: "test", context: { cluster: "c", user: "u" } }],
    }),
  });
  const flags = ["--cluster", "--kubeconfig", `${dir}/kubeconfig`, "--context", "test"];
  const { status, stdout, stderr } = await runCommand(["resolve", ...flags]);
  t.same({ status, stdout }, { status: 2, stdout: "" });
  t.equal(
    stderr,
    "ack-role-resolver: The cluster cannot be read: cannot list or watch 5 kinds: connect ECONNREFUSED 127.0.0.1:1; "
      + "check that the API server is running and reachable.\n",
  );
});

test("an unknown ACK kind that cannot be listed causes a warning, and is not judged", async (t) => {
  const run = await onFakeCluster(t, ({ objects, errors }) => {
    objects.set(DEFINITIONS, [
      definition("s3.services.k8s.aws", "Bucket"),
      definition("new.services.k8s.aws", "Thing"),
    ]);
    errors.set("/apis/new.services.k8s.aws/v1alpha1/things", { status: 403 });
  });
  const { status, stderr } = await run("resolve");
  t.equal(status, 0, stderr);
  t.match(stderr, /^warning: cannot list [^\n]*new\.services\.k8s\.aws[^\n]*; the result omits its objects\n/);
  const coverage = "1 object not judged: kinds that the cluster does not list";
  t.match(stderr, coverage);
  for (const command of ["resolve", "audit", "lint"]) {
    const failed = await run(command, "--fail-on", "unjudged");
    t.equal(failed.status, 1, command);
    t.match(failed.stdout + failed.stderr, coverage);
  }
});

test("--namespace reports only the objects of one namespace, and still reads the others", async (t) => {
  const run = await onFakeCluster(t);
  t.match((await run("resolve", "-n", "team-b")).stdout, /^NAMESPACE.*\nteam-b {5}Bucket\/b2 {2}selected.*\n$/);
  t.match(JSON.parse((await run("audit", "-n", "team-a", "-o", "json")).stdout), {
    summary: { objects: 1, selectors: 0, resources: 1, onDefault: 0 },
  });
  t.match(await run("lint", "-n", "team-a", "--allowed-accounts", "999999999999"), { status: 0, stdout: /^1 checked/ });
});
