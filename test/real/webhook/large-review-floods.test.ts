// Floods the webhook with large reviews through the API server, and with slow bodies from another client. With the
// failurePolicy Ignore, the API server would admit each object whose review fails.
import { once } from "node:events";
import { connect } from "node:tls";
import type { Test } from "tap";
import { LIMITS } from "../../../shared/decisions/limits.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const NAMESPACES = "/api/v1/namespaces";
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/payments/buckets";
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
type Answer = Awaited<ReturnType<Cluster["request"]>>;

const LARGE = 12;
const SMALL = 41;

/** Sends a write whose review is large. Each `<` takes 6 bytes in a review, because the API server escapes it. */
type LargeWrite = (cluster: Cluster, index: number) => Promise<unknown>;
const FLOODS: readonly (readonly [name: string, send: LargeWrite])[] = [
  ["resources that exceed the limit", (cluster, i) => create(cluster, `a-${i}`, "<".repeat(1_350_000))],
  ["resources within the limit", (cluster, i) => create(cluster, `b-${i}`, "<".repeat(900_000))],
  ["changes of a namespace", (cluster, i) => move(cluster, { uid: `u-${i}`, name: "<".repeat(1_000_000) })],
];

onCluster("floods of large reviews on a real API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster);
  await fill(cluster);
  for (const neighbors of [0, 40]) {
    for (const [name, send] of FLOODS) {
      await t.test(`denies faulty changes in a flood of ${name}, with ${neighbors} slow clients`, async (tt) => {
        await sendSlowly(tt, webhook, neighbors);
        const flood = Promise.allSettled(Array.from({ length: LARGE }, (_, i) => send(cluster, i)));
        const answers = await Promise.allSettled(Array.from({ length: SMALL }, () => move(cluster)));
        const statuses = answers.map((one) => (one.status === "fulfilled" ? one.value.status : "no response"));
        tt.same(statuses.filter((status) => status === 200), []);
        tt.ok(statuses.includes(422), "the webhook denied changes during the flood");
        await flood;
      });
    }
  }
});

/** Creates a selector for each env, and the namespace payments of prod with a bucket in the account of prod. */
async function fill(cluster: Cluster): Promise<void> {
  for (const [env, account] of [["prod", "111122223333"], ["dev", "444455556666"]]) {
    const namespaceSelector = { labelSelector: { matchLabels: { env } } };
    await cluster.request("POST", SELECTORS, {
      apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: env },
      spec: { arn: `arn:aws:iam::${account}:role/${env}`, namespaceSelector },
    });
  }
  await cluster.request("POST", NAMESPACES, { metadata: { name: "payments", labels: { env: "prod" } } });
  await create(cluster, "ledger", "x");
  const ackResourceMetadata = { ownerAccountID: "111122223333", region: "eu-west-1", arn: "arn:aws:s3:::ledger" };
  const status = { status: { ackResourceMetadata } };
  await cluster.request("PATCH", `${BUCKETS}/ledger/status`, status, { headers: MERGE_PATCH });
  const isKnown = async (): Promise<boolean> => (await move(cluster)).status >= 400;
  if (!(await until(isKnown))) throw new Error("the webhook does not see the bucket");
}

function create(cluster: Cluster, name: string, policy: string): Promise<Answer> {
  return cluster.request("POST", BUCKETS, {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name }, spec: { name, policy },
  });
}

/** Moves the namespace, and so its bucket, to the selector dev, in a dry run. */
function move(cluster: Cluster, owner?: { readonly uid: string; readonly name: string }): Promise<Answer> {
  const ownerReferences = owner === undefined ? [] : [{ apiVersion: "v1", kind: "ConfigMap", ...owner }];
  const metadata = { labels: { env: "dev" }, ownerReferences };
  return cluster.request("PATCH", `${NAMESPACES}/payments?dryRun=All`, { metadata }, { headers: MERGE_PATCH });
}

/** Opens connections that send all bytes of a large body except for the last one. */
async function sendSlowly(t: Test, { address }: ServerProcess, connections: number): Promise<void> {
  const [host, port] = address.split(":");
  const body = Buffer.alloc(LIMITS.reviewBytes.value - 1, " ");
  await Promise.all(Array.from({ length: connections }, async () => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }).on("error", () => {});
    t.teardown(() => socket.destroy());
    await once(socket, "secureConnect");
    const headers = ["Host: x", "Content-Type: application/json", `Content-Length: ${LIMITS.reviewBytes.value}`];
    socket.write(`POST /mutate/resources HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
    socket.write(body);
  }));
}
