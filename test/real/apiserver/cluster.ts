import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { apiRequest, type ApiResponse } from "./api-request.ts";
import type { Assets } from "./assets.ts";
import {
  apiserverArguments, controlPlaneFiles, type ControlPlaneFiles, etcdArguments, type Ports, writeServerFiles,
} from "./control-plane.ts";
import { type Identity, kubeconfig, randomTokens, type Tokens } from "./identities.ts";
import { type ManagedProcess, startProcess } from "./managed-process.ts";
import { type ProgramResult, runProgram } from "./run-program.ts";
import { until } from "./until.ts";

const READY_LIMIT_MS = 60_000;
const TOO_EARLY_LIMIT_MS = 10_000;
const CRD_LIMIT_MS = 15_000;
const KUBECTL_LIMIT_MS = 20_000;

export interface ClusterOptions {
  /** More flags for kube-apiserver; of one given twice the last counts. */
  readonly apiserverFlags?: readonly string[];
}

export interface KubectlOptions {
  /** What kubectl reads on stdin, as with `-f -`. */
  readonly input?: string;
  /** Default: admin. */
  readonly user?: Identity;
}

export interface RequestOptions {
  /** Default: admin. */
  readonly user?: Identity;
  /** A patch needs its `content-type` here; otherwise a body is sent as application/json. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** As much of a CustomResourceDefinition as installing it reads; the whole is applied. */
export interface InstalledCRD {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string }[];
  };
}

/** Starts etcd and kube-apiserver on free loopback ports in a temporary folder, and waits until `/readyz` says so. */
export async function startCluster(assets: Assets, options: ClusterOptions = {}): Promise<Cluster> {
  const files = controlPlaneFiles(await mkdtemp(path.join(tmpdir(), "ack-role-resolver-cluster-")));
  const [api = 0, etcd = 0, etcdPeer = 0] = await freePorts(3);
  const cluster = new Cluster(assets, files, { api, etcd, etcdPeer }, options.apiserverFlags ?? []);
  try {
    await cluster.start();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** A Kubernetes API server with its etcd, and no controllers, scheduler or kubelet. Made by `startCluster`. */
export class Cluster {
  readonly url: string;
  readonly tokens: Tokens = randomTokens();
  /** Paths: the kubeconfig has a context for each identity, `caFile` is PEM, `auditLog` a JSON event a line. */
  readonly kubeconfig: string;
  readonly caFile: string;
  readonly auditLog: string;
  readonly #assets: Assets;
  readonly #folder: string;
  readonly #ports: Ports;
  readonly #apiserverFlags: readonly string[];
  #etcd: ManagedProcess | undefined;
  #apiserver: ManagedProcess | undefined;

  constructor(assets: Assets, files: ControlPlaneFiles, ports: Ports, apiserverFlags: readonly string[]) {
    this.url = `https://127.0.0.1:${ports.api}`;
    this.kubeconfig = files.kubeconfig;
    this.caFile = files.caFile;
    this.auditLog = files.auditLog;
    this.#assets = assets;
    this.#folder = files.folder;
    this.#ports = ports;
    this.#apiserverFlags = apiserverFlags;
  }

  /** The ids of the processes that run now. */
  get pids(): readonly number[] {
    return [this.#etcd, this.#apiserver].flatMap((running) => (running === undefined || running.hasEnded() ? [] : [running.pid]));
  }

  async start(): Promise<void> {
    await writeServerFiles(this.#folder, this.tokens);
    await writeFile(this.kubeconfig, kubeconfig(this.url, this.caFile, this.tokens), { mode: 0o600 });
    this.#etcd = await this.#run("etcd", etcdArguments(this.#ports));
    await this.startApiserver();
  }

  /** Starts kube-apiserver on the same port, certificate and etcd, and waits until it is ready. */
  async startApiserver(): Promise<void> {
    const apiserver = await this.#run("kube-apiserver", [...apiserverArguments(this.#ports), ...this.#apiserverFlags]);
    this.#apiserver = apiserver;
    await this.#untilReady(apiserver);
  }

  /** Stops kube-apiserver and keeps etcd: SIGTERM ends watches in good order, SIGKILL breaks their connections. */
  async stopApiserver(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.#apiserver?.stop(signal);
  }

  async restartApiserver(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.stopApiserver(signal);
    await this.startApiserver();
  }

  /** Ends the processes that `start` started, waits until they are gone, and removes the folder. */
  async stop(): Promise<void> {
    await this.#apiserver?.stop("SIGKILL");
    await this.#etcd?.stop("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Runs kubectl to its end; a code other than 0 is a result. Rejects when it takes over 20 s. */
  async kubectl(args: readonly string[], { input = "", user = "admin" }: KubectlOptions = {}): Promise<ProgramResult> {
    const context = [`--kubeconfig=${this.kubeconfig}`, `--context=${user}`, `--cache-dir=${path.join(this.#folder, "kubectl-cache")}`];
    return runProgram(this.#assets.kubectl, [...context, ...args], {
      cwd: this.#folder,
      env: { HOME: this.#folder },
      input,
      signal: AbortSignal.timeout(KUBECTL_LIMIT_MS),
    });
  }

  /**
   * One request to the API server; a status over 399 is a result. `requestPath` as `/api/v1/namespaces`.
   * A 429 is sent again, as client-go does it: a resource answers so while its storage is made, after a start or a new CRD.
   */
  async request(method: string, requestPath: string, body?: unknown, options: RequestOptions = {}): Promise<ApiResponse> {
    const headers = { authorization: `Bearer ${this.tokens[options.user ?? "admin"]}`, ...options.headers };
    const sent = { url: new URL(requestPath, this.url), method, headers, body, ca: await readFile(this.caFile, "utf8") };
    let response = await apiRequest(sent);
    await until(async () => {
      response = response.status === 429 ? await apiRequest(sent) : response;
      return response.status !== 429;
    }, TOO_EARLY_LIMIT_MS);
    return response;
  }

  /**
   * Applies CRDs as admin, and waits until kubectl lists every version of each. Their condition Established comes too early: the
   * first requests after it may be answered 429 while the storage is made, and discovery follows later still.
   */
  async installCRDs(crds: readonly InstalledCRD[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: crds });
    const applied = await this.kubectl(["apply", "--server-side", "-f", "-"], { input });
    if (applied.code !== 0) {
      throw new Error(`the CRDs were not accepted: ${applied.stderr}`);
    }
    const resources = crds.flatMap(({ spec }) => spec.versions.map(({ name }) => `${spec.names.plural}.${name}.${spec.group}`));
    const list = ["get", "--all-namespaces", resources.join(",")];
    if (!(await until(async () => (await this.kubectl(list)).code === 0, CRD_LIMIT_MS))) {
      throw new Error(`the CRDs were not served in ${CRD_LIMIT_MS} ms: ${(await this.kubectl(list)).stderr}`);
    }
  }

  async #run(name: "etcd" | "kube-apiserver", args: readonly string[]): Promise<ManagedProcess> {
    return startProcess(this.#assets[name], args, this.#folder, path.join(this.#folder, `${name}.log`));
  }

  async #untilReady(apiserver: ManagedProcess): Promise<void> {
    const over = async (): Promise<boolean> => (await this.#isReady()) || apiserver.hasEnded() || this.#etcd?.hasEnded() === true;
    if (!(await until(over, READY_LIMIT_MS)) || !(await this.#isReady())) {
      const logs = await Promise.all([this.#etcd?.logTail(), apiserver.logTail()]);
      throw new Error(`the API server did not get ready; the end of the logs of etcd and kube-apiserver:\n${logs.join("\n\n")}`);
    }
  }

  /** False too while nothing listens or the certificate is not made yet. */
  async #isReady(): Promise<boolean> {
    try {
      return (await this.request("GET", "/readyz")).status === 200;
    } catch {
      return false;
    }
  }
}

/** Ports that nobody listened on a moment ago, all different: held open together, then let go. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const addresses = servers.map((server) => server.address());
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return addresses.flatMap((address) => (address === null || typeof address === "string" ? [] : [address.port]));
}
