import path from "node:path";
import { findHelm } from "../../real/chart/helm.ts";
import { until } from "../../real/apiserver/until.ts";
import { pushLayout, startRegistry } from "../../real/release/registry.ts";
import { buildRelease, VERSION } from "../../real/release/release.ts";
import { startCluster, withNode } from "../on-node.ts";
import { NAMESPACE, POD_LABELS, REPLICAS } from "../webhook/installed.ts";
import { failurePolicies, prepareCluster, Release } from "./release.ts";

const IMAGE = "localhost/released";

withNode("helm installs the image of a release with its chart, as a tarball and from a registry", async (t, found) => {
  const helm = await findHelm(t);
  const built = helm === null ? null : await buildRelease(t);
  if (helm === null || built === null) return;
  const fileOf = (part: string): string => path.join(built.folder, `ack-role-resolver-${part}`);
  const repository = `${await startRegistry(t, built.registry)}/charts/ack-role-resolver`;
  await pushLayout(fileOf(`chart-${VERSION}.oci.tar`), `${repository}:${VERSION}`);
  const cluster = await startCluster(t, found);
  await cluster.loadArchive(fileOf(`image-${VERSION}.oci.tar`), IMAGE);
  await prepareCluster(cluster, "team-a");
  for (const chart of [
    [fileOf(`chart-${VERSION}.tgz`)], [`oci://${repository}`, "--version", VERSION, "--plain-http"],
  ]) {
    const release = new Release(cluster, helm, ...chart);
    await release.install([`image.repository=${IMAGE}`, `image.tag=${VERSION}`, "image.digest="]);
    // Pods of the release before may still end.
    const isReplaced = async (): Promise<boolean> => {
      const pods = await cluster.pods(NAMESPACE, POD_LABELS);
      return pods.filter(({ isReady }) => isReady).length === REPLICAS;
    };
    t.ok(await until(isReplaced), chart.join(" "));
    const failsClosed = async (): Promise<boolean> => (await failurePolicies(cluster)).join() === "Fail,Ignore";
    t.ok(await until(failsClosed), "one command is enough");
    await release.uninstall();
  }
});
