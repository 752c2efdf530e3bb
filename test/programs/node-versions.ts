import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Recipe } from "./cache.ts";
import { runTool } from "./run-program.ts";

/** Versions of Node.js that are too old for the program: the newest releases of Node.js 18 and 20. */
export const UNSUPPORTED_NODES: readonly Recipe[] = ["18.20.8", "20.20.2"].map(nodeVersion);
/** The lowest supported version of Node.js, and the LTS version before the version that runs these tests. */
export const SUPPORTED_NODES: readonly Recipe[] = ["22.19.0", "24.21.0"].map(nodeVersion);

/** The npm package `node` contains the binary of Node.js for each platform. */
function nodeVersion(version: string): Recipe {
  return {
    name: `node-${version}`,
    group: "ci",
    needs: "npm, once, about 10 seconds",
    sources: import.meta.dirname,
    files: [],
    makes: ["node"],
    async build(folder) {
      const installed = path.join(folder, "installed");
      await mkdir(installed);
      // The package `node` has an install script, which installs the package of the platform.
      const manifest = { private: true, dependencies: { node: version }, allowScripts: { node: true } };
      await writeFile(path.join(installed, "package.json"), JSON.stringify(manifest));
      await runTool("npm", ["install", "--no-package-lock", "--no-audit", "--no-fund"], installed);
      await rename(path.join(installed, "node_modules/node/bin/node"), path.join(folder, "node"));
      await rm(installed, { recursive: true });
    },
  };
}
