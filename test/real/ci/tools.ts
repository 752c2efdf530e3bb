import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { CERT_MANAGER } from "../cert-manager/program.ts";
import type { RealEnvironment } from "../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "../sdks/toolchains/built-client.ts";

/** Versions of Node.js that are too old for the program: the newest releases of Node.js 18 and 20. */
export const UNSUPPORTED_NODES = ["18.20.8", "20.20.2"] as const;
/** The lowest supported version of Node.js, and the LTS version before the version that runs these tests. */
export const SUPPORTED_NODES = ["22.19.0", "24.21.0"] as const;

/** The folders that contain the programs, or the reason why tests are skipped, with the fix. */
type FoundTools =
  | { readonly found: true; readonly folders: readonly string[] }
  | { readonly found: false; readonly reason: string };

/** Finds versions of Node.js in the cache. Each folder contains `node`. */
export function findNodes(environment: RealEnvironment, versions: readonly string[]): Promise<FoundTools> {
  return findAll(environment, versions.map(nodeRecipe));
}

/** Finds helm and kustomize in the cache. The returned folder contains both programs. */
export function findRenderers(environment: RealEnvironment): Promise<FoundTools> {
  return findAll(environment, [RENDERERS]);
}

/** Adds helm and kustomize to the cache if they are missing. Returns the folder that contains both programs. */
export function setUpRenderers(environment: RealEnvironment): Promise<string> {
  return setUpClient(environment, RENDERERS);
}

/** Adds all missing programs to the cache. Returns the folders that contain the programs. */
export async function setUpCI(environment: RealEnvironment): Promise<readonly string[]> {
  const folders: string[] = [];
  const nodes = [...UNSUPPORTED_NODES, ...SUPPORTED_NODES].map(nodeRecipe);
  for (const recipe of [...nodes, RENDERERS, CERT_MANAGER]) {
    folders.push(await setUpClient(environment, recipe));
  }
  return folders;
}

/** Finds each program. With `CI=true`, a missing program is built, and a failed build fails the test. */
async function findAll(environment: RealEnvironment, recipes: readonly Recipe[]): Promise<FoundTools> {
  const folders: string[] = [];
  for (const recipe of recipes) {
    const one = await findClient(environment, recipe);
    if (!one.found) return one;
    folders.push(one.folder);
  }
  return { found: true, folders };
}

/** The npm package `node` contains the binary of Node.js for each platform. */
function nodeRecipe(version: string): Recipe {
  return {
    name: `node-${version}`,
    sources: import.meta.dirname,
    files: [],
    script: "setup:ci",
    needs: "npm, once, about 10 seconds",
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

const RENDERERS: Recipe = {
  name: "helm-kustomize",
  sources: path.join(import.meta.dirname, "go"),
  files: ["go.mod", "go.sum"],
  script: "setup:ci",
  needs: "Go >= 1.25, once, about 3 minutes",
  async build(folder, sources) {
    // With -buildvcs=false, the build does not need git.
    const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", `${folder}${path.sep}`];
    await runTool("go", ["build", ...flags, "helm.sh/helm/v3/cmd/helm", "sigs.k8s.io/kustomize/kustomize/v5"], sources);
  },
};
