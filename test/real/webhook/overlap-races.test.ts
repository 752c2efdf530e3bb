import type { Test } from "tap";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { apply, SELECTORS } from "./installed-webhook.ts";
import { races, runRace } from "./overlap-races.ts";
import { CONFIG_MAP, installReplicas } from "./replicas.ts";
import { createPairBuckets, pairSelector } from "./selector-pairs.ts";

const PAIRS = 50;
const PAIRS_OF_VARIANTS = 16;

onCluster("overlapping selectors at the same time, beside a webhook that takes 1.5 s", async (t, cluster) => {
  const { replicas, use } = await installReplicas(t, cluster);
  await createPairBuckets(t, cluster, PAIRS);
  const all = Object.entries(races(cluster));
  const [[first, creations] = ["", { requests: () => [] }]] = all;
  use(replicas.slice(0, 1));
  await t.test(`one replica admits one selector of each pair: ${first}`, async (tt) =>
    runRace(tt, cluster, creations, PAIRS),
  );
  use(replicas);
  for (const [name, race] of all) {
    await t.test(`two replicas admit one selector of each pair: ${name}`, async (tt) =>
      runRace(tt, cluster, race, race === creations ? PAIRS : PAIRS_OF_VARIANTS),
    );
  }
  await t.test("a selector that another webhook denies delays others, but not itself", async (tt) =>
    delaysOthers(tt, cluster),
  );
  await t.test("denies a selector while the ConfigMap is missing", async (tt) => deniesWithoutList(tt, cluster));
});

const OPEN = String(PAIRS - 1);

async function create(cluster: Cluster, name: string, pair: string, labels = {}): Promise<ApiResponse> {
  return await cluster.request("POST", SELECTORS, { ...pairSelector(name, pair), metadata: { name, labels } });
}

async function delaysOthers(t: Test, cluster: Cluster): Promise<void> {
  t.match((await create(cluster, "denied", OPEN, { deny: "true" })).body, { message: /slow\.example\.com/ });
  const other = await create(cluster, "other", OPEN);
  t.equal(other.status, 422);
  t.match(other.body, { message: /Apply it again in \d+ s: denied is being changed at the same time/ });
  t.equal((await create(cluster, "denied", OPEN)).status, 201);
}

async function deniesWithoutList(t: Test, cluster: Cluster): Promise<void> {
  await cluster.request("DELETE", CONFIG_MAP.path);
  const { status, body } = await create(cluster, "unlisted", "unlisted");
  t.equal(status, 504);
  const message = /ERR_PENDING_WRITES.*pending-writes does not exist; apply the objects of .* Apply it again in 1 s/;
  t.match(body, { message });
  const dryRun = await cluster.request("POST", `${SELECTORS}?dryRun=All`, pairSelector("unlisted", "unlisted"));
  t.equal(dryRun.status, 201, "a dry run changes nothing");
  await apply(cluster, [{ apiVersion: "v1", kind: "ConfigMap", metadata: CONFIG_MAP.metadata }]);
  t.equal((await create(cluster, "unlisted", "unlisted")).status, 201);
}
