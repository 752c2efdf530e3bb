import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";

const MODULE = path.join(import.meta.dirname, "../real/apiserver/go");
const CONTROL_PLANE = ["kube-apiserver", "etcd", "kubectl"] as const;
const COMPONENTS = ["kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"] as const;

/** The absolute paths of the control plane programs. */
export type Assets = Readonly<Record<(typeof CONTROL_PLANE)[number], string>>;

/** The absolute paths of the other programs that a cluster with a node runs. */
export type NodeComponents = Readonly<Record<(typeof COMPONENTS)[number], string>>;

/** `KUBEBUILDER_ASSETS` replaces the control plane programs, as in controller-runtime's envtest. */
export const KUBERNETES: Recipe = {
  name: "kubernetes",
  group: "apiserver",
  needs: "Go >= 1.25, once, about 5 minutes",
  sources: MODULE,
  files: sourcesOf(CONTROL_PLANE),
  variant: kubernetesVersion,
  makes: CONTROL_PLANE,
  replacement: ({ kubebuilderAssets }) => kubebuilderAssets,
  build: (folder) => build(CONTROL_PLANE, folder),
};

/** The components have the version of the API server, because they are built from the same Go module. */
export const KUBERNETES_NODE: Recipe = {
  name: "kubernetes-node",
  group: "cluster",
  needs: "Go >= 1.25, once, about 5 minutes",
  sources: MODULE,
  files: sourcesOf(COMPONENTS),
  variant: kubernetesVersion,
  makes: COMPONENTS,
  build: (folder) => build(COMPONENTS, folder),
};

function sourcesOf(programs: readonly string[]): readonly string[] {
  return ["go.mod", "go.sum", ...programs.map((name) => `${name}/main.go`)];
}

/** Returns the control plane programs in the folder of KUBERNETES. */
export function assetsIn(folder: string): Assets {
  return {
    "kube-apiserver": path.join(folder, "kube-apiserver"),
    etcd: path.join(folder, "etcd"),
    kubectl: path.join(folder, "kubectl"),
  };
}

/** Returns the programs in the folder of KUBERNETES_NODE. */
export function nodeComponentsIn(folder: string): NodeComponents {
  return {
    "kube-controller-manager": path.join(folder, "kube-controller-manager"),
    "kube-scheduler": path.join(folder, "kube-scheduler"),
    "kube-proxy": path.join(folder, "kube-proxy"),
    kubelet: path.join(folder, "kubelet"),
  };
}

/** Returns the Kubernetes release that the Go module requires, such as `v1.35.4`. */
export async function kubernetesVersion(): Promise<string> {
  const text = await readFile(path.join(MODULE, "go.mod"), "utf8");
  const version = /^\s*k8s\.io\/kubernetes (v\S+)$/mu.exec(text)?.[1];
  if (version === undefined) throw new Error(`${MODULE}/go.mod requires no version of k8s.io/kubernetes`);
  return version;
}

/** The linker sets the version. The API server would otherwise report the version v0.0.0-master. */
async function build(programs: readonly string[], folder: string): Promise<void> {
  const version = await kubernetesVersion();
  const [, major = "", minor = ""] = /^v(\d+)\.(\d+)\./u.exec(version) ?? [];
  const variables = Object.entries({ gitVersion: version, gitMajor: major, gitMinor: minor });
  await goBuild(`${folder}${path.sep}`, {
    module: MODULE,
    packages: programs.map((name) => `./${name}`),
    variables: Object.fromEntries(variables.map(([name, value]) => [`k8s.io/component-base/version.${name}`, value])),
  });
}
