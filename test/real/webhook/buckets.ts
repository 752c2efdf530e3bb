import type { Test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { selectorObject } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";
import { until } from "../apiserver/until.ts";
import { apply, SELECTORS } from "./installed-webhook.ts";
import { create, grant, NAMESPACES, RBAC } from "./requests.ts";

const MERGE_PATCH = { "content-type": "application/merge-patch+json" };

/** Returns the path of the buckets of a namespace, or of one bucket. */
export function buckets(namespace: string, name?: string): string {
  const path = `/apis/s3.services.k8s.aws/v1alpha1/namespaces/${namespace}/buckets`;
  return name === undefined ? path : `${path}/${name}`;
}

export function bucket(name: string, metadata: object = {}, namespace = "team-a"): object {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1",
    kind: "Bucket",
    metadata: { name, namespace, ...metadata },
    spec: { name },
  };
}

/** A bucket that the selector gold selects. */
export const GOLD = { labels: { tier: "gold" } };

function selector(name: string, arn: string, matchLabels: JsonObject = { tier: name }): object {
  const resourceLabelSelector = { matchLabels };
  return selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] }, resourceLabelSelector });
}

/** Creates namespaces and the selectors gold, silver and late. Allows the user jane to write buckets. */
export async function createObjects(t: Test, cluster: Cluster): Promise<void> {
  for (const name of ["team-a", "sandbox", "going"]) await create(cluster, NAMESPACES, { metadata: { name } });
  for (const object of [
    selector("gold", "arn:aws:iam::111122223333:role/gold"),
    selector("silver", "arn:aws:iam::444455556666:role/silver"),
    selector("late", "arn:aws:iam::111122223333:role/late", { late: "yes" }),
  ]) await create(cluster, SELECTORS, object);
  const rule = { apiGroups: ["s3.services.k8s.aws"], resources: ["buckets", "buckets/status"], verbs: ["*"] };
  await apply(cluster, grant("bucket-writer", [rule], [{ apiGroup: RBAC, kind: "User", name: "jane" }]));
  const lateBucket = bucket("probe", { labels: { late: "yes" } });
  const hasLate = async (): Promise<boolean> =>
    warnings(await cluster.request("POST", `${buckets("team-a")}?dryRun=All`, lateBucket)).length === 0;
  t.ok(await until(hasLate), "the inventory has the last selector");
}

/** Returns the warnings of a response. The API server sends each warning as `299 - "TEXT"`. */
export function warnings({ headers }: ApiResponse): string[] {
  const sent = [headers["warning"] ?? []].flat().join(", ");
  return Array.from(sent.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g), ([, text = ""]) => text);
}

export async function patch(
  cluster: Cluster,
  path: string,
  change: object,
  options: RequestOptions = {},
): Promise<ApiResponse> {
  return await cluster.request("PATCH", path, change, { ...options, headers: MERGE_PATCH });
}

/** Creates a bucket that exists in an account that no selector uses. Returns its path. */
export async function createForeignBucket(cluster: Cluster, name: string, namespace: string): Promise<string> {
  const path = buckets(namespace, name);
  await cluster.request("POST", buckets(namespace), bucket(name, {}, namespace));
  await patch(cluster, `${path}/status`, {
    status: { ackResourceMetadata: { arn: `arn:aws:s3:::${name}`, ownerAccountID: "111122223333" } },
  });
  return path;
}
