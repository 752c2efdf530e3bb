import path from "node:path";
import process from "node:process";
import { buildPrograms, MODULE_FOLDER, moduleVersion } from "../real/apiserver/assets.ts";
import type { RealEnvironment } from "../real/environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "../real/sdks/toolchains/built-client.ts";
import { nodeFilesystem } from "./image/buildah.ts";
import { buildImage, withFolder } from "./node/images.ts";

const COMPONENTS = ["kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"] as const;
const POD_PROGRAMS = ["controller", "pause"] as const;

type Program = (typeof COMPONENTS)[number] | (typeof POD_PROGRAMS)[number];

/** The absolute paths of what a node runs. */
export interface NodePrograms extends Readonly<Record<Program, string>> {
  /** The OCI archive of NODE_IMAGE. */
  readonly nodeImage: string;
}

/** An image that contains only Node.js, at `/usr/local/bin/node`, and the libraries that it loads. */
export const NODE_IMAGE = "localhost/node:1";

/** The programs. If a program is missing, the reason why the tests are skipped, with the fix. */
type FoundPrograms =
  | { readonly found: true; readonly programs: NodePrograms }
  | { readonly found: false; readonly reason: string };

/** Finds the programs in the cache. With `CI=true`, builds missing programs, and rejects if a build fails. */
export async function findNodePrograms(environment: RealEnvironment): Promise<FoundPrograms> {
  const folders: string[] = [];
  for (const recipe of await recipes()) {
    const one = await findClient(environment, recipe);
    if (!one.found) return one;
    folders.push(one.folder);
  }
  return { found: true, programs: programsIn(folders) };
}

/** Returns the programs in the cache. Builds the missing ones. */
export async function setUpNodePrograms(environment: RealEnvironment): Promise<NodePrograms> {
  const folders: string[] = [];
  for (const recipe of await recipes()) folders.push(await setUpClient(environment, recipe));
  return programsIn(folders);
}

async function recipes(): Promise<readonly Recipe[]> {
  return [await componentsRecipe(), POD_PROGRAMS_RECIPE, NODE_IMAGE_RECIPE];
}

function programsIn([components = "", inPods = "", image = ""]: readonly string[]): NodePrograms {
  return {
    "kube-controller-manager": path.join(components, "kube-controller-manager"),
    "kube-scheduler": path.join(components, "kube-scheduler"),
    "kube-proxy": path.join(components, "kube-proxy"),
    kubelet: path.join(components, "kubelet"),
    controller: path.join(inPods, "controller"),
    pause: path.join(inPods, "pause"),
    nodeImage: path.join(image, "image.tar"),
  };
}

/** The components have the version of the API server in test/real, because they are built from the same Go module. */
async function componentsRecipe(): Promise<Recipe> {
  const version = await moduleVersion();
  return {
    name: `kubernetes-node-${version}`,
    sources: MODULE_FOLDER,
    files: ["go.mod", "go.sum", ...COMPONENTS.map((name) => `${name}/main.go`)],
    script: "setup:cluster",
    needs: "Go >= 1.25, once, about 5 minutes",
    build: (folder) => buildPrograms(COMPONENTS, folder, version),
  };
}

const POD_PROGRAMS_RECIPE: Recipe = {
  name: "pod-programs",
  sources: path.join(import.meta.dirname, "go"),
  files: ["go.mod", "go.sum", "controller/aws.go", "controller/bucket.go", "controller/main.go", "pause/main.go"],
  script: "setup:cluster",
  needs: "Go >= 1.25, once, about 2 minutes",
  async build(folder, sources) {
    // With CGO_ENABLED=0, the programs need no shared libraries. With -buildvcs=false, the build does not need git.
    const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", `${folder}${path.sep}`];
    const packages = POD_PROGRAMS.map((name) => `./${name}`);
    await runTool("env", ["CGO_ENABLED=0", "go", "build", ...flags, ...packages], sources);
  },
};

/** The tests run with the Node.js of the npm package `node`, and so do the Pods. */
const NODE_IMAGE_RECIPE: Recipe = {
  name: `node-image-${process.version}`,
  sources: path.join(import.meta.dirname, "node"),
  files: ["images.ts"],
  script: "setup:cluster",
  needs: "buildah, once, about 10 seconds",
  async build(folder) {
    await withFolder(async (files) => {
      await nodeFilesystem(files);
      const image = { name: NODE_IMAGE, files: { "/": files }, entrypoint: ["node"] };
      await buildImage(image, path.join(folder, "image.tar"));
    });
  },
};
