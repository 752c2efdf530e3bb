import { readFile } from "node:fs/promises";
import path from "node:path";
import { field, isJsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import type { Cluster } from "../real/apiserver/cluster.ts";
import type { ProgramResult } from "../real/apiserver/run-program.ts";
import { until } from "../real/apiserver/until.ts";
import type { PodMemory } from "./node/cgroup.ts";
import { buildImage, type ImageSource } from "./node/images.ts";
import type { RunningNode } from "./node/node.ts";

/** An event of the API server's audit log. */
export interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** What tests do with a cluster that runs Pods. */
export class PodCluster {
  /** The Kubernetes API: `request` and `kubectl`. */
  readonly api: Cluster;
  /** The address of this machine that Pods can connect to. Listen on it for a server that Pods use. */
  readonly hostAddress: string;
  readonly #node: RunningNode;

  constructor(node: RunningNode) {
    this.api = node.cluster;
    this.hostAddress = node.link.hostAddress;
    this.#node = node;
  }

  /** Runs kubectl as admin and returns its standard output. Rejects unless kubectl exits with status 0. */
  async kubectl(args: readonly string[], input = ""): Promise<string> {
    const { code, stdout, stderr } = await this.api.kubectl(args, { input });
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} exited with ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Applies objects as admin. Rejects if the API server rejects an object. */
  async apply(objects: readonly object[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    await this.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], input);
  }

  /** Builds an image from nothing and adds it to the node. Use it in a Pod with `imagePullPolicy: Never`. */
  async loadImage(source: ImageSource): Promise<void> {
    const archive = path.join(this.#node.folder, `${source.name.replaceAll(/[^\w.-]/gu, "_")}.tar`);
    await buildImage(source, archive);
    await this.loadArchive(archive);
  }

  /** Adds the images of an OCI archive to the node. */
  async loadArchive(archive: string): Promise<void> {
    await this.#node.containerd.load(archive);
  }

  /** Returns the log of a container, or an empty string if the container has not started. */
  async logs(namespace: string, pod: string, container: string): Promise<string> {
    return (await this.api.kubectl(["logs", "-n", namespace, pod, "-c", container])).stdout;
  }

  /** Runs a program in a container. Resolves when the program exits with any exit code. */
  async exec(namespace: string, pod: string, container: string, command: readonly string[]): Promise<ProgramResult> {
    return this.api.kubectl(["exec", "-n", namespace, pod, "-c", container, "--", ...command]);
  }

  /** Returns all events of the audit log so far, oldest first. */
  async auditEvents(): Promise<readonly AuditEvent[]> {
    const lines = (await readFile(this.api.auditLog, "utf8")).split("\n").filter((line) => line !== "");
    return lines.map((line): AuditEvent => JSON.parse(line));
  }

  /** Returns the Pods that match a label selector such as `app=webhook`, without those that are being deleted. */
  async pods(namespace: string, labels: string): Promise<readonly Pod[]> {
    const list: unknown = JSON.parse(await this.kubectl(["get", "pods", "-n", namespace, "-l", labels, "-o", "json"]));
    const items = field(list, "items");
    return (Array.isArray(items) ? items : []).filter(isJsonObject)
      .filter((pod) => stringAt(pod, "metadata", "deletionTimestamp") === null)
      .map((pod) => ({ name: stringAt(pod, "metadata", "name") ?? "", uid: stringAt(pod, "metadata", "uid") ?? "" }));
  }

  /** Returns the memory of all containers of a Pod. */
  async podMemory({ uid }: Pod): Promise<PodMemory> {
    return this.#node.cgroup.podMemory(uid);
  }

  /** Waits until all replicas of a Deployment have the current version. Otherwise rejects with a report of its Pods. */
  async untilRolledOut(namespace: string, deployment: string, limitMs = 60_000): Promise<void> {
    const status = ["rollout", "status", `deployment/${deployment}`, "-n", namespace, "--watch=false"];
    const isDone = async (): Promise<boolean> => (
      (await this.api.kubectl(status)).stdout.includes("successfully rolled out")
    );
    if (!(await until(isDone, limitMs))) throw new Error(await this.#report(namespace, deployment));
  }

  async #report(namespace: string, deployment: string): Promise<string> {
    const events = await this.kubectl(["get", "events", "-n", namespace, "--sort-by=.lastTimestamp"]);
    const pods = await this.kubectl(["get", "pods", "-n", namespace, "-o", "wide"]);
    const logs = await this.api.kubectl(
      ["logs", "-n", namespace, `deployment/${deployment}`, "--all-containers", "--tail=20"],
    );
    return `Deployment ${deployment} is not rolled out:\n${pods}\n${events}\n${logs.stdout}${logs.stderr}`;
  }
}

/** The identity of a Pod. */
export interface Pod {
  readonly name: string;
  readonly uid: string;
}
