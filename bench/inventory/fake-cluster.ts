import { writeFile } from "node:fs/promises";
import path from "node:path";
import { type Program, startProgram, stop } from "../programs.ts";
import { certificates } from "../servers.ts";
import type { Stage } from "../stage.ts";

export interface ClusterSize {
  readonly selectors: number;
  readonly namespaces: number;
  /** The number of kinds of ACK resources. Default: 0. */
  readonly kinds?: number;
  /** The number of resources of all kinds. Default: 0. */
  readonly resources?: number;
  /** The folder of the certificate. Default: without TLS. */
  readonly tlsDir?: string;
}

interface FakeCluster {
  readonly kubeconfig: string;
  readonly close: () => Promise<void>;
}

const API_SERVER = path.join(import.meta.dirname, "api-server.ts");

/** Starts a fake API server, whose objects never change. */
export async function startFakeAPIServer(stage: Stage, size: ClusterSize): Promise<Program> {
  return await startProgram(stage, [API_SERVER, JSON.stringify(size)]);
}

/** Starts a fake API server over TLS, and writes a kubeconfig. */
export async function startFakeCluster(stage: Stage, size: ClusterSize): Promise<FakeCluster> {
  const { dir, ca } = await certificates(stage);
  const program = await startFakeAPIServer(stage, { ...size, tlsDir: dir });
  const kubeconfig = stage.file(`kubeconfig-${program.port}`);
  const cluster = {
    "server": `https://127.0.0.1:${program.port}`, "certificate-authority-data": Buffer.from(ca).toString("base64"),
  };
  await writeFile(kubeconfig, JSON.stringify({
    "apiVersion": "v1", "kind": "Config", "current-context": "c",
    "contexts": [{ name: "c", context: { cluster: "c", user: "u" } }],
    "clusters": [{ name: "c", cluster }], "users": [{ name: "u", user: { token: "t" } }],
  }));
  return { kubeconfig, close: () => stop(program) };
}
