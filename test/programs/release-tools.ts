import { rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";
import { runTool } from "./run-program.ts";

/** actionlint, and the registry of go-containerregistry, in one folder. */
export const RELEASE_TOOLS: Recipe = {
  name: "release-tools",
  group: "ci",
  needs: "Go >= 1.25, once, about 1 minute",
  sources: path.join(import.meta.dirname, "../real/release/go"),
  files: ["go.mod", "go.sum"],
  makes: ["actionlint", "registry"],
  build: (folder, module) => goBuild(`${folder}${path.sep}`, {
    module,
    packages: [
      "github.com/rhysd/actionlint/cmd/actionlint", "github.com/google/go-containerregistry/cmd/registry",
    ],
    isStatic: true,
  }),
};

/** A cache of npm with the packages of Node.js for each platform of a release, so that `npm run release` is offline. */
export const RELEASE_NODES: Recipe = {
  name: "release-nodes",
  group: "ci",
  needs: "npm, once, about 1 minute",
  sources: import.meta.dirname,
  files: [],
  variant: async () => process.version,
  async build(folder) {
    const specs = ["x64", "arm64"].map((arch) => `node-linux-${arch}@${process.versions.node}`);
    // `npm cache add` would store other metadata than the `npm pack` of a release reads.
    const { stdout } = await runTool("npm", ["pack", "--cache", folder, ...specs], folder);
    await Promise.all(stdout.trim().split("\n").map((tarball) => rm(path.join(folder, tarball))));
  },
};
