import { SELECTORS } from "../../shared/ack/selectors.ts";

/**
 * Many sidecars in one process: each has the inventory source of a sidecar, its own connections and its own service
 * account. The arguments are the URL of the API server, the file of its CA, the token of an administrator, and the
 * number of sidecars. The program prints a line when all have loaded the cluster, and one each time that all of them
 * have received one more selector.
 */
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import process from "node:process";
import { httpKubernetesAPI } from "../../shared/api/api.ts";
import { ClusterSource } from "../../shared/sources/cluster-source.ts";

const [server = "", caFile = "", token = "", count = ""] = process.argv.slice(2);
const ca = readFileSync(caFile);
let loaded = 0;
let received = 0;

/** Priority and fairness sees the service account, which the administrator impersonates. */
function sourceOf(i: number): ClusterSource {
  const headers = {
    "authorization": `Bearer ${token}`, "impersonate-user": `system:serviceaccount:ack-system:controller-${i}`,
    "impersonate-group": ["system:serviceaccounts", "system:serviceaccounts:ack-system"],
  };
  const options = { ca, headers, agent: new Agent({ keepAlive: true }) };
  const api = httpKubernetesAPI(async () => ({ server, options }));
  return new ClusterSource({ runtime: "ack", api });
}

async function run(source: ClusterSource): Promise<void> {
  await source.start();
  const selectors = source.inventory.of(SELECTORS);
  let known = selectors.size;
  source.onChange(() => {
    if (selectors.size === known) return;
    known = selectors.size;
    if (++received % Number(count) === 0) process.stdout.write("received\n");
  });
  if (++loaded === Number(count)) process.stdout.write("loaded\n");
}

await Promise.all(Array.from({ length: Number(count) }, (_, i) => run(sourceOf(i))));
