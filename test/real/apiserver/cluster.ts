import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { Agent } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePorts } from "../../free-ports.ts";
import { apiRequest, type ApiResponse } from "./api-request.ts";
import type { Assets } from "../../programs/kubernetes.ts";
import {
  apiserverArguments, controlPlaneFiles, type ControlPlaneFiles, type ControlPlaneHost, etcdArguments,
  hostedApiserverArguments, writeServerFiles,
} from "./control-plane.ts";
import { type Identity, kubeconfig, randomTokens, type Tokens } from "./identities.ts";
import { type ManagedProcess, startProcess } from "./managed-process.ts";
import { type ProgramResult, runProgram } from "../../programs/run-program.ts";
import { until } from "./until.ts";

const KUBECTL_LIMIT_MS = 60_000;

export interface ClusterOptions {
  /** Additional flags for kube-apiserver. If a flag is repeated, kube-apiserver uses the last value. */
  readonly apiserverFlags?: readonly string[];
  /** Default: this machine, with free loopback ports. */
  readonly host?: ControlPlaneHost;
  /** Whether the plugin ServiceAccount is on. A test then creates the ServiceAccounts of its Pods. Default: false. */
  readonly serviceAccounts?: boolean;
}

interface KubectlOptions {
  /** The standard input of kubectl, for `-f -`. */
  readonly input?: string;
  /** Default: admin. */
  readonly user?: Identity;
  /** Default: 20 s. */
  readonly limitMs?: number;
}

export interface RequestOptions {
  /** Default: admin. */
  readonly user?: Identity;
  /** The headers of the request. A patch needs a `content-type`. The default `content-type` is application/json. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The agent that reuses connections, for many requests. Default: a new connection for each request. */
  readonly agent?: Agent;
}

/** The fields of a CustomResourceDefinition that the installation reads. */
export interface InstalledCRD {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served?: boolean }[];
  };
}

/**
 * Starts etcd and kube-apiserver in a temporary folder, by default on free loopback ports. Resolves when `/readyz`
 * returns 200.
 */
export async function startCluster(assets: Assets, options: ClusterOptions = {}): Promise<Cluster> {
  const host = options.host ?? (await loopbackHost());
  const files = controlPlaneFiles(await mkdtemp(path.join(host.folder, "ack-role-resolver-cluster-")));
  const { serviceAccounts = false } = options;
  const apiserver = options.host === undefined
    ? apiserverArguments(host.ports, serviceAccounts)
    : hostedApiserverArguments(host);
  const cluster = new Cluster(assets, files, host, [...apiserver, ...(options.apiserverFlags ?? [])]);
  try {
    await cluster.start();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** A Kubernetes API server with etcd, without controllers, scheduler and kubelet. Created by `startCluster`. */
export class Cluster {
  readonly url: string;
  readonly tokens: Tokens = randomTokens();
  /**
   * The path of the kubeconfig, which has a context for each identity. `caFile` is the path of a PEM file, and
   * `auditLog` is the path of a file that has one JSON event per line.
   */
  readonly kubeconfig: string;
  readonly caFile: string;
  readonly auditLog: string;
  readonly #assets: Assets;
  readonly #folder: string;
  readonly #host: ControlPlaneHost;
  readonly #apiserverArguments: readonly string[];
  #etcd: ManagedProcess | undefined;
  #apiserver: ManagedProcess | undefined;

  constructor(assets: Assets, files: ControlPlaneFiles, host: ControlPlaneHost, apiserver: readonly string[]) {
    this.url = `https://${host.address}:${host.ports.api}`;
    this.kubeconfig = files.kubeconfig;
    this.caFile = files.caFile;
    this.auditLog = files.auditLog;
    this.#assets = assets;
    this.#folder = files.folder;
    this.#host = host;
    this.#apiserverArguments = apiserver;
  }

  /** Returns the path of a file in the folder of the control plane. */
  file(name: string): string {
    return path.join(this.#folder, name);
  }

  /** The IDs of the running processes. */
  get pids(): readonly number[] {
    const started = [this.#etcd, this.#apiserver].filter((one) => one !== undefined);
    return started.flatMap((one) => (one.hasEnded() ? [] : [one.pid]));
  }

  async start(): Promise<void> {
    await writeServerFiles(this.#folder, this.tokens, this.#host);
    await writeFile(this.kubeconfig, kubeconfig(this.url, this.caFile, this.tokens), { mode: 0o600 });
    this.#etcd = await this.#run("etcd", etcdArguments(this.#host.ports));
    await this.startApiserver();
  }

  /**
   * Starts kube-apiserver, each time with the same port, certificate and etcd. Resolves when kube-apiserver is ready.
   */
  async startApiserver(): Promise<void> {
    const apiserver = await this.#run("kube-apiserver", this.#apiserverArguments);
    this.#apiserver = apiserver;
    await this.#untilReady(apiserver);
  }

  /**
   * Stops kube-apiserver, but not etcd. SIGTERM ends watches cleanly, and SIGKILL breaks the connections of watches.
   */
  async stopApiserver(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.#apiserver?.stop(signal);
  }

  async restartApiserver(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.stopApiserver(signal);
    await this.startApiserver();
  }

  /** Kills both processes, waits until they exit, and removes the folder. */
  async stop(): Promise<void> {
    await this.#apiserver?.stop("SIGKILL");
    await this.#etcd?.stop("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Runs kubectl. Resolves when kubectl exits with any exit code. Rejects after the time limit. */
  async kubectl(
    args: readonly string[], { input = "", user = "admin", limitMs = KUBECTL_LIMIT_MS }: KubectlOptions = {},
  ): Promise<ProgramResult> {
    const cacheDir = path.join(this.#folder, "kubectl-cache");
    const context = [`--kubeconfig=${this.kubeconfig}`, `--context=${user}`, `--cache-dir=${cacheDir}`];
    return runProgram(this.#assets.kubectl, [...context, ...args], {
      cwd: this.#folder,
      env: { HOME: this.#folder },
      input,
      signal: AbortSignal.timeout(limitMs),
    });
  }

  /** Runs a line in a shell, in which kubectl is admin of this cluster. The variables are those of the line. */
  async shell(line: string, variables: Readonly<Record<string, string>> = {}): Promise<ProgramResult> {
    const PATH = `${path.dirname(this.#assets.kubectl)}:/usr/bin:/bin`;
    return runProgram("/bin/sh", ["-c", line], {
      cwd: this.#folder,
      env: { HOME: this.#folder, KUBECONFIG: this.kubeconfig, PATH, ...variables },
      signal: AbortSignal.timeout(KUBECTL_LIMIT_MS),
    });
  }

  /**
   * Sends a request to a path such as `/api/v1/namespaces`. Resolves for any HTTP status. Retries after a 429, as
   * client-go does: after its start and for a new CRD, the API server returns 429 while it initializes the storage of a
   * resource.
   */
  async request(
    method: string, requestPath: string, body?: unknown, options: RequestOptions = {},
  ): Promise<ApiResponse> {
    const headers = { authorization: `Bearer ${this.tokens[options.user ?? "admin"]}`, ...options.headers };
    const ca = await readFile(this.caFile, "utf8");
    const sent = { url: new URL(requestPath, this.url), method, headers, body, ca, agent: options.agent };
    let response = await apiRequest(sent);
    await until(async () => {
      response = response.status === 429 ? await apiRequest(sent) : response;
      return response.status !== 429;
    });
    return response;
  }

  /**
   * Applies CRDs as admin. Resolves when kubectl can list every served version of each CRD. Does not wait for the
   * condition Established, which is True too early: the API server can still return 429 while it initializes the
   * storage, and it updates discovery later.
   */
  async installCRDs(crds: readonly InstalledCRD[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: crds });
    const applied = await this.kubectl(["apply", "--server-side", "-f", "-"], { input });
    if (applied.code !== 0) {
      throw new Error(`the API server rejected the CRDs: ${applied.stderr}`);
    }
    const resources = crds.flatMap(({ spec: { names, versions, group } }) => (
      versions.filter(({ served }) => served !== false).map(({ name }) => `${names.plural}.${name}.${group}`)
    ));
    const list = ["get", "--all-namespaces", resources.join(",")];
    if (!(await until(async () => (await this.kubectl(list)).code === 0))) {
      throw new Error(`the CRDs are not served: ${(await this.kubectl(list)).stderr}`);
    }
  }

  async #run(name: "etcd" | "kube-apiserver", args: readonly string[]): Promise<ManagedProcess> {
    const [command, all] = this.#host.command(this.#assets[name], args, this.#folder);
    return startProcess(command, all, this.#folder, path.join(this.#folder, `${name}.log`));
  }

  async #untilReady(apiserver: ManagedProcess): Promise<void> {
    const hasEnded = (): boolean => apiserver.hasEnded() || this.#etcd?.hasEnded() === true;
    const isDone = async (): Promise<boolean> => (await this.#isReady()) || hasEnded();
    if (!(await until(isDone)) || !(await this.#isReady())) {
      const logs = await Promise.all([this.#etcd?.logTail(), apiserver.logTail()]);
      throw new Error(`the API server is not ready; last log lines of etcd and kube-apiserver:\n${logs.join("\n\n")}`);
    }
  }

  /** Returns false if the server does not listen yet or has no certificate yet. */
  async #isReady(): Promise<boolean> {
    try {
      return (await this.request("GET", "/readyz")).status === 200;
    } catch {
      return false;
    }
  }
}

/** Returns this machine, without controllers. */
async function loopbackHost(): Promise<ControlPlaneHost> {
  const [api = 0, etcd = 0, etcdPeer = 0] = await freePorts(3);
  return {
    folder: tmpdir(), address: "127.0.0.1", ports: { api, etcd, etcdPeer }, auditLevel: "RequestResponse",
    command: (program, args) => [program, args],
  };
}
