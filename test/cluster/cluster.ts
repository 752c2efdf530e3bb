import { readFile } from "node:fs/promises";
import path from "node:path";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import type { Cluster } from "../real/apiserver/cluster.ts";
import type { ProgramResult } from "../programs/run-program.ts";
import { until } from "../real/apiserver/until.ts";
import type { PodMemory } from "./node/cgroup.ts";
import { buildImage, type ImageSource } from "../programs/images.ts";
import type { RunningNode } from "./node/node.ts";

const POD_LIMIT_MS = 90_000;
const EXEC_LIMIT_MS = 10 * 60_000;

/** An event of the API server's audit log. */
export interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
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

  /** Adds the images of an OCI archive to the node, under the name `repository` if they have only tags. */
  async loadArchive(archive: string, repository?: string): Promise<void> {
    await this.#node.containerd.load(archive, repository);
  }

  /** Returns the log of a container, or an empty string if the container has not started. */
  async logs(namespace: string, pod: string, container: string): Promise<string> {
    return (await this.api.kubectl(["logs", "-n", namespace, pod, "-c", container])).stdout;
  }

  /** Runs a program in a container. Resolves when the program exits with any exit code. */
  async exec(namespace: string, pod: string, container: string, command: readonly string[]): Promise<ProgramResult> {
    return this.api.kubectl(["exec", "-n", namespace, pod, "-c", container, "--", ...command], {
      limitMs: EXEC_LIMIT_MS,
    });
  }

  /** Kills kube-apiserver and starts it again. Resolves when the new kube-apiserver is ready. */
  async restartApiserver(): Promise<void> {
    // A signal to the process of `api` would reach only nsenter, which does not forward it to the namespaces.
    const [pid = ""] = (await this.runOnNode("pidof", ["kube-apiserver"])).trim().split(" ");
    await this.runOnNode("kill", ["-KILL", pid]);
    const hasEnded = async (): Promise<boolean> => this.runOnNode("kill", ["-0", pid]).then(() => false, () => true);
    if (!(await until(hasEnded))) throw new Error("kube-apiserver does not stop");
    await this.api.startApiserver();
  }

  /** Runs a program on the node, outside of Pods. Rejects unless the program exits with status 0. */
  async runOnNode(program: string, args: readonly string[]): Promise<string> {
    return this.#node.run(program, args);
  }

  /** Returns all events of the audit log so far, oldest first. */
  async auditEvents(): Promise<readonly AuditEvent[]> {
    const lines = (await readFile(this.api.auditLog, "utf8")).split("\n").filter((line) => line !== "");
    return lines.map((line): AuditEvent => JSON.parse(line));
  }

  /** Returns the Pods that match a label selector such as `app=webhook`. */
  async pods(namespace: string, labels: string): Promise<readonly Pod[]> {
    const pods: unknown = JSON.parse(await this.kubectl(["get", "pods", "-n", namespace, "-l", labels, "-o", "json"]));
    return list(field(pods, "items")).map(podOf);
  }

  /** Waits until the Pods of a label selector satisfy a condition. Otherwise rejects with the Pods. */
  async untilPods(
    namespace: string, labels: string, condition: (pods: readonly Pod[]) => boolean, limitMs = POD_LIMIT_MS,
  ): Promise<void> {
    const isMet = async (): Promise<boolean> => condition(await this.pods(namespace, labels));
    if (!(await until(isMet, limitMs))) throw new Error(await this.#report(namespace));
  }

  /** Returns the memory of all containers of a Pod. */
  async podMemory({ uid }: Pod): Promise<PodMemory> {
    return this.#node.cgroup.memory(`pod${uid}`);
  }

  /** Returns the memory of one container of a Pod. */
  async containerMemory({ containers }: Pod, container: string): Promise<PodMemory> {
    return this.#node.cgroup.memory(containers[container] ?? "");
  }

  /** Limits the memory of one container of a Pod until the container restarts. */
  async limitMemory({ containers }: Pod, container: string, bytes: number): Promise<void> {
    await this.#node.cgroup.limitMemory(containers[container] ?? "", bytes);
  }

  /** Returns the CPU time of a Pod, or of one of its containers, since its start, in ms. */
  async processorMs({ uid, containers }: Pod, container?: string): Promise<number> {
    return this.#node.cgroup.processorMs(container === undefined ? `pod${uid}` : containers[container] ?? "");
  }

  /** Waits until all replicas of a Deployment have the current version. Otherwise rejects with a report of its Pods. */
  async untilRolledOut(namespace: string, deployment: string, limitMs = POD_LIMIT_MS): Promise<void> {
    const status = ["rollout", "status", `deployment/${deployment}`, "-n", namespace, "--watch=false"];
    const isDone = async (): Promise<boolean> => (
      (await this.api.kubectl(status)).stdout.includes("successfully rolled out")
    );
    if (!(await until(isDone, limitMs))) throw new Error(await this.#report(namespace));
  }

  async #report(namespace: string): Promise<string> {
    const events = await this.kubectl(["get", "events", "-n", namespace, "--sort-by=.lastTimestamp"]);
    const pods = await this.kubectl(["get", "pods", "-n", namespace, "-o", "name"]);
    const logs = await Promise.all(pods.trim().split("\n").map((pod) => (
      this.api.kubectl(["logs", "-n", namespace, pod, "--all-containers", "--prefix", "--tail=20"])
    )));
    const texts = logs.map(({ stdout, stderr }) => `${stdout}${stderr}`);
    return `the Pods of namespace ${namespace} are not in the expected state:\n${events}\n${texts.join("\n")}`;
  }
}

/** Returns the memory of a Pod in MiB, as text. */
export function formatMemory({ workingSet, anonymous, resident }: PodMemory): string {
  const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
  return `working set ${mebibytes(workingSet)} MiB, of which anonymous ${mebibytes(anonymous)} MiB; `
    + `resident ${mebibytes(resident)} MiB`;
}

/** The state of a Pod. */
export interface Pod {
  readonly name: string;
  readonly uid: string;
  /** The IP address; empty until the Pod has one. */
  readonly address: string;
  readonly isReady: boolean;
  /** Whether the Pod is being deleted. Its containers can still be running. */
  readonly isTerminating: boolean;
  /** The number of restarts of all containers. */
  readonly restarts: number;
  /** The IDs of the containers by name. */
  readonly containers: Readonly<Record<string, string>>;
}

function podOf(pod: JsonObject): Pod {
  const status = field(pod, "status");
  const conditions = list(field(status, "conditions"));
  const containers = [...list(field(status, "initContainerStatuses")), ...list(field(status, "containerStatuses"))];
  return {
    name: stringAt(pod, "metadata", "name") ?? "", uid: stringAt(pod, "metadata", "uid") ?? "",
    address: stringAt(status, "podIP") ?? "",
    isReady: conditions.some((one) => one["type"] === "Ready" && one["status"] === "True"),
    isTerminating: stringAt(pod, "metadata", "deletionTimestamp") !== null,
    restarts: containers.reduce((sum, one) => sum + Number(one["restartCount"]), 0),
    containers: Object.fromEntries(containers.map((one) => (
      [stringAt(one, "name") ?? "", stringAt(one, "containerID")?.replace("containerd://", "") ?? ""] as const
    ))),
  };
}

function list(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
