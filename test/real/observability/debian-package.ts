import { rename, rm } from "node:fs/promises";
import path from "node:path";
import type { RealEnvironment } from "../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "../sdks/toolchains/built-client.ts";

/** Finds `prometheus` and `promtool` in the cache. The returned folder contains both programs. */
export function findPrometheus(environment: RealEnvironment): ReturnType<typeof findClient> {
  return findClient(environment, PROMETHEUS);
}

/** Adds `prometheus` and `promtool` to the cache if they are missing. Returns their folder. */
export function setUpPrometheus(environment: RealEnvironment): Promise<string> {
  return setUpClient(environment, PROMETHEUS);
}

/**
 * Extracts the programs from the Debian package and does not install it, because an installation would also start
 * Prometheus as a service.
 */
const PROMETHEUS: Recipe = {
  name: "prometheus",
  sources: import.meta.dirname,
  files: [],
  script: "setup:prometheus",
  needs: "apt-get of Debian 12 or later, once, about 10 seconds",
  async build(folder) {
    const download = (): Promise<unknown> => runTool("apt-get", ["download", "prometheus"], folder);
    // Retries with new package lists, because a new machine has none.
    await download().catch(() => runTool("apt-get", ["update"], folder).then(download));
    await runTool("sh", ["-c", "dpkg-deb --extract prometheus_*.deb extracted && rm prometheus_*.deb"], folder);
    for (const program of ["prometheus", "promtool"]) {
      await rename(path.join(folder, "extracted/usr/bin", program), path.join(folder, program));
    }
    await rm(path.join(folder, "extracted"), { recursive: true });
  },
};
