// Attempts to move a resource to another account after its first reconcile attempt failed.
import type { Test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import {
  attemptedBucket, FIRST, OWN, replacesMetadata, SECOND, selectorFor,
} from "../../shared/decisions/checks/account-fixtures.ts";
import { namespaceObject, selectorObject } from "../../shared/decisions/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";
const HINT = "The status of Bucket team-a/b1 has no ARN: if the creation failed, delete the resource now";

onCluster("moves of a resource whose creation failed, on a real API server", async (t, cluster) => {
  await installWebhook(t, cluster, ["--controller-account", OWN]);
  await cluster.request("POST", "/api/v1/namespaces", namespaceObject("team-a", { env: "prod" }));
  await cluster.request("POST", SELECTORS, byEnv("prod", FIRST));
  await cluster.request("POST", SELECTORS, byEnv("dev", SECOND));
  const bucket = attemptedBucket("b1", FIRST);
  const status = bucket["status"];
  t.equal((await cluster.request("POST", BUCKETS, bucket)).status, 201);
  t.equal((await cluster.request("PATCH", `${BUCKETS}/b1/status`, { status }, MERGE)).status, 200);
  await t.test("denies namespace labels that move a failed resource to another account", async (tt) => {
    const path = "/api/v1/namespaces/team-a?dryRun=All";
    const relabeled = { metadata: { labels: { env: "dev" } } };
    await untilDenied(tt, "NS-01", () => cluster.request("PATCH", path, relabeled, MERGE));
  });
  await t.test("denies a replacement selector whose role is in another account", async (tt) => {
    await untilDenied(tt, "IRS-19", () => cluster.request("POST", `${SELECTORS}?dryRun=All`, replacing({})));
  });
  await t.test("denies the deletion of a selector if the role of its replacement is in another account", async (tt) =>
    deniesDeletion(tt, cluster),
  );
});

function byEnv(env: string, account: string): JsonObject {
  const arn = `arn:aws:iam::${account}:role/${env}`;
  return selectorObject(env, { arn, namespaceSelector: { names: [], labelSelector: { matchLabels: { env } } } });
}

function replacing(annotations: JsonObject): JsonObject {
  const replaces = replacesMetadata("prod")["annotations"];
  return selectorFor("new", SECOND, ["team-a"], { annotations: { ...Object(replaces), ...annotations } });
}

/** Sends dry runs until the inventory is current and the check denies the request. */
async function untilDenied(t: Test, code: string, send: () => Promise<ApiResponse>): Promise<void> {
  let last: readonly string[] = [];
  const isDenied = async (): Promise<boolean> => {
    const { body } = await send();
    const causes = field(field(body, "details"), "causes");
    last = Array.isArray(causes) ? causes.map((cause: unknown) => stringAt(cause, "message") ?? "") : [];
    return last.some((message) => message.startsWith(`${code} `) && message.includes(HINT));
  };
  t.ok(await until(isDenied), last.join("\n"));
}

async function deniesDeletion(t: Test, cluster: Cluster): Promise<void> {
  const waived = replacing({ "ack-role-resolver.io/allow": "IRS-19" });
  t.equal((await cluster.request("POST", SELECTORS, waived)).status, 201, "a waiver user allows the creation");
  await untilDenied(t, "IRS-19", () => cluster.request("DELETE", `${SELECTORS}/prod?dryRun=All`));
  t.equal((await cluster.request("DELETE", `${SELECTORS}/prod`)).status, 422);
}
