import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";
import { createPairBuckets, createsOnePerPair, forge, pairSelector, tryCreate } from "./selector-pairs.ts";

onCluster("concurrent changes of selectors, without a client certificate", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster);
  await createPairBuckets(t, cluster);
  await t.test("admits one of two overlapping selectors that are created at the same time", async (tt) =>
    createsOnePerPair(tt, cluster),
  );
  await t.test("a forged DELETE review does not disable IRS-17 and IRS-40", async (tt) =>
    ignoresForgedDeletion(tt, cluster, webhook),
  );
  await t.test("admits a selector after the API server has deleted the overlapping selector", async (tt) =>
    admitsAfterDeletion(tt, cluster),
  );
});

async function ignoresForgedDeletion(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const shared = (name: string, id: string): object => ({
    ...pairSelector(name, `only-${name}`),
    metadata: { name, annotations: { "ack-role-resolver.io/external-id": id } },
    spec: { arn: "arn:aws:iam::111122223333:role/shared", namespaceSelector: { names: [name] } },
  });
  t.equal((await cluster.request("POST", SELECTORS, shared("first", "id-first"))).status, 201);
  const second = async (): Promise<string> => {
    const { body } = await cluster.request("POST", `${SELECTORS}?dryRun=All`, shared("second", "id-second"));
    return stringAt(body, "message") ?? "";
  };
  t.ok(await until(async () => (await second()).includes("IRS-40")));
  t.equal(await forge(webhook, shared("first", "id-first"), "DELETE"), 200);
  t.match(await second(), "IRS-40");

  const allow = { annotations: { "ack-role-resolver.io/allow": "IRS-30" } };
  const last = { ...pairSelector("last", "last"), metadata: { name: "last", ...allow } };
  t.equal(await forge(webhook, last, "DELETE"), 200);
  t.match((await tryCreate(cluster, "thief", "last")).body, { message: /IRS-17/ });
}

async function admitsAfterDeletion(t: Test, cluster: Cluster): Promise<void> {
  for (const name of ["old", "new", "newer"]) {
    t.equal((await cluster.request("POST", SELECTORS, pairSelector(name, "replaced"))).status, 201);
    t.equal((await cluster.request("DELETE", `${SELECTORS}/${name}`)).status, 200);
  }
}
