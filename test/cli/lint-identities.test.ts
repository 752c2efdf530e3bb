import path from "node:path";
import { test } from "tap";
import { runCommand } from "./run-command.ts";

const EXAMPLES = path.resolve(import.meta.dirname, "../fixtures/capa/documented-examples.yaml");

interface Found {
  readonly name: string;
  readonly code: string;
  readonly severity: string;
  readonly path: string;
}

test("reports the mistakes in the examples of CAPA's documentation", async (t) => {
  const { status, stdout } = await runCommand(["lint", EXAMPLES, "-o", "json"]);
  t.equal(status, 1);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the JSON of lint
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly Found[] };
  t.same(findings.map(({ name, code, severity, path: field }) => `${name} ${severity} ${code} ${field}`), [
    "default deny CI-00 spec",
    "default warn CI-03 spec.allowedNamespaces",
    "default deny CI-33 apiVersion",
    "texts deny CI-00 spec.allowedNamespaces.list",
    "texts deny CI-00 spec.allowedNamespaces.selector",
    "texts deny CI-00 spec.secretRef",
    "texts deny CI-11 spec.secretRef",
    "empty-selector warn CI-02 spec.allowedNamespaces.selector",
    "test-account-role deny CI-00 spec.allowedNamespaces.list",
    "test-account-role deny CI-00 spec.policyARNs",
    "test-account-role deny CI-20 spec.roleARN",
    "test-account-role deny CI-25 spec.sourceIdentityRef.kind",
    "multi-tenancy-role deny CI-00 spec.sourceidentityRef",
    "multi-tenancy-role deny CI-20 spec.roleARN",
    "multi-tenancy-role deny CI-25 spec.sourceIdentityRef",
    "test-account deny CI-33 kind",
    "by-label deny AC-02 spec.identityRef",
    "by-kind deny AC-00 spec.identityRef.kind",
  ]);
});

const CLUSTERS = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: keys}
spec: {secretRef: creds, allowedNamespaces: {list: [ns1, ns2]}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterRoleIdentity
metadata: {name: workload}
spec:
  roleARN: arn:aws:iam::111122223333:role/workload
  allowedNamespaces: {list: [ns1, ns2, ns3]}
  sourceIdentityRef: {kind: AWSClusterStaticIdentity, name: keys}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: prod, namespace: ns1, labels: {cluster.x-k8s.io/cluster-name: prod}}
spec: {identityRef: {kind: AWSClusterRoleIdentity, name: workload}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: prod, namespace: ns2}
spec: {identityRef: {kind: AWSClusterRoleIdentity, name: workload}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: ROSAControlPlane
metadata: {name: cp, namespace: ns1, labels: {cluster.x-k8s.io/cluster-name: prod}}
spec: {identityRef: {kind: AWSClusterStaticIdentity, name: keys}}
`;

test("compares the identities and clusters of a folder with each other", async (t) => {
  const { status, stdout } = await runCommand(["lint", "-"], { stdin: CLUSTERS });
  t.equal(status, 0);
  t.match(stdout, /-:11: warn CI-27 .*\n.* AWSClusterStaticIdentity "keys" does not allow 1 namespace: ns3\n/);
  t.match(stdout, /warn AC-06 AWSCluster ns1\/prod .*\n.* 1 other identity: AWSClusterStaticIdentity "keys" \(ROSA/);
  t.match(stdout, /warn AC-07 AWSCluster ns1\/prod .*\n +account 111122223333 .* 1 other namespace: ns2\n/);
  t.match(stdout, /warn AC-07 AWSCluster ns2\/prod .*\n +account 111122223333 .* 1 other namespace: ns1\n/);
});
