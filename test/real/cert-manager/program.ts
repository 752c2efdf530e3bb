import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { parse } from "yaml";
import { certManagerIn } from "../../programs/cert-manager.ts";
import type { Cluster, InstalledCRD } from "../apiserver/cluster.ts";
import { startProcess } from "../apiserver/managed-process.ts";

/** Returns the CRDs in the folder of cert-manager. */
export async function certManagerCRDs(folder: string): Promise<readonly InstalledCRD[]> {
  const texts = await Promise.all(certManagerIn(folder).crds.map((file) => readFile(file, "utf8")));
  return texts.map((text): InstalledCRD => parse(text));
}

/** Runs the controllers of cert-manager as admin for the Certificates in a namespace, until the test ends. */
export async function startCertManager(t: Test, cluster: Cluster, folder: string, namespace: string): Promise<void> {
  const [home, log] = [path.dirname(cluster.kubeconfig), cluster.file("cert-manager.log")];
  const program = await startProcess(certManagerIn(folder).program, [cluster.kubeconfig, namespace], home, log);
  t.teardown(async () => {
    if (program.hasEnded()) t.fail(`cert-manager exited:\n${await program.logTail()}`);
    await program.stop("SIGKILL");
  });
}
