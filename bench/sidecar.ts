import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { startSTSEmulator } from "../cli/local/sts-emulator/emulator.ts";
import type { Result } from "./result.ts";
import { startFakeCluster } from "./sidecar/fake-cluster.ts";
import { load, type LoadOptions, type LoadResult, quantile } from "./sidecar/load.ts";
import {
  processorMs, type Program, residentMB, runTimeMs, startBareServer, startSidecar, stop,
} from "./sidecar/programs.ts";

const ROOT = path.join(import.meta.dirname, "..");
const KEYS = 1_000;
const REQUESTS = 100_000;
const CONNECTIONS = 32;
const STARTS = 9;
const RUNS = 40;
/**
 * The wait between the start of the sidecar and the memory measurement, in ms. During this wait, the sidecar frees
 * memory that only the start needs.
 */
const SETTLE_MS = 7_000;
const TOKEN = "bench-token-0123456789";
const BASE = {
  accessKeyID: "ASIABASE", secretAccessKey: "base-secret", sessionToken: "base-session",
  arn: "arn:aws:sts::999988887777:assumed-role/ack/base",
};
const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: BASE.accessKeyID, AWS_SECRET_ACCESS_KEY: BASE.secretAccessKey,
  AWS_SESSION_TOKEN: BASE.sessionToken,
};

interface FullLoadResult extends LoadResult {
  readonly processorUs: number;
}

/** The programs and files that are created before the measurements. */
interface Stage {
  readonly folder: string;
  readonly command: string;
  readonly stsURL: string;
  readonly bare: Program;
}

/** Measures the sidecar as a release ships it, in a separate process. For comparison, measures a minimal server too. */
export async function run(): Promise<readonly Result[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-bench-"));
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  try {
    const command = await buildCommand(folder);
    const bare = await startBareServer(path.join(folder, "bare-server.mjs"));
    const stage = { folder, command, stsURL: sts.url, bare };
    try {
      return [...(await measureStarts(stage)), ...(await measureCluster(stage)), ...(await measureServing(stage))];
    } finally {
      await stop(bare);
    }
  } finally {
    await sts.close();
    await rm(folder, { recursive: true });
  }
}

async function buildCommand(folder: string): Promise<string> {
  const dist = path.join(folder, "dist");
  await runTimeMs([path.join(ROOT, "build.ts"), dist]);
  await build({
    entryPoints: [path.join(ROOT, "bench/sidecar/bare-server.ts")], outfile: path.join(folder, "bare-server.mjs"),
    platform: "node", format: "esm",
  });
  const selectors = Array.from({ length: KEYS }, (_, i) => ({
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: `s-${i}` },
    spec: { arn: `arn:aws:iam::111122223333:role/team-${i}`, namespaceSelector: { names: [`team-${i}`] } },
  }));

  await writeFile(path.join(folder, "many.json"), listOf(selectors));
  await writeFile(path.join(folder, "few.json"), listOf(selectors.slice(0, 10)));
  await writeFile(path.join(folder, "token"), TOKEN);
  return path.join(dist, "ack-role-resolver.js");
}

function listOf(items: readonly object[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

function sidecar({ folder, command, stsURL }: Stage, source: readonly string[]): Promise<Program> {
  const flags = [...source, "--token-file", path.join(folder, "token"), "--sts-endpoint", stsURL];
  return startSidecar(command, flags, ENVIRONMENT);
}

async function measureStarts(stage: Stage): Promise<Result[]> {
  const few = ["--from", path.join(stage.folder, "few.json")];
  const empty = await inSequence(STARTS, () => runTimeMs(["-e", "0"]));
  const starts = await inSequence(STARTS, async () => {
    const started = await sidecar(stage, few);
    await stop(started);
    return started.readyMs;
  });
  const idle = await sidecar(stage, few);
  await sleep(SETTLE_MS);
  const [bareMB, idleMB] = [await residentMB(stage.bare), await residentMB(idle)];
  const process = await measureCredentialProcess(stage, idle);
  await stop(idle);
  const [readyMs, nodeMs] = [quantile(starts, 0.5), quantile(empty, 0.5)];
  return [
    { name: "start of node -e 0, median", value: nodeMs, unit: "ms", target: null },
    { name: "start of the sidecar until it is ready, median", value: readyMs, unit: "ms", target: 350 },
    { name: "sidecar ready / node -e 0", value: readyMs / nodeMs, unit: "x", target: 10, bound: "at most" },
    { name: "bare node:http server, idle", value: bareMB, unit: "MB", target: null },
    { name: "sidecar with --from, idle", value: idleMB, unit: "MB", target: null },
    { name: "sidecar --from / bare server", value: idleMB / bareMB, unit: "x", target: 1.25, bound: "at most" },
    ...process,
  ];
}

async function measureCredentialProcess({ folder, command }: Stage, { port }: Program): Promise<Result[]> {
  const endpoint = ["--endpoint", `http://127.0.0.1:${port}`, "--token-file", path.join(folder, "token")];
  const argv = [command, "credential-process", ...endpoint, "--selector", "s-1"];
  const sorted = await inSequence(RUNS, () => runTimeMs(argv));
  return [
    { name: `credential-process, median of ${RUNS}`, value: quantile(sorted, 0.5), unit: "ms", target: null },
    { name: "credential-process, p95", value: quantile(sorted, 0.95), unit: "ms", target: 200 },
  ];
}

async function measureCluster(stage: Stage): Promise<Result[]> {
  const cluster = await startFakeCluster(stage.folder);
  const idle = await sidecar(stage, ["--cluster", "--kubeconfig", cluster.kubeconfig]);
  await sleep(SETTLE_MS);
  const [bareMB, idleMB] = [await residentMB(stage.bare), await residentMB(idle)];
  await stop(idle);
  cluster.close();
  return [
    { name: "start of the sidecar with --cluster until it is ready", value: idle.readyMs, unit: "ms", target: null },
    { name: "sidecar with --cluster, idle", value: idleMB, unit: "MB", target: null },
    { name: "sidecar --cluster / bare server", value: idleMB / bareMB, unit: "x", target: 1.4, bound: "at most" },
  ];
}

async function measureServing(stage: Stage): Promise<Result[]> {
  const loaded = await sidecar(stage, ["--from", path.join(stage.folder, "many.json")]);
  const paths = Array.from({ length: KEYS }, (_, i) => `/v1/credentials/selectors/s-${i}`);
  await warmUp(loaded, paths);
  const common = { token: TOKEN, paths, connections: CONNECTIONS, ratePerSecond: null };
  const [bareLoad, ownLoad] = [await fullLoad(stage.bare, common), await fullLoad(loaded, common)];
  const [bareMB, ownMB] = [await residentMB(stage.bare), await residentMB(loaded)];
  const paced = { ...common, requests: 9_000, ratePerSecond: 900 };
  const barePaced = await load({ ...paced, port: stage.bare.port });
  const ownPaced = await load({ ...paced, port: loaded.port });
  // Uses 250 connections, almost as many as the sidecar serves. The requests of each connection run in sequence.
  const burst = await load({ ...common, port: loaded.port, connections: 250, requests: 2_000 });
  await stop(loaded);
  const burstFailures = 2_000 - (burst.statuses.get(200) ?? 0);
  const failures = notOK(ownLoad) + notOK(ownPaced);
  const cached = `sidecar on ${CONNECTIONS} connections, cached roles`;
  const ratio = ownLoad.perSecond / bareLoad.perSecond;
  return [
    { name: `bare server after ${REQUESTS} requests`, value: bareMB, unit: "MB", target: null },
    { name: `sidecar after ${REQUESTS} requests for ${KEYS} cached roles`, value: ownMB, unit: "MB", target: null },
    { name: "loaded sidecar / loaded bare server", value: ownMB / bareMB, unit: "x", target: 1.2, bound: "at most" },
    { name: `bare server on ${CONNECTIONS} connections`, value: bareLoad.perSecond, unit: "/s", target: null },
    { name: cached, value: ownLoad.perSecond, unit: "/s", target: 10_000 },
    { name: "bare server, processor time per request", value: bareLoad.processorUs, unit: "us", target: null },
    { name: "sidecar, processor time per request", value: ownLoad.processorUs, unit: "us", target: 100 },
    { name: "sidecar / bare server, requests per second", value: ratio, unit: "x", target: null },
    { name: "bare server at 900/s, p99", value: quantile(barePaced.latenciesMs, 0.99), unit: "ms", target: null },
    { name: "bare server at 900/s, p99.9", value: quantile(barePaced.latenciesMs, 0.999), unit: "ms", target: null },
    { name: "sidecar at 900/s, p99", value: quantile(ownPaced.latenciesMs, 0.99), unit: "ms", target: 3 },
    { name: "sidecar at 900/s, p99.9", value: quantile(ownPaced.latenciesMs, 0.999), unit: "ms", target: 6 },
    { name: "failed, of 2,000 concurrent requests", value: burstFailures, unit: "requests", target: 0 },
    { name: "failed, of all other requests", value: failures, unit: "requests", target: 0 },
  ];
}

/**
 * Returns the load result and the processor time per request. Other processes have little effect on the processor time.
 */
async function fullLoad(program: Program, options: Omit<LoadOptions, "port" | "requests">): Promise<FullLoadResult> {
  const beforeMs = await processorMs(program.process.pid);
  const result = await load({ ...options, port: program.port, requests: REQUESTS });
  return { ...result, processorUs: (((await processorMs(program.process.pid)) - beforeMs) * 1000) / REQUESTS };
}

/**
 * Requests the credentials of each role until they are cached. Retries failed requests, because the sidecar calls STS
 * at most 10 times a second.
 */
async function warmUp({ port }: Pick<Program, "port">, cold: readonly string[]): Promise<void> {
  if (cold.length === 0) return;
  const one = { paths: cold.slice(0, 1), connections: 1, requests: 1, ratePerSecond: null };
  const { statuses } = await load({ port, token: TOKEN, ...one });
  if (!statuses.has(200)) await sleep(100);
  await warmUp({ port }, statuses.has(200) ? cold.slice(1) : cold);
}

function notOK({ statuses }: LoadResult): number {
  return [...statuses].reduce((sum, [status, count]) => sum + (status === 200 ? 0 : count), 0);
}

/** Calls `measure` `count` times in sequence. Returns the measurements in ascending order. */
async function inSequence(count: number, measure: () => Promise<number>): Promise<Float64Array> {
  const measured = new Float64Array(count);
  // oxlint-disable-next-line no-await-in-loop -- one at a time
  for (let i = 0; i < count; i++) measured[i] = await measure();
  return measured.toSorted();
}
