import { randomBytes } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Assets } from "../../programs/kubernetes.ts";
import { type Cluster, startCluster } from "../../real/apiserver/cluster.ts";
import type { ControlPlaneHost } from "../../real/apiserver/control-plane.ts";
import type { ManagedProcess } from "../../real/apiserver/managed-process.ts";
import { until } from "../../real/apiserver/until.ts";
import type { NodePrograms } from "../programs.ts";
import { cgroupFolders, createCgroup, type NodeCgroup } from "./cgroup.ts";
import { startCleaner } from "./cleaner.ts";
import { NODE, startComponents } from "./components.ts";
import { type Containerd, PAUSE_IMAGE, startContainerd } from "./containerd.ts";
import { buildImage } from "../../programs/images.ts";
import { connectNode, type Link } from "./link.ts";
import { type Sandbox, startSandbox } from "./sandbox.ts";

const PORTS = { api: 6443, etcd: 2379, etcdPeer: 2380 } as const;

export interface NodeOptions {
  readonly assets: Assets;
  readonly programs: NodePrograms;
  /** Additional flags for kube-apiserver. */
  readonly apiserverFlags?: readonly string[];
  /** A part of the name of everything that belongs to the node on this machine. Default: random. */
  readonly id?: string;
}

/** A running Kubernetes cluster of one node, which runs Pods. */
export interface RunningNode {
  readonly cluster: Cluster;
  readonly containerd: Containerd;
  readonly cgroup: NodeCgroup;
  readonly link: Link;
  /** The folder of all files of the node. */
  readonly folder: string;
  /** Runs a program in the namespaces of the node, outside of Pods. Rejects unless it exits with status 0. */
  run(program: string, args: readonly string[]): Promise<string>;
  /** Ends all processes of the node, and removes its mounts, namespaces, interfaces, cgroups and files. */
  stop(): Promise<void>;
}

/** Starts a control plane and a node. Resolves when the node is Ready. Leaves nothing behind if the start fails. */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const undo: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (let next = undo.pop(); next !== undefined; next = undo.pop()) {
      await next().catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw new AggregateError(errors, "parts of the node cannot be removed");
  };
  try {
    return { ...(await startParts(options, undo)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Appends to `undo` how to stop each part. The parts must be stopped in the opposite order. */
async function startParts(
  { assets, programs, apiserverFlags = [], id = randomNodeID() }: NodeOptions, undo: (() => Promise<unknown>)[],
): Promise<Omit<RunningNode, "stop">> {
  const name = `ack-role-resolver-node-${id}`;
  const folder = path.join(tmpdir(), name);
  await mkdir(folder, { mode: 0o700 });
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const cleaner = startCleaner(folder, await cgroupFolders(name));
  undo.push(() => cleaner.end());
  const cgroup = await createCgroup(name);
  undo.push(() => cgroup.remove());
  const sandbox = await startSandbox(folder, cgroup.componentsFile);
  undo.push(() => sandbox.stop());
  const link = await connectNode(sandbox, name);
  undo.push(() => link.remove());
  const [containerd, cluster] = await bothOrNone(
    startImages(sandbox, folder, programs), startControlPlane(assets, { sandbox, link, folder, apiserverFlags }),
  );
  undo.push(() => cluster.stop());
  const processes = await startComponents({
    sandbox, folder, cluster, programs, nodeAddress: link.nodeAddress, socket: containerd.socket,
    cgroupRoot: cgroup.pods,
  });
  await untilReady(cluster, processes);
  return { cluster, containerd, cgroup, link, folder, run: (program, args) => sandbox.run(program, args) };
}

/** If one start fails, waits for the other start, so that the other part can be stopped. */
async function bothOrNone(images: Promise<Containerd>, controlPlane: Promise<Cluster>): Promise<[Containerd, Cluster]> {
  const [containerd, cluster] = await Promise.allSettled([images, controlPlane]);
  if (containerd.status === "fulfilled" && cluster.status === "fulfilled") return [containerd.value, cluster.value];
  if (cluster.status === "fulfilled") await cluster.value.stop();
  return Promise.all([images, controlPlane]);
}

async function startImages(sandbox: Sandbox, folder: string, { pause }: NodePrograms): Promise<Containerd> {
  const archive = path.join(folder, "pause.tar");
  const [containerd] = await Promise.all([
    startContainerd(sandbox, folder),
    buildImage({ name: PAUSE_IMAGE, files: { "/pause": pause }, entrypoint: ["/pause"] }, archive),
  ]);
  await containerd.load(archive);
  return containerd;
}

interface ControlPlaneOptions {
  readonly sandbox: Sandbox;
  readonly link: Link;
  readonly folder: string;
  readonly apiserverFlags: readonly string[];
}

function startControlPlane(assets: Assets, options: ControlPlaneOptions): Promise<Cluster> {
  const { sandbox, link, folder, apiserverFlags } = options;
  const host: ControlPlaneHost = {
    folder, address: link.nodeAddress, ports: PORTS, auditLevel: "Metadata",
    command: (program, args, cwd) => sandbox.command(program, args, cwd),
  };
  return startCluster(assets, { host, apiserverFlags });
}

/** Returns a random ID, so that the nodes of concurrent test runs are independent. */
export function randomNodeID(): string {
  return randomBytes(4).toString("hex");
}

/** Without the ServiceAccount `default`, the API server would reject Pods of the namespace `default`. */
async function untilReady(cluster: Cluster, processes: readonly ManagedProcess[]): Promise<void> {
  const ready = ["get", "node", NODE, "-o", 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'];
  const account = ["get", "serviceaccount", "default", "-n", "default"];
  const isReady = async (): Promise<boolean> => (
    (await cluster.kubectl(ready)).stdout === "True" && (await cluster.kubectl(account)).code === 0
  );
  const isDone = async (): Promise<boolean> => processes.some((one) => one.hasEnded()) || isReady();
  if ((await until(isDone)) && (await isReady())) return;
  const logs = await Promise.all(processes.map((one) => one.logTail()));
  throw new Error(`the node is not Ready; last log lines of its components:\n${logs.join("\n\n")}`);
}
