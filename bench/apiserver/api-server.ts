import { findProgram } from "../../test/programs/cache.ts";
import { readEnvironment } from "../../test/programs/environment.ts";
import { assetsIn, KUBERNETES } from "../../test/programs/kubernetes.ts";
import { type Cluster, startCluster } from "../../test/real/apiserver/cluster.ts";
import type { Identity } from "../../test/real/apiserver/identities.ts";
import { buckets } from "../../test/real/webhook/buckets.ts";
import { httpRequest, type LoadOptions } from "../load.ts";
import { bucketOf } from "../rows/webhook.ts";
import type { Stage } from "../stage.ts";

/** Starts kube-apiserver and etcd. Rejects with the command that builds them if they are missing. */
export async function startAPIServer(stage: Stage): Promise<Cluster> {
  const found = await findProgram(readEnvironment(), KUBERNETES);
  if (!found.found) throw new Error(found.reason);
  const cluster = await startCluster(assetsIn(found.folder));
  stage.teardown(() => cluster.stop());
  return cluster;
}

interface CreationOptions {
  readonly isDryRun?: boolean;
  /** Default: admin, whose requests priority and fairness never delays. */
  readonly user?: Identity;
}

/** Returns a load that creates buckets in the namespace. */
export function creations(
  { url, tokens }: Cluster, namespace: string, { isDryRun = false, user = "admin" }: CreationOptions = {},
): Pick<LoadOptions, "port" | "isTLS" | "requests"> {
  const { host, port } = new URL(url);
  const headers = { host, "authorization": `Bearer ${tokens[user]}`, "content-type": "application/json" };
  const bucket = { ...bucketOf(0), metadata: { generateName: "bucket-" } };
  const path = `${buckets(namespace)}${isDryRun ? "?dryRun=All" : ""}`;
  return { port: Number(port), isTLS: true, requests: [httpRequest("POST", path, headers, JSON.stringify(bucket))] };
}
