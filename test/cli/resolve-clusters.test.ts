import { test } from "tap";
import { runCommand } from "./run-command.ts";

const API = "infrastructure.cluster.x-k8s.io/v1beta2";
const STATE = `apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {tier: gold}}
---
apiVersion: ${API}
kind: AWSClusterControllerIdentity
metadata: {name: default}
spec: {allowedNamespaces: {list: [team-a]}}
---
apiVersion: ${API}
kind: AWSClusterRoleIdentity
metadata: {name: workload}
spec:
  roleARN: arn:aws:iam::111122223333:role/workload
  allowedNamespaces: {selector: {matchLabels: {tier: gold}}}
  sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}
---
apiVersion: ${API}
kind: AWSClusterStaticIdentity
metadata: {name: keys}
spec: {secretRef: keys, allowedNamespaces: {}}
---
apiVersion: ${API}
kind: AWSCluster
metadata: {name: c1, namespace: team-a}
spec: {identityRef: {kind: AWSClusterRoleIdentity, name: workload}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: {name: c2, namespace: team-a}
spec: {identityRef: {kind: AWSClusterStaticIdentity, name: keys}}
---
apiVersion: ${API}
kind: AWSCluster
metadata: {name: c3}
---
`;
const REASONS = {
  selector: "allowedNamespaces.selector selects the namespace",
  list: "allowedNamespaces.list contains the namespace",
};

test("the tables show the role, the identity without a role, or the error code", async (t) => {
  const text = await runCommand(["resolve", "--from", "-"], { stdin: STATE });
  t.same(text.stdout.split("\n").map((line) => line.trimEnd()), [
    "NAMESPACE  RESOURCE                   OUTCOME   ROLE OR REASON",
    "team-a     AWSCluster/c1              selected  111122223333/workload",
    "team-a     AWSManagedControlPlane/c2  selected  AWSClusterStaticIdentity/keys",
    "default    AWSCluster/c3              refused   ERR_IDENTITY_NAMESPACE",
    "",
  ]);
  const wide = await runCommand(["resolve", "--from", "-", "-o", "wide"], { stdin: STATE });
  t.match(wide.stdout, /OUTCOME +IDENTITIES +ROLE/);
  t.match(wide.stdout, "AWSClusterRoleIdentity/workload, AWSClusterControllerIdentity/default");
});

test("-o wide has a heading for selectors and identities, and states that a reference lacks its kind", async (t) => {
  const bucket = "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\nmetadata: {name: b}\n---\n";
  const faulty = `apiVersion: ${API}\nkind: AWSCluster\nmetadata: {name: c4}\nspec: {identityRef: {}}\n`;
  const { stdout } = await runCommand(["resolve", "--from", "-", "-o", "wide"], { stdin: bucket + faulty });
  t.match(stdout, /OUTCOME +SELECTORS OR IDENTITIES +ROLE/);
  t.match(stdout, /AWSCluster\/c4 +refused +\(no kind\)\/\(no name\) /);
});

test("the tables name CAPA for a cluster that uses the controller identity", async (t) => {
  const query = ["-n", "team-a", "--kind", "AWSCluster.infrastructure.cluster.x-k8s.io"];
  const { stdout } = await runCommand(["resolve", "--from", "-", ...query], { stdin: STATE });
  t.match(stdout, /\nteam-a +AWSCluster +default +the account of CAPA\n$/);
  const wide = await runCommand(["resolve", "--from", "-", ...query, "-o", "wide"], { stdin: STATE });
  t.match(wide.stdout, /default +AWSClusterControllerIdentity\/default +the account of CAPA +-\n$/);
});

/** The selector of this identity allows every namespace if an earlier CAPA stores it, and none otherwise. */
const UNRESTRICTED = `apiVersion: ${API}
kind: AWSClusterStaticIdentity
metadata: {name: s}
spec: {secretRef: s, allowedNamespaces: {selector: {matchLabels: {}}}}
---
apiVersion: ${API}
kind: AWSCluster
metadata: {name: c}
spec: {identityRef: {kind: AWSClusterStaticIdentity, name: s}}
`;

test("--capa-version decides which namespaces a selector without requirements allows", async (t) => {
  const stdin = UNRESTRICTED;
  t.match((await runCommand(["resolve", "--from", "-"], { stdin })).stdout, /refused +ERR_IDENTITY_NAMESPACE/);
  const earlier = await runCommand(["resolve", "--from", "-", "--capa-version", "v2.8.4"], { stdin });
  t.match(earlier.stdout, /selected +AWSClusterStaticIdentity\/s/);
});

test("the Deployment of CAPA states its version, also for a change of the same manifests", async (t) => {
  const capa = (version: string): string => JSON.stringify({
    apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "capa-controller-manager", namespace: "capa-system" },
    spec: { template: { spec: { containers: [{ image: `mirror.example/cluster-api-aws-controller:${version}` }] } } },
  });
  const dir = t.testdir({ "objects.yaml": UNRESTRICTED, "capa.json": capa("v2.8.4") });
  const earlier = await runCommand(["resolve", dir, "-v"]);
  t.match(earlier.stdout, /selected +AWSClusterStaticIdentity\/s/);
  t.match(earlier.stderr, "identities are judged as CAPA v2.8.4 stores them, the version in Deployment capa-");
  t.match((await runCommand(["resolve", dir, "--capa-version", "v2.10.0"])).stdout, /refused +ERR_IDENTITY_NAMESPACE/);
  const same = await runCommand(["impact", `${dir}/objects.yaml`, "--from", dir]);
  t.match(same.stdout, "1 unchanged");
  const latest = t.testdir({ "objects.yaml": UNRESTRICTED, "capa.json": capa("v2.10.0") });
  const { stdout, stderr } = await runCommand(["resolve", latest]);
  t.match(stdout, /refused +ERR_IDENTITY_NAMESPACE/);
  t.notMatch(stderr, "v2.10.0");
});

test("--explain prints each identity of the chain, and why it allows the namespace", async (t) => {
  const { stdout } = await runCommand(["resolve", "--from", "-", "--explain"], { stdin: STATE });
  t.match(stdout, [
    "AWSCluster team-a/c1: selected",
    '  AWSClusterRoleIdentity "workload" provides the credentials, with the credentials of '
      + 'AWSClusterControllerIdentity "default".',
    `  AWSClusterRoleIdentity/workload: allowed: ${REASONS.selector}`,
    `  AWSClusterControllerIdentity/default: allowed: ${REASONS.list}`,
    "",
  ].join("\n"));
  t.match(stdout, "  AWSClusterControllerIdentity/default: not allowed: allowedNamespaces.list does not contain");
  t.notMatch(stdout, "No IAMRoleSelector exists");
});

test("--kind resolves a cluster that does not exist yet, with the controller identity", async (t) => {
  const kind = ["--kind", "AWSCluster.infrastructure.cluster.x-k8s.io", "-o", "json"];
  const resolved = async (namespace: string): Promise<unknown> => (
    JSON.parse((await runCommand(["resolve", "--from", "-", "-n", namespace, ...kind], { stdin: STATE })).stdout)
  );
  t.match(await resolved("team-a"), [{ resource: { apiVersion: API, name: null }, outcome: "default" }]);
  t.match(await resolved("team-b"), [{ outcome: "refused", code: "ERR_IDENTITY_NAMESPACE" }]);
  const argv = ["resolve", "--from", "-", "--kind", "AWSMachine.infrastructure.cluster.x-k8s.io"];
  const machine = await runCommand(argv, { stdin: STATE });
  t.equal(machine.status, 2);
  t.match(machine.stderr, "the kind has no identityRef; expected one of AWSCluster.infrastructure.cluster.x-k8s.io,");
});
