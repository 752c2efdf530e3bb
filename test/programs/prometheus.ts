import { rename, rm } from "node:fs/promises";
import path from "node:path";
import type { Recipe } from "./cache.ts";
import { runTool } from "./run-program.ts";

const PROGRAMS = ["prometheus", "promtool"] as const;

/**
 * Extracts the programs from the Debian package and does not install it, because an installation would also start
 * Prometheus as a service.
 */
export const PROMETHEUS: Recipe = {
  name: "prometheus",
  group: "prometheus",
  needs: "apt-get of Debian 12 or later, once, about 10 seconds",
  sources: import.meta.dirname,
  files: [],
  makes: PROGRAMS,
  async build(folder) {
    const download = (): Promise<unknown> => runTool("apt-get", ["download", "prometheus"], folder);
    // Retries with new package lists, because a new machine has none.
    await download().catch(() => runTool("apt-get", ["update"], folder).then(download));
    await runTool("sh", ["-c", "dpkg-deb --extract prometheus_*.deb extracted && rm prometheus_*.deb"], folder);
    for (const program of PROGRAMS) {
      await rename(path.join(folder, "extracted/usr/bin", program), path.join(folder, program));
    }
    await rm(path.join(folder, "extracted"), { recursive: true });
  },
};
