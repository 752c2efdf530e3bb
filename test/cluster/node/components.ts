import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Cluster } from "../../real/apiserver/cluster.ts";
import { SERVICE_RANGE } from "../../real/apiserver/control-plane.ts";
import { kubeconfig } from "../../real/apiserver/identities.ts";
import { type ManagedProcess, startProcess } from "../../real/apiserver/managed-process.ts";
import type { NodePrograms } from "../programs.ts";
import { POD_RANGE } from "./link.ts";
import type { Sandbox } from "./sandbox.ts";

interface ComponentsOptions {
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly cluster: Cluster;
  readonly programs: NodePrograms;
  readonly nodeAddress: string;
  /** The socket of containerd. */
  readonly socket: string;
  readonly cgroupRoot: string;
}

/** The name of the node. */
export const NODE = "node";

type Component = "kube-controller-manager" | "kube-scheduler" | "kube-proxy" | "kubelet";
type ComponentArguments = (kubeconfigFile: string, options: ComponentsOptions) => readonly string[];

/** Starts the components that create, schedule and run Pods. */
export async function startComponents(options: ComponentsOptions): Promise<readonly ManagedProcess[]> {
  const { folder, nodeAddress } = options;
  await writeFile(path.join(folder, "kubelet.json"), JSON.stringify(kubeletConfiguration(options)));
  await writeFile(path.join(folder, "proxy.json"), JSON.stringify(proxyConfiguration(folder, nodeAddress)));
  const names = ["kubelet", "kube-controller-manager", "kube-scheduler", "kube-proxy"] as const;
  return Promise.all(names.map((name) => startComponent(name, options)));
}

async function startComponent(name: Component, options: ComponentsOptions): Promise<ManagedProcess> {
  const { sandbox, folder, cluster, programs } = options;
  const file = path.join(folder, `${name}.kubeconfig`);
  await writeFile(file, kubeconfig(cluster.url, cluster.caFile, cluster.tokens, name), { mode: 0o600 });
  const command = sandbox.command(programs[name], ARGUMENTS[name](file, options), folder);
  return startProcess(...command, folder, path.join(folder, `${name}.log`));
}

const ARGUMENTS: Readonly<Record<Component, ComponentArguments>> = {
  "kube-controller-manager": (file, { cluster }) => [
    `--kubeconfig=${file}`, "--leader-elect=false", "--use-service-account-credentials",
    `--service-account-private-key-file=${cluster.file("service-account.key")}`, `--root-ca-file=${cluster.caFile}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
  ],
  "kube-scheduler": (file) => [`--kubeconfig=${file}`, "--leader-elect=false"],
  "kube-proxy": (_, { folder }) => [`--config=${path.join(folder, "proxy.json")}`],
  kubelet: (file, { folder, nodeAddress }) => [
    `--kubeconfig=${file}`, `--config=${path.join(folder, "kubelet.json")}`, `--hostname-override=${NODE}`,
    `--node-ip=${nodeAddress}`, `--cert-dir=${path.join(folder, "kubelet-certificates")}`,
  ],
};

function kubeletConfiguration({ folder, socket, cgroupRoot }: ComponentsOptions): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    // The network namespace contains only the node, its Pods and this machine.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    containerRuntimeEndpoint: `unix://${socket}`,
    cgroupDriver: "cgroupfs",
    cgroupRoot,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    resolvConf: "",
    volumePluginDir: path.join(folder, "volume-plugins"),
    // The disk of this machine is not the disk of a node. Images exist only in containerd, so none may be removed.
    localStorageCapacityIsolation: false,
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "0%", "imagefs.available": "0%" },
    imageGCHighThresholdPercent: 100,
  };
}

function proxyConfiguration(folder: string, nodeAddress: string): object {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    clientConnection: { kubeconfig: path.join(folder, "kube-proxy.kubeconfig") },
    mode: "iptables",
    clusterCIDR: POD_RANGE,
    hostnameOverride: NODE,
    bindAddress: nodeAddress,
    // Does not change the connection tracking of the machine.
    conntrack: { maxPerCore: 0, min: 0 },
  };
}
