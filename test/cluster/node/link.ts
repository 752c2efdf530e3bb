import { networkInterfaces } from "node:os";
import { runTool } from "../../programs/run-program.ts";
import type { Sandbox } from "./sandbox.ts";

/** The addresses of Pods. They exist only in the network namespace of the node. */
export const POD_RANGE = "10.244.0.0/24";

/** A pair of virtual interfaces between this machine and the network namespace of a node. */
export interface Link {
  /** The address of this machine, on which servers for Pods can listen. */
  readonly hostAddress: string;
  readonly nodeAddress: string;
  /** The name of the interface on this machine. */
  readonly name: string;
  remove(): Promise<void>;
}

/**
 * Connects this machine with the node, and only with the node: the node has no route to other networks. A name such
 * as `arr-10-250-7` cannot exist twice, so two nodes cannot get the same addresses. `alias` is the name of the node.
 */
export async function connectNode(sandbox: Sandbox, alias: string): Promise<Link> {
  const { name, hostAddress, nodeAddress } = await freeLink(sandbox.pid);
  const remove = async (): Promise<void> => {
    await ip("link", "delete", name).catch((error: unknown) => {
      if (networkInterfaces()[name] !== undefined) throw error;
    });
  };
  try {
    await ip("address", "add", `${hostAddress}/30`, "dev", name);
    await ip("link", "set", name, "alias", alias, "up");
    await sandbox.run("ip", ["address", "add", `${nodeAddress}/30`, "dev", "eth0"]);
    await sandbox.run("ip", ["link", "set", "eth0", "up"]);
    // The kernel looks up a route before kube-proxy's rules replace the address of a Service.
    await sandbox.run("ip", ["route", "add", "default", "dev", "eth0"]);
  } catch (error) {
    await remove();
    throw error;
  }
  return { hostAddress, nodeAddress, name, remove };
}

const ATTEMPTS = 20;
const NETWORKS = 256;

async function freeLink(pid: number): Promise<Pick<Link, "name" | "hostAddress" | "nodeAddress">> {
  const used = Object.values(networkInterfaces()).flatMap((one = []) => one.map(({ address }) => address));
  const first = Math.floor(Math.random() * NETWORKS);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const network = (first + attempt) % NETWORKS;
    const prefix = `10.250.${network}`;
    const name = `arr-${prefix.replaceAll(".", "-")}`;
    const isFree = !used.some((address) => address.startsWith(`${prefix}.`));
    const peer = ["peer", "name", "eth0", "netns", String(pid)];
    if (isFree && (await ip("link", "add", name, "type", "veth", ...peer).then(() => true, () => false))) {
      return { name, hostAddress: `${prefix}.1`, nodeAddress: `${prefix}.2` };
    }
  }
  throw new Error(`no free network in 10.250.0.0/16 after ${ATTEMPTS} attempts`);
}

async function ip(...args: readonly string[]): Promise<void> {
  await runTool("ip", args, "/");
}
