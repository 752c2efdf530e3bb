import { copyFile, readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { parse } from "yaml";
import type { Cluster, InstalledCRD } from "../apiserver/cluster.ts";
import { startProcess } from "../apiserver/managed-process.ts";
import { readEnvironment } from "../environment.ts";
import { findClient, type Recipe, runTool } from "../sdks/toolchains/built-client.ts";
import { BUILD_LIMIT_MS, setTimeLimit } from "../time-limit.ts";

const MODULE = "github.com/cert-manager/cert-manager";
const PROGRAM = "cert-manager";
const CRDS = ["certificaterequests", "certificates", "issuers"].map((name) => `cert-manager.io_${name}.yaml`);

/** Builds the controllers of cert-manager. The folder also contains the CRDs of their release. */
export const CERT_MANAGER: Recipe = {
  name: PROGRAM,
  sources: path.join(import.meta.dirname, "go"),
  files: ["go.mod", "go.sum", "main.go"],
  script: "setup:ci",
  needs: "Go >= 1.25, once, about 3 minutes",
  async build(folder, sources) {
    // With -buildvcs=false, the build does not need git.
    const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"];
    await runTool("go", ["build", ...flags, "-o", path.join(folder, PROGRAM), "."], sources);
    const listed = await runTool("go", ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", MODULE], sources);
    const crds = path.join(listed.stdout.trim(), "deploy", "crds");
    await Promise.all(CRDS.map((name) => copyFile(path.join(crds, name), path.join(folder, name))));
  },
};

/** Returns the folder of cert-manager. Skips the test and returns null if cert-manager is not built. */
export async function findCertManager(t: Test): Promise<string | null> {
  setTimeLimit(t, BUILD_LIMIT_MS);
  const found = await findClient(readEnvironment(), CERT_MANAGER);
  setTimeLimit(t);
  if (found.found) return found.folder;
  t.plan(0, found.reason);
  return null;
}

/** Returns the CRDs in the folder of cert-manager. */
export async function certManagerCRDs(folder: string): Promise<readonly InstalledCRD[]> {
  const texts = await Promise.all(CRDS.map((name) => readFile(path.join(folder, name), "utf8")));
  return texts.map((text): InstalledCRD => parse(text));
}

/** Runs the controllers of cert-manager as admin for the Certificates in a namespace, until the test ends. */
export async function startCertManager(t: Test, cluster: Cluster, folder: string, namespace: string): Promise<void> {
  const [home, log] = [path.dirname(cluster.kubeconfig), cluster.file("cert-manager.log")];
  const program = await startProcess(path.join(folder, PROGRAM), [cluster.kubeconfig, namespace], home, log);
  t.teardown(async () => {
    if (program.hasEnded()) t.fail(`cert-manager exited:\n${await program.logTail()}`);
    await program.stop("SIGKILL");
  });
}
