import type { Test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const NAMESPACES = "/api/v1/namespaces";
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/payments/buckets";
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
const NAMESPACE_CONTROLLER = { "impersonate-user": "system:serviceaccount:kube-system:namespace-controller" };

onCluster("namespaces on a real API server", async (t, cluster) => {
  await cluster.request(
    "POST",
    NAMESPACES,
    namespace("legacy", {
      [`${ACK}endpoint-url`]: "http://minio.legacy.svc:9000",
      [`${ACK}default-region`]: "Frankfurt",
    }),
  );
  const webhook = await installWebhook(t, cluster, ["--region", "eu-west-1"]);
  await fill(cluster);
  await t.test("kubectl prints every fault of a new namespace", async (tt) => printsFaults(tt, cluster));
  await t.test("denies a label change of a namespace that moves its resources to another account", async (tt) =>
    deniesMoves(tt, cluster),
  );
  await t.test("allows a change of a namespace if its faults existed before and the change adds none", async (tt) =>
    allowsStoredFaults(tt, cluster),
  );
  await t.test("receives no review of system namespaces", async (tt) => ignoresSystemNamespaces(tt, cluster, webhook));
  await t.test("allows the deletion of a namespace and of its resources", async (tt) => allowsDeletion(tt, cluster));
  await t.test("while the webhook is stopped, the API server allows all changes of namespaces", async (tt) =>
    blocksNothing(tt, cluster, webhook),
  );
});

const ACK = "services.k8s.aws/";

function namespace(name: string, annotations: object, labels: object = {}): object {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, annotations, labels } };
}

function byEnv(env: string, account: string): object {
  const spec = {
    arn: `arn:aws:iam::${account}:role/${env}`,
    namespaceSelector: { labelSelector: { matchLabels: { env } } },
  };
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: env }, spec };
}

/**
 * Creates the namespace payments, which has the label env=prod, and two buckets in the account of prod. The bucket
 * archive has a finalizer.
 */
async function fill(cluster: Cluster): Promise<void> {
  await cluster.request("POST", NAMESPACES, namespace("payments", {}, { env: "prod" }));
  await cluster.request("POST", SELECTORS, byEnv("prod", "111122223333"));
  await cluster.request("POST", SELECTORS, byEnv("dev", "444455556666"));
  const status = {
    ackResourceMetadata: { ownerAccountID: "111122223333", region: "eu-west-1", arn: "arn:aws:s3:::ledger" },
  };
  for (const [name, finalizers] of [["ledger", []], ["archive", ["finalizers.s3.services.k8s.aws/Bucket"]]] as const) {
    await cluster.request("POST", BUCKETS, {
      apiVersion: "s3.services.k8s.aws/v1alpha1",
      kind: "Bucket",
      metadata: { name, finalizers },
      spec: { name },
    });
    await cluster.request("PATCH", `${BUCKETS}/${name}/status`, { status }, { headers: MERGE_PATCH });
  }
}

const FAULTS = `Warning: CM-09 services.k8s.aws/team-id: the annotation has no effect, because IAMRoleSelectors set \
the role
Warning: CM-09 fix: create an IAMRoleSelector for the namespace, and remove the annotation once no controller uses CARM
The Namespace "sandbox" is invalid: 
* metadata.annotations[services.k8s.aws/default-region]: NS-07 region "cn-north-1" is in partition aws-cn, but the \
controllers are in partition aws. Set a region of the controllers' partition, such as eu-west-1.
* metadata.annotations[services.k8s.aws/endpoint-url]: NS-08 the endpoint uses http, not https, so anyone on the \
network path can read the requests. Set https://HOST or https://HOST:PORT, without credentials or a query.
* metadata.annotations[s3.services.k8s.aws/deletion-policy]: NS-09 "Delete" is not a deletion policy, so controllers \
treat it as retain. Set the deletion policy to delete or retain.
`;

async function printsFaults(t: Test, cluster: Cluster): Promise<void> {
  const faulty = namespace("sandbox", {
    [`${ACK}default-region`]: "cn-north-1",
    [`${ACK}endpoint-url`]: "http://minio:9000",
    [`${ACK}team-id`]: "a",
    [`s3.${ACK}deletion-policy`]: "Delete",
  });
  const applied = await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(faulty) });
  t.equal(applied.code, 1);
  t.equal(applied.stderr, FAULTS);
  const corrected = namespace("sandbox", {
    [`${ACK}default-region`]: "eu-west-1",
    [`${ACK}endpoint-url`]: "https://minio:9000",
    [`s3.${ACK}deletion-policy`]: "delete",
  });
  t.strictSame(await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(corrected) }), {
    code: 0,
    stdout: "namespace/sandbox created\n",
    stderr: "",
  });
}

const MOVED = `The Namespace "payments" is invalid: metadata.labels: NS-01 the new labels move 2 resources from \
account 111122223333 to account 444455556666: Bucket payments/archive and Bucket payments/ledger. Keep the labels \
that the selectors of these resources match, or first change the selectors so that each resource stays in its account.
`;

async function deniesMoves(t: Test, cluster: Cluster): Promise<void> {
  const toDev = ["label", "--overwrite", "namespace", "payments", "env=dev"];
  t.ok(
    await until(async () => (await cluster.kubectl([...toDev, "--dry-run=server"])).stderr === MOVED),
    "the inventory has the buckets",
  );
  const denied = await cluster.kubectl(toDev);
  t.equal(denied.code, 1);
  t.equal(denied.stderr, MOVED);

  const dropped = await cluster.kubectl(["label", "namespace", "payments", "env-"]);
  t.match(
    dropped.stderr,
    /NS-01 the new labels leave 2 resources of account 111122223333 with the controllers' own role: /,
  );
  t.equal(
    (await cluster.kubectl(["label", "namespace", "payments", "cost=7"])).stderr,
    "",
    "no selector reads the label",
  );

  const waived = { metadata: { labels: { env: "dev" }, annotations: { "ack-role-resolver.io/allow": "NS-01" } } };
  const patched = await cluster.request("PATCH", `${NAMESPACES}/payments?dryRun=All`, waived, { headers: MERGE_PATCH });
  t.equal(patched.status, 200, "an administrator can waive the check");
}

async function allowsStoredFaults(t: Test, cluster: Cluster): Promise<void> {
  const labelled = await cluster.kubectl(["label", "namespace", "legacy", "cost=7"]);
  t.equal(labelled.code, 0);
  t.equal(
    labelled.stderr,
    `Warning: NS-07 services.k8s.aws/default-region: "Frankfurt" is not a region
Warning: NS-07 fix: set a region of the controllers' partition, such as eu-west-1
Warning: NS-08 services.k8s.aws/endpoint-url: the endpoint uses http, not https, so anyone on the network path can \
read the
Warning: NS-08 … requests
Warning: NS-08 fix: set https://HOST or https://HOST:PORT, without credentials or a query
`,
  );
  const worse = await cluster.kubectl([
    "annotate",
    "--overwrite",
    "namespace",
    "legacy",
    `${ACK}endpoint-url=http://root:secret@minio.legacy.svc:9000`,
  ]);
  t.equal(worse.code, 1);
  t.match(worse.stderr, /NS-08 the endpoint contains credentials/);
  t.notMatch(worse.stderr, "secret");
  t.equal(
    (
      await cluster.kubectl([
        "annotate",
        "--overwrite",
        "namespace",
        "legacy",
        `${ACK}endpoint-url=https://minio.legacy.svc:9000`,
      ])
    ).code,
    0,
    "the namespace is accepted after its correction",
  );
}

async function ignoresSystemNamespaces(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const before = webhook.log.length;
  for (const name of ["kube-system", "kube-public", "kube-node-lease", "ack-role-resolver"]) {
    const annotated = await cluster.kubectl([
      "annotate",
      "--dry-run=server",
      "namespace",
      name,
      `${ACK}endpoint-url=http://minio`,
    ]);
    t.equal(annotated.code, 0, `${name}: ${annotated.stderr}`);
  }
  const status = await cluster.request(
    "PATCH",
    `${NAMESPACES}/legacy/status`,
    { metadata: { annotations: { a: "b" } }, status: { phase: "Active" } },
    { headers: MERGE_PATCH },
  );
  t.equal(status.status, 200);
  const reviews = (): number =>
    webhook.log.slice(before).filter((line) => field(line, "path") === "/validate/namespaces").length;
  await cluster.kubectl(["label", "--dry-run=server", "namespace", "legacy", "probe=1"]);
  t.ok(await until(async () => reviews() > 0), "the webhook receives the review of another namespace");
  t.equal(reviews(), 2, "the webhook receives reviews of legacy and its status, but not of a system namespace");
}

async function allowsDeletion(t: Test, cluster: Cluster): Promise<void> {
  const deleted = await cluster.kubectl(["delete", "namespace", "payments", "--wait=false"]);
  t.equal(deleted.code, 0);
  t.equal(
    deleted.stderr,
    `Warning: NS-13 metadata.name: the deletion of the namespace also deletes 2 resources: Bucket payments/archive and \
Bucket
Warning: NS-13 … payments/ledger
Warning: NS-13 fix: until the namespace is deleted, do not change its labels and annotations, or the selectors
`,
  );

  // The test acts as the namespace controller, and as the ACK controller that removes the finalizer of the bucket.
  t.equal(
    (await cluster.request("DELETE", BUCKETS, undefined, { headers: NAMESPACE_CONTROLLER })).status,
    200,
    "the request to delete the resources succeeds",
  );
  t.equal((await cluster.request("GET", `${BUCKETS}/ledger`)).status, 404);
  t.equal(
    (await cluster.request("PATCH", `${BUCKETS}/archive`, { metadata: { finalizers: null } }, { headers: MERGE_PATCH }))
      .status,
    200,
    "the finalizer can be removed",
  );
  t.equal((await cluster.request("GET", `${BUCKETS}/archive`)).status, 404);
  const relabel = { metadata: { labels: { env: null } } };
  const isRelabeled = async (): Promise<boolean> => (
    (await cluster.request("PATCH", `${NAMESPACES}/payments`, relabel, { headers: MERGE_PATCH })).status === 200
  );
  t.ok(await until(isRelabeled), "a terminating namespace without resources can be relabeled");
  const { body } = await cluster.request("GET", `${NAMESPACES}/payments`);
  const finalized = await cluster.request(
    "PUT",
    `${NAMESPACES}/payments/finalize`,
    { ...asObject(body), spec: { finalizers: [] } },
    { headers: NAMESPACE_CONTROLLER },
  );
  t.equal(finalized.status, 200, stringAt(finalized.body, "message") ?? "");
  t.equal((await cluster.request("GET", `${NAMESPACES}/payments`)).status, 404, "the namespace is deleted");
}

function asObject(body: unknown): object {
  return typeof body === "object" && body !== null ? body : {};
}

async function blocksNothing(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await webhook.stop("SIGKILL");
  t.equal(
    (await cluster.request("POST", NAMESPACES, namespace("late", { [`${ACK}endpoint-url`]: "http://minio" }))).status,
    201,
  );
  t.equal(
    (
      await cluster.request(
        "PATCH",
        `${NAMESPACES}/legacy`,
        { metadata: { labels: { a: "b" } } },
        { headers: MERGE_PATCH },
      )
    ).status,
    200,
  );
  t.equal((await cluster.request("DELETE", `${NAMESPACES}/late`)).status, 200);
}
