import { request } from "node:https";
import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { reviewOf } from "../../webhook/reviews.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { bucket, buckets } from "./buckets.ts";
import { SELECTORS } from "./installed-webhook.ts";

const PAIRS = 20;

/** Returns a selector of the buckets in namespace team-a that have the label `pair: PAIR`. */
export function pairSelector(name: string, pair: string): { readonly [key: string]: unknown } {
  const spec = {
    arn: `arn:aws:iam::111122223333:role/${name}`,
    namespaceSelector: { names: ["team-a"] },
    resourceLabelSelector: { matchLabels: { pair } },
  };
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name }, spec };
}

/**
 * Creates namespace team-a and one bucket for each pair. Resolves when the inventory of the webhook contains the last
 * bucket.
 */
export async function createPairBuckets(t: Test, cluster: Cluster, pairs = PAIRS): Promise<void> {
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: "team-a" } });
  const all = [...Array.from({ length: pairs }, (_, i) => String(i)), "last"];
  for (const pair of all) {
    const { status } = await cluster.request("POST", buckets("team-a"), bucket(`b-${pair}`, { labels: { pair } }));
    t.equal(status, 201);
  }
  t.equal((await cluster.request("POST", SELECTORS, pairSelector("last", "last"))).status, 201);
  const isDenied = async (): Promise<boolean> => (await tryCreate(cluster, "probe", "last")).status === 422;
  t.ok(await until(isDenied), "the inventory has the last bucket and its selector");
}

/** Creates the selector as a dry run. */
export async function tryCreate(cluster: Cluster, name: string, pair: string): Promise<ApiResponse> {
  return await cluster.request("POST", `${SELECTORS}?dryRun=All`, pairSelector(name, pair));
}

/** Creates 20 pairs of overlapping selectors. Creates the two selectors of a pair at the same time. */
export async function createsOnePerPair(t: Test, cluster: Cluster): Promise<void> {
  for (let i = 0; i < PAIRS; i++) {
    const answers = await Promise.all(["a", "b"].map((one) => (
      cluster.request("POST", SELECTORS, pairSelector(`pair-${i}-${one}`, String(i)))
    )));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    t.same(statuses, [201, 422], answers.map(({ body }) => stringAt(body, "message")).join("; "));
  }
}

/** Sends a review that the API server did not send. Returns the HTTP status. */
export async function forge(webhook: ServerProcess, object: object, operation: "CREATE" | "DELETE"): Promise<number> {
  const review = operation === "DELETE"
    ? reviewOf({ ...object }, { operation, object: null, oldObject: { ...object } })
    : reviewOf({ ...object }, { operation });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request(`https://${webhook.address}/validate/iamroleselectors?timeout=3s`, {
    method: "POST", rejectUnauthorized: false, headers: { "content-type": "application/json" }, agent: false,
  });
  sent.on("response", (response) => resolve(response.resume().statusCode ?? 0)).on("error", reject);
  sent.end(JSON.stringify(review));
  return await promise;
}
