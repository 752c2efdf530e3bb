// Sends changes whose reviews exceed the size limit, because the API server escapes `<` as `\u003c`.
import { WEBHOOK } from "../../../shared/core/installation.ts";
import { field, stringAt } from "../../../shared/formats/json.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const NAMESPACES = "/api/v1/namespaces";
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/payments/buckets";
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
/** A text that takes 1.3 MB in the request and in etcd, and 7.8 MB in the review. */
const ESCAPED = "<".repeat(1_300_000);
const LARGE = 12;
const SMALL = 41;
const CLIENTS = 30;

onCluster("large reviews on a real API server", async (t, cluster) => {
  await installWebhook(t, cluster);
  await fill(cluster);
  await t.test("denies a label change of a namespace that moves its resources, in a review of 8 MB", async (tt) => {
    const move = { labels: { env: "dev" } };
    tt.match(await patch(cluster, move), "NS-01");
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: ESCAPED, uid: "u" };
    tt.match(await patch(cluster, { ...move, ownerReferences: [owner] }), "NS-14");
    tt.match(await patch(cluster, { labels: { app: "x" } }), "allowed");
  });
  await t.test("denies a resource whose review has 8 MB", async (tt) => {
    const { status, body } = await cluster.request("POST", BUCKETS, {
      apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "large" },
      spec: { name: "large", policy: ESCAPED },
    });
    tt.equal(status, 422);
    tt.match(stringAt(body, "message"), "ACK-35 : the review is larger than 7340032 bytes");
  });
  await t.test("denies faulty changes while reviews of 8 MB exceed the limit of all bodies", async (tt) => {
    // A slow machine must not be the reason of an admission: the API server admits a change after this timeout.
    await setTimeouts(cluster, 30);
    const flood = Promise.allSettled(Array.from({ length: LARGE }, async (_, i) => {
      const { status } = await cluster.request("POST", BUCKETS, {
        apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: `large-${i}` },
        spec: { name: "large", policy: ESCAPED },
      });
      return status;
    }));
    const moves = await Promise.all(Array.from({ length: SMALL }, () => (
      patch(cluster, { labels: { env: "dev" } }, "?dryRun=All")
    )));
    tt.same(moves.filter((one) => one === "allowed"), []);
    tt.ok(moves.some((one) => one.includes("NS-01")), "the webhook reviews changes during the flood");
    tt.same((await flood).filter((one) => one.status === "fulfilled" && one.value < 400), []);
  });
  await t.test("admits a change of labels of an object to which 30 clients have applied fields", async (tt) => {
    for (const path of [`${BUCKETS}/ledger`, `${SELECTORS}/dev`, `${NAMESPACES}/payments`]) {
      const { body } = await cluster.request("GET", path);
      const type = { apiVersion: stringAt(body, "apiVersion"), kind: stringAt(body, "kind") };
      for (let i = 0; i < CLIENTS; i++) await apply(cluster, `${path}?fieldManager=client-${i}`, { ...type, i });
      const labels = { changed: "true" };
      const { status } = await cluster.request("PATCH", path, { metadata: { labels } }, { headers: MERGE_PATCH });
      tt.equal(status, 200, path);
    }
  });
});

/** Applies 100 annotations, of which `managedFields` contains one copy for each client. */
async function apply(cluster: Cluster, path: string, { i, ...type }: { readonly i: number }): Promise<void> {
  const keys = Array.from({ length: 100 }, (_, entry) => `example.com/entry-${entry}`);
  keys.push(`example.com/client-${i}`);
  const annotations: object = Object.fromEntries(keys.map((key) => [key, "x"]));
  const headers = { "content-type": "application/apply-patch+yaml" };
  const { status, body } = await cluster.request("PATCH", path, { ...type, metadata: { annotations } }, { headers });
  if (status !== 200) throw new Error(`${path}: ${status} ${stringAt(body, "message") ?? ""}`);
}

async function setTimeouts(cluster: Cluster, timeoutSeconds: number): Promise<void> {
  for (const plural of ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]) {
    const path = `/apis/admissionregistration.k8s.io/v1/${plural}/${WEBHOOK.configuration}`;
    const webhooks = field((await cluster.request("GET", path)).body, "webhooks");
    const operations = (Array.isArray(webhooks) ? webhooks : []).map((_, i) => (
      { op: "replace", path: `/webhooks/${i}/timeoutSeconds`, value: timeoutSeconds }
    ));
    const headers = { "content-type": "application/json-patch+json" };
    await cluster.request("PATCH", path, operations, { headers });
  }
}

function byEnv(env: string, account: string): object {
  const spec = {
    arn: `arn:aws:iam::${account}:role/${env}`,
    namespaceSelector: { labelSelector: { matchLabels: { env } } },
  };
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: env }, spec };
}

/** Creates the namespace payments, which has the label env=prod, and a bucket in the account of prod. */
async function fill(cluster: Cluster): Promise<void> {
  await cluster.request("POST", SELECTORS, byEnv("prod", "111122223333"));
  await cluster.request("POST", SELECTORS, byEnv("dev", "444455556666"));
  await cluster.request("POST", NAMESPACES, { metadata: { name: "payments", labels: { env: "prod" } } });
  await cluster.request("POST", BUCKETS, {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "ledger" }, spec: { name: "ledger" },
  });
  const ackResourceMetadata = { ownerAccountID: "111122223333", region: "eu-west-1", arn: "arn:aws:s3:::ledger" };
  const status = { status: { ackResourceMetadata } };
  await cluster.request("PATCH", `${BUCKETS}/ledger/status`, status, { headers: MERGE_PATCH });
  const isKnown = async (): Promise<boolean> => (
    (await patch(cluster, { labels: { env: "dev" } }, "?dryRun=All")) !== "allowed"
  );
  if (!(await until(isKnown))) throw new Error("the webhook does not see the bucket");
}

/** Returns the message of a denied patch of the namespace, or "allowed". */
async function patch(cluster: Cluster, metadata: object, query = ""): Promise<string> {
  const path = `${NAMESPACES}/payments${query}`;
  const { status, body } = await cluster.request("PATCH", path, { metadata }, { headers: MERGE_PATCH });
  return status === 200 ? "allowed" : `${status} ${stringAt(body, "message")}`.slice(0, 500);
}
