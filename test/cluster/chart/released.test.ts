import path from "node:path";
import type { Test } from "tap";
import { ARTIFACTS, fileName } from "../../../build/release/artifacts.ts";
import manifest from "../../../package.json" with { type: "json" };
import { readEnvironment } from "../../programs/environment.ts";
import { findPackages } from "../../programs/packages.ts";
import { RELEASE_TOOLS } from "../../programs/release-tools.ts";
import { findHelm } from "../../real/chart/helm.ts";
import { findPrograms } from "../../real/find-programs.ts";
import { pushLayout, startRegistry } from "../../real/release/registry.ts";
import { until } from "../../real/apiserver/until.ts";
import { setTimeLimit } from "../../real/time-limit.ts";
import { startCluster, withNode } from "../on-node.ts";
import { projectArchive } from "../project-image.ts";
import { NAMESPACE, POD_LABELS, REPLICAS } from "../webhook/installed.ts";
import { failurePolicies, prepareCluster, Release } from "./release.ts";

const LIMIT_MS = 8 * 60_000;
const ROOT = path.join(import.meta.dirname, "../../..");
const { version } = manifest;

withNode("helm installs the chart of a release from its tarball and from a registry", async (t, found) => {
  const helm = await findHelm(t);
  const tools = helm === null ? null : await findPrograms(t, RELEASE_TOOLS);
  if (helm === null || tools === null) return;
  const packages = await findPackages("release");
  if ("fault" in packages) {
    if (readEnvironment().ci) throw new Error(packages.fault);
    return t.plan(0, packages.fault);
  }
  setTimeLimit(t, LIMIT_MS);
  const archive = projectArchive(t, found.programs);
  const charts = await publishedCharts(t, path.join(tools[0], "registry"));
  const cluster = await startCluster(t, found);
  await cluster.loadArchive(await archive);
  await prepareCluster(cluster, "team-a");
  for (const chart of charts) {
    const release = new Release(cluster, helm, ...chart);
    await release.install([]);
    const pods = await cluster.pods(NAMESPACE, POD_LABELS);
    t.equal(pods.filter(({ isReady }) => isReady).length, REPLICAS, chart.join(" "));
    const failsClosed = async (): Promise<boolean> => (await failurePolicies(cluster)).join() === "Fail,Ignore";
    t.ok(await until(failsClosed), "one command is enough");
    await release.uninstall();
  }
});

/** Builds the charts of a release, and pushes one to a registry. Returns the arguments with which helm finds each. */
async function publishedCharts(t: Test, registry: string): Promise<readonly (readonly string[])[]> {
  const folder = t.testdir({});
  const inputs = {
    root: ROOT, work: folder, version, revision: "0", epoch: "0", image: "", tarball: "", dist: "",
    nodes: { x64: "", arm64: "" },
  };
  const artifacts = ARTIFACTS.filter(({ name }) => name.includes("-chart-"));
  const files = artifacts.map((artifact) => path.join(folder, fileName(artifact, version)));
  for (const [i, artifact] of artifacts.entries()) await artifact.build(inputs, files[i] ?? "");
  const [tarball = "", layout = ""] = files;
  const repository = `${await startRegistry(t, registry)}/charts/ack-role-resolver`;
  await pushLayout(layout, `${repository}:${version}`);
  return [[tarball], [`oci://${repository}`, "--version", version, "--plain-http"]];
}
