import { test } from "tap";
import { runCommand } from "./run-command.ts";

const SELECTOR = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec:
  arn: arn:aws:iam::111122223333:role/team-a
  namespaceSelector: {names: [team-a]}
`;
const BUCKET = `apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: logs, namespace: team-a}
spec: {name: logs}
`;
const PATCH = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec: {arn: "arn:aws:iam::444455556666:role/team-a"}
`;
const TEMPLATE = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: {{ .Values.name }}}
`;
const CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata: {name: manifests}
data:
  a.yaml: |
    apiVersion: v1
    kind: Namespace
    ---
    apiVersion: s3.services.k8s.aws/v1alpha1
    kind: Bucket
`;

const coverage = async (dir: string, ...flags: readonly string[]): Promise<unknown> =>
  JSON.parse((await runCommand(["lint", dir, "-o", "json", ...flags])).stdout).coverage;

test("a patch next to its base is counted and is no duplicate", async (t) => {
  const base = { "kustomization.yaml": "resources: [selector.yaml]\n", "selector.yaml": SELECTOR };
  const overlay = {
    "kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../base, bucket.yaml]
patches:
  - path: ./role.yaml
  - {path: names.json, target: {kind: IAMRoleSelector}}
  - {path: labels.yaml, target: {kind: Deployment}}
`,
    "bucket.yaml": BUCKET, "role.yaml": PATCH, "names.json": `[{"op": "remove", "path": "/spec/a"}]`,
    "labels.yaml": "- {op: remove, path: /spec/a}\n",
  };
  const dir = t.testdir({ base, prod: overlay });
  const { status, stdout, stderr } = await runCommand(["lint", dir]);
  t.equal(status, 0);
  t.equal(stdout, "2 checked, 0 denied, 0 warned; 3 objects not judged: no ACK or CAPA kind (1), "
    + "in Kustomize patches (2); some checks need more input (-v for details)\n");
  t.equal(stderr, "");
  const all = await runCommand(["lint", dir, "-v"]);
  t.match(all.stderr, `skipped ${dir}/prod/role.yaml: Kustomize patch\n`);
  t.match(all.stderr, `not judged: no ACK or CAPA kind
    Kustomization: 1
        ${dir}/prod/kustomization.yaml: 1
not judged: in Kustomize patches; to judge them: kubectl kustomize DIR | ack-role-resolver lint -
    ${dir}/prod/names.json: 1
    ${dir}/prod/role.yaml: 1
`);
  t.match(await coverage(dir), { judged: 2, notJudged: 2, reasons: { patch: 2 } });
  for (const command of ["lint", "audit", "resolve", "impact"]) {
    const argv = command === "impact" ? [command, dir, "--from", dir] : [command, dir];
    t.equal((await runCommand(argv)).status, 0, command);
    t.equal((await runCommand([...argv, "--fail-on", "unjudged"])).status, 1, command);
  }
  t.equal((await runCommand(["lint", `${dir}/prod/role.yaml`])).stdout.split("\n").at(-2)?.slice(0, 9), "1 checked",
    "a file that the user names is judged");
});

test("inline patches, old fields, and generators of CARM maps are counted", async (t) => {
  const kustomization = `resources: [a.yaml]
patchesStrategicMerge:
  - old.yaml
  - |-
    apiVersion: services.k8s.aws/v1alpha1
    kind: IAMRoleSelector
    metadata: {name: a}
  - |-
    apiVersion: apps/v1
    kind: Deployment
patchesJson6902:
  - {path: json.yaml, target: {group: s3.services.k8s.aws, version: v1alpha1, name: logs}}
  - {patch: "[]", target: {labelSelector: "a=b"}}
patches:
  - 1
  - {patch: "[]"}
configMapGenerator:
  - {name: ack-role-account-map, literals: [a=b]}
  - {name: other}
  - {}
`;
  const files = { "a.yaml": SELECTOR, "old.yaml": PATCH, "json.yaml": "[]" };
  const dir = t.testdir({ Kustomization: kustomization, ...files });
  t.match(await coverage(dir), { judged: 1, reasons: { patch: 5 } });
  const listed = "resources: [a.yaml]\npatches: [{path: a.yaml}]\n";
  const both = t.testdir({ "kustomization.yml": listed, "a.yaml": SELECTOR });
  t.match(await coverage(both), { judged: 1, notJudged: 0 }, "a resource that is a patch too is judged");
  const invalid = t.testdir({ "kustomization.yml": "a: &a\n  b: *c\n", "a.yaml": SELECTOR });
  t.match(await coverage(invalid, "--skip-unreadable"), { judged: 1 });
});

test("counts templates that are not rendered, objects in an unknown form, and unknown kinds", async (t) => {
  const dir = t.testdir({
    "a.yaml": SELECTOR,
    chart: {
      "Chart.yaml": "name: x", templates: { "a.yaml": TEMPLATE, "b.yaml": "kind: Deployment\n{{ a }}" },
      "values.yaml": `extraObjects:\n  - ${BUCKET.replaceAll("\n", "\n    ")}`,
    },
    "loose.yaml": `a: {{ b }}\n---\n${TEMPLATE}---\nkind: Service\n`,
    "map.yaml": CONFIG_MAP,
    "work.yaml": `apiVersion: work.example/v1
kind: Work
spec:
  reference: {apiVersion: s3.services.k8s.aws/v1alpha1, kind: Bucket, name: a}
  manifests:
    - {apiVersion: s3.services.k8s.aws/v1alpha1, kind: Bucket, metadata: {name: a}}
    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
`,
    "kinds.yaml": `apiVersion: infrastructure.cluster.x-k8s.io/v1beta9
kind: AWSFleet
metadata: {name: a}
spec: {identityRef: {kind: AWSClusterRoleIdentity, name: a}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata: {name: a}
---
apiVersion: services.k8s.aws/v1alpha1
kind: Thing
metadata: {name: a}
---
apiVersion: services.k8s.aws/v1alpha1
kind: AdoptedResource
metadata: {name: a}
---
apiVersion: example.com/v1
kind: Other
metadata: {name: IAMRoleSelector}
`,
  });
  t.strictSame(await coverage(dir), {
    judged: 3, notJudged: 7, reasons: { "unrendered": 2, "embedded": 4, "unknown-kind": 1 },
  });
});

test("counts the references to identities in variables, but not those in objects that are counted", async (t) => {
  const dir = t.testdir({
    "cluster.yaml": `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: a, namespace: team-a}
spec:
  topology:
    class: eks
    variables:
    - {name: clusterConfig, value: {eks: {identityRef: {kind: AWSClusterRoleIdentity, name: a}}}}
    - {name: identityRef, value: {kind: AWSClusterStaticIdentity, name: b}}
    - {name: owner, value: {apiVersion: v1, kind: AWSClusterRoleIdentity, name: a, uid: u}}
    - {name: other, value: {kind: AWSClusterRoleIdentity, name: 5}}
---
apiVersion: work.example/v1
kind: Work
metadata: {name: a}
spec:
  cluster:
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
    kind: AWSCluster
    metadata: {name: a}
    spec: {identityRef: {kind: AWSClusterRoleIdentity, name: a}}
`,
  });
  t.strictSame(await coverage(dir), { judged: 0, notJudged: 3, reasons: { embedded: 1, reference: 2 } });
  const { stdout } = await runCommand(["lint", dir]);
  t.match(stdout, "references to identities in variables or unknown fields (2)");
});

test("counts an object in an unknown form beside 200,000 other values", async (t) => {
  const items = [{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "a" } }];
  const spec = { items: [...items, ...Array.from({ length: 200_000 }, () => 1)] };
  const dir = t.testdir({
    "work.json": JSON.stringify({ apiVersion: "work.example/v1", kind: "Work", metadata: { name: "a" }, spec }),
  });
  t.strictSame(await coverage(dir), { judged: 0, notJudged: 1, reasons: { "embedded": 1 } });
});

test("counts the objects in values files and other data, but not the names of their kinds", async (t) => {
  const dir = t.testdir({
    "values.yaml": "identity: {kind: AWSClusterRoleIdentity, name: a}\n",
    "values.schema.json": JSON.stringify({ items: [{ kind: "AWSCluster", example: "kind: AWSCluster" }] }),
    "values-extra.yaml": "extraObjects:\n- |\n  kind: Namespace\n  metadata: {name: a}\n",
    "raw.yaml": "objects: [{apiVersion: v1, kind: Namespace, metadata: {name: a}}]\n",
  });
  t.match(await coverage(dir), { notJudged: 2, reasons: { embedded: 2 } });
});

test("counts the faults of files that --skip-unreadable skips", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR, "b.yaml": "a: [\n" });
  t.strictSame(await coverage(dir, "--skip-unreadable"), { judged: 1, notJudged: 1, reasons: { unreadable: 1 } });
});

test("one line says what was not judged, and --fail-on accepts a list", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR, "kustomization.yaml": "patches: [{patch: '', target: {}}]" });
  const { stderr } = await runCommand(["lint", dir, "-o", "sarif"]);
  t.equal(stderr, "1 object not judged: in Kustomize patches (-v for details)\n");
  t.equal((await runCommand(["lint", dir, "-o", "sarif", "--quiet"])).stderr, "");
  t.equal((await runCommand(["lint", dir, "--fail-on", "warn"])).status, 0);
  t.equal((await runCommand(["lint", dir, "--fail-on", "warn,unjudged"])).status, 1);
  const wrong = await runCommand(["resolve", dir, "--fail-on", "warn"]);
  t.equal(wrong.status, 2);
  t.match(wrong.stderr, '--fail-on "warn": expected one of unjudged');
  const cluster = await runCommand(["audit", `${dir}/a.yaml`, "-o", "json"]);
  t.match(JSON.parse(cluster.stdout), { coverage: { judged: 1, notJudged: 0, reasons: {} } });
});

const IDENTITY = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: team-a}
spec: {secretRef: team-a, allowedNamespaces: {list: [team-a]}}
`;

function classWith(valueFrom: string): string {
  return `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: aws, namespace: team-a}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterTemplate, name: aws}
  patches:
    - definitions:
        - selector:
            apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
            kind: AWSClusterTemplate
            matchResources: {infrastructureCluster: true}
          jsonPatches: [{op: add, path: /spec/template/spec/identityRef, valueFrom: ${valueFrom}}]
`;
}

function clusterOf(name: string, identity: string): string {
  return `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: ${name}, namespace: team-a}
spec:
  topology:
    classRef: {name: aws}
    variables:
      - name: identity
        value: {kind: AWSClusterStaticIdentity, name: ${identity}}
`;
}

test("judges the identities that patches of a ClusterClass set from variables, and counts the others", async (t) => {
  const prod = clusterOf("prod", "taem-a");
  const files = { "identity.yaml": IDENTITY, "prod.yaml": prod, "dev.yaml": clusterOf("dev", "team-a") };
  const root = t.testdir({
    state: { ...files, "class.yaml": classWith("{variable: identity}") },
    change: { "prod.yaml": clusterOf("prod", "team-a") },
  });
  const dir = `${root}/state`;
  t.strictSame(await coverage(dir), { judged: 3, notJudged: 0, reasons: {} });
  const { stdout } = await runCommand(["lint", dir, "-v"]);
  t.match(stdout, `${dir}/prod.yaml:9: warn AC-01 AWSCluster team-a/prod spec.identityRef`);
  const { stdout: roles } = await runCommand(["resolve", dir]);
  t.match(roles, /team-a +AWSCluster\/dev +selected +AWSClusterStaticIdentity\/team-a/);
  const json = await runCommand(["lint", dir, "-o", "json"]);
  t.match(JSON.parse(json.stdout), { findings: [{ code: "AC-01", repairs: [] }] }, "nobody writes the AWSCluster");
  const fixed = await runCommand(["lint", dir, "--complete", "--fix"]);
  t.match(fixed.stdout, " AC-01 AWSCluster team-a/prod spec.identityRef");
  t.match((await runCommand(["impact", "--from", dir, `${root}/change`])).stdout, /team-a +AWSCluster\/prod/);

  const open = t.testdir({ ...files, "class.yaml": classWith("{template: '{{ .identity | lower }}'}") });
  t.strictSame(await coverage(open), { judged: 1, notJudged: 2, reasons: { topology: 2 } });
  const { stderr } = await runCommand(["lint", open, "-v"]);
  t.match(stderr, `not judged: references to identities that a ClusterClass sets, which are not computed; to judge \
them: set them with valueFrom.variable and without enabledIf or external patches, and add the ClusterClass
    ${open}/dev.yaml: 1
    ${open}/prod.yaml: 1
`);
});
