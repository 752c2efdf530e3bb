import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { type ManagedProcess, startProcess } from "../../real/apiserver/managed-process.ts";
import { until } from "../../real/apiserver/until.ts";
import { POD_RANGE } from "./link.ts";
import type { Sandbox } from "./sandbox.ts";

/** A running containerd. The kubelet uses its socket. */
export interface Containerd {
  readonly socket: string;
  readonly process: ManagedProcess;
  /**
   * Adds the images of an OCI archive, so that Pods can use them without a registry. `repository` precedes the tags of
   * an archive that has no names.
   */
  load(archive: string, repository?: string): Promise<void>;
}

/** The image of the first container of each Pod. */
export const PAUSE_IMAGE = "localhost/pause:1";

/** Starts containerd with all its files in `folder`. Resolves when containerd responds. */
export async function startContainerd(sandbox: Sandbox, folder: string): Promise<Containerd> {
  const networks = path.join(folder, "networks");
  await mkdir(networks);
  await writeFile(path.join(networks, "10-bridge.conflist"), JSON.stringify(POD_NETWORK));
  const socket = path.join(folder, "containerd.sock");
  const config = path.join(folder, "containerd.toml");
  await writeFile(config, configuration(folder, socket, networks));
  const log = path.join(folder, "containerd.log");
  const containerd = await startProcess(...sandbox.command("containerd", ["--config", config], folder), folder, log);
  const ctr = async (...args: readonly string[]): Promise<string> =>
    sandbox.run("ctr", ["--address", socket, "--namespace", "k8s.io", ...args]);
  const responds = async (): Promise<boolean> => containerd.hasEnded() || ctr("version").then(() => true, () => false);
  if (!(await until(responds)) || containerd.hasEnded()) {
    throw new Error(`containerd did not start:\n${await containerd.logTail()}`);
  }
  return {
    socket, process: containerd,
    async load(archive, repository) {
      await ctr("image", "import", ...(repository === undefined ? [] : ["--base-name", repository]), archive);
    },
  };
}

function configuration(folder: string, socket: string, networks: string): string {
  return `version = 2
root = "${folder}/containerd/root"
state = "${folder}/containerd/state"
# The plugin would create a folder in /opt.
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  netns_mounts_under_state_dir = true
  # containerd may not lower the OOM score of containers below its own score if it runs in a container itself.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${networks}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`;
}

/** The bridge to which all Pods are connected. */
const POD_NETWORK = {
  cniVersion: "0.4.0",
  name: "bridge",
  plugins: [
    {
      type: "bridge", bridge: "cni0", isGateway: true, ipMasq: true, hairpinMode: true,
      ipam: { type: "host-local", subnet: POD_RANGE, routes: [{ dst: "0.0.0.0/0" }] },
    },
    { type: "portmap", capabilities: { portMappings: true } },
  ],
};
