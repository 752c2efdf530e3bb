import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Sha256 } from "@smithy/core/checksum";
import { SignatureV4 } from "@smithy/signature-v4";
import { startSTSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { stringAt } from "../../shared/formats/json.ts";
import { atLeast, atMost, type Figure, quantile, single } from "../figure.ts";
import { startFakeCluster } from "../inventory/fake-cluster.ts";
import { httpRequest, load, loadFigures, type LoadOptions, loadServer } from "../load.ts";
import { builtCommand, type Program, residentMB, runTimeMs, SOURCE_COMMAND, startServer, stop } from "../programs.ts";
import { inPairs, inRounds, type Row } from "../row.ts";
import { isRoundOver, loadPair, outputOf, profile, startFloor, startHTTPFloor } from "../servers.ts";
import { type Stage, shared } from "../stage.ts";

const KEYS = 1_000;
const FEW_KEYS = 10;
const CONNECTIONS = 32;
export const TOKEN = "bench-token-0123456789";
/** Below the 200 calls per second that the sidecar sends to STS. */
const WARM_UP_PER_SECOND = 100;
/**
 * The wait between the start of the sidecar and the memory measurement, in ms. During this wait, the sidecar frees
 * memory that only the start needs.
 */
export const SETTLE_MS = 7_000;
export const BASE = {
  accessKeyID: "ASIABASE", secretAccessKey: "base-secret", sessionToken: "base-session",
  arn: "arn:aws:sts::999988887777:assumed-role/ack/base",
};
/** The environment of the sidecar, with the options of the image (Containerfile). */
export const ENVIRONMENT = {
  NODE_OPTIONS: "--max-semi-space-size=4", MALLOC_ARENA_MAX: "2",
  AWS_ACCESS_KEY_ID: BASE.accessKeyID, AWS_SECRET_ACCESS_KEY: BASE.secretAccessKey,
  AWS_SESSION_TOKEN: BASE.sessionToken,
};

export function roleOf(i: number): string {
  return `arn:aws:iam::111122223333:role/team-${i}`;
}

const stsURL = shared(async (stage) => {
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  stage.teardown(() => sts.close());
  return sts.url;
});

/** Starts a sidecar with `source` as its inventory. */
export async function startSidecar(
  stage: Stage, source: readonly string[], command?: readonly string[],
): Promise<Program> {
  await writeFile(stage.file("token"), TOKEN);
  const endpoint = ["--token-file", stage.file("token"), "--sts-endpoint", await stsURL(stage)];
  const flags = ["--group", "s3.services.k8s.aws", ...endpoint];
  return await startServer(stage, "sidecar", {
    command: command ?? [await builtCommand(stage)], flags: [...flags, ...source], environment: ENVIRONMENT,
  });
}

/** Starts a sidecar with `count` selectors from a file. */
async function fromFile(stage: Stage, count: number, command?: readonly string[]): Promise<Program> {
  const items = Array.from({ length: count }, (_, i) => ({
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: `s-${i}` },
    spec: { arn: roleOf(i), namespaceSelector: { names: [`team-${i}`] } },
  }));
  const file = stage.file(`sidecar-${count}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  return await startSidecar(stage, ["--from", file], command);
}

function headersOf({ port }: Program): Readonly<Record<string, string>> {
  return { host: `127.0.0.1:${port}`, authorization: TOKEN, accept: "application/json" };
}

function credentialRequests(program: Program, count: number): readonly Buffer[] {
  const headers = headersOf(program);
  return Array.from({ length: count }, (_, i) => httpRequest("GET", `/v1/credentials/selectors/s-${i}`, headers));
}

/** Sends each request once, at the rate at which the sidecar can fill its cache. */
async function fillCache(program: Program, requests: readonly Buffer[]): Promise<void> {
  const options = { port: program.port, requests, isDone: (sent: number) => sent === requests.length };
  await load({ ...options, connections: 4, ratePerSecond: WARM_UP_PER_SECOND });
  await loadServer(program, { ...options, connections: 1 });
}

function keys(stage: Stage): number {
  return stage.size(KEYS, FEW_KEYS);
}

/** Resolves to a sidecar that has cached the credentials of all roles. */
const cachedSidecar = shared(async (stage) => {
  const sidecar = await fromFile(stage, keys(stage));
  await fillCache(sidecar, credentialRequests(sidecar, keys(stage)));
  return sidecar;
});

/** Requests to the floor have the same bytes, but another port. */
const CREDENTIALS: Row = {
  name: "credentials", title: "credentials from the cache, 1,000 roles, 32 connections",
  measure: async (stage) => {
    const sidecar = await cachedSidecar(stage);
    const options = { requests: credentialRequests(sidecar, keys(stage)), connections: CONNECTIONS };
    const output = await outputOf(sidecar, options, "SecretAccessKey");
    const floor = await startFloor(stage, { ...output, token: TOKEN });
    const figures = loadFigures(await loadPair(stage, [sidecar, floor], options), {
      perSecond: atLeast(0.6, "ratio"),
    });
    const bare = await startHTTPFloor(stage);
    const [, http = []] = await loadPair(stage, [floor, bare], options);
    return [
      ...figures,
      { name: "requests of bare node:http", unit: "/s", ours: http.map((one) => one.perSecond) },
      { name: "processor time of bare node:http", unit: "us", ours: http.map((one) => one.userUs + one.systemUs) },
    ];
  },
  profile: (stage) => profile(
    stage, (flags) => fromFile(stage, FEW_KEYS, [...flags, SOURCE_COMMAND]),
    async (program) => {
      const requests = credentialRequests(program, FEW_KEYS);
      await fillCache(program, requests);
      await loadServer(program, { port: program.port, requests, connections: CONNECTIONS, isDone: isRoundOver(stage) });
    },
  ),
};

interface Key {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** Returns the credentials with which a controller signs its requests to /sts. */
async function controllerKey(sidecar: Program): Promise<Key> {
  const request = httpRequest("GET", "/v1/credentials", headersOf(sidecar));
  const once = { requests: [request], connections: 1, isDone: (sent: number): boolean => sent === 1 };
  const credentials: unknown = JSON.parse((await load({ ...once, port: sidecar.port })).body);
  const text = (name: string): string => stringAt(credentials, name) ?? "";
  return { accessKeyID: text("AccessKeyId"), secretAccessKey: text("SecretAccessKey"), sessionToken: text("Token") };
}

/** The requests are valid for 5 minutes. */
async function assumeRoleRequests({ port }: Program, key: Key, count: number): Promise<readonly Buffer[]> {
  const { accessKeyID, ...secrets } = key;
  const credentials = { accessKeyId: accessKeyID, ...secrets };
  const signer = new SignatureV4({ service: "sts", region: "eu-west-1", credentials, sha256: Sha256 });
  return await Promise.all(Array.from({ length: count }, async (_, i) => {
    const body = new URLSearchParams({
      Action: "AssumeRole", Version: "2011-06-15", RoleArn: roleOf(i), RoleSessionName: "ack-role-resolver",
    }).toString();
    const headers = { "host": `127.0.0.1:${port}`, "content-type": "application/x-www-form-urlencoded" };
    const request = { method: "POST", protocol: "http:", hostname: "127.0.0.1", path: "/sts", headers, body };
    const signed = await signer.sign(request);
    return httpRequest("POST", "/sts", signed.headers, body);
  }));
}

const ASSUME_ROLE: Row = {
  name: "assume-role", title: "AssumeRole on /sts from the cache, 1,000 roles, 32 connections",
  measure: async (stage) => {
    const sidecar = await cachedSidecar(stage);
    const signer = await controllerKey(sidecar);
    await fillCache(sidecar, await assumeRoleRequests(sidecar, signer, keys(stage)));
    const options = { requests: await assumeRoleRequests(sidecar, signer, keys(stage)), connections: CONNECTIONS };
    const output = await outputOf(sidecar, options, "<SessionToken>");
    const floor = await startFloor(stage, { ...output, signer });
    return loadFigures(await loadPair(stage, [sidecar, floor], options), { perSecond: atLeast(0.35, "ratio") });
  },
  profile: (stage) => profile(
    stage, (flags) => fromFile(stage, FEW_KEYS, [...flags, SOURCE_COMMAND]),
    async (program) => {
      const requests = await assumeRoleRequests(program, await controllerKey(program), FEW_KEYS);
      await fillCache(program, requests);
      await loadServer(program, { port: program.port, requests, connections: CONNECTIONS, isDone: isRoundOver(stage) });
    },
  ),
};

const AT_A_RATE: Row = {
  name: "credentials-at-900", title: "credentials from the cache at 900 requests per second, and a burst",
  measure: async (stage) => {
    const [sidecar, bare] = [await cachedSidecar(stage), await startHTTPFloor(stage)];
    const common = { requests: credentialRequests(sidecar, keys(stage)), connections: CONNECTIONS, ratePerSecond: 900 };
    const isDone = (sent: number): boolean => sent === stage.size(4_500, 100);
    const side = ({ port }: Program) => () => load({ ...common, port, isDone });
    const [ours = [], floor = []] = await inRounds(stage.size(2, 1), [side(sidecar), side(bare)]);
    const at = (share: number): Pick<Figure, "unit" | "ours" | "floor"> => ({
      unit: "ms", ours: ours.map((one) => quantile(one.latenciesMs, share)),
      floor: floor.map((one) => quantile(one.latenciesMs, share)),
    });
    // Almost as many connections as the sidecar serves. The requests of each connection run in sequence.
    const { statuses } = await load({
      requests: common.requests, port: sidecar.port, connections: 250, isDone: (sent) => sent >= 2_000,
    });
    const failed = [...statuses].reduce((sum, [status, count]) => sum + (status === 200 ? 0 : count), 0);
    return [
      { name: "p99", ...at(0.99), goal: atMost(3, "value") },
      { name: "p99.9", ...at(0.999), goal: atMost(6, "value") },
      single("failed, of 2,000 requests on 250 connections", failed, "requests", atMost(0, "value")),
    ];
  },
};

const MEMORY: Row = {
  name: "sidecar-memory", title: "memory of the sidecar beside bare node:http",
  measure: async (stage) => {
    const [idle, cluster, bare] = [
      await fromFile(stage, FEW_KEYS),
      await startSidecar(stage, await clusterFlags(stage)), await startHTTPFloor(stage),
    ];
    await sleep(stage.size(SETTLE_MS, 0));
    const [bareMB, idleMB, clusterMB] = [await residentMB(bare), await residentMB(idle), await residentMB(cluster)];
    await Promise.all([stop(idle), stop(cluster)]);
    const loaded = await cachedSidecar(stage);
    const options: Omit<LoadOptions, "port"> = {
      requests: credentialRequests(loaded, keys(stage)), connections: CONNECTIONS,
      isDone: (sent) => sent >= stage.size(1_000_000, 1_000),
    };
    await loadServer(loaded, { ...options, port: loaded.port });
    await loadServer(bare, { ...options, port: bare.port });
    const memory = { unit: "MB", floor: [bareMB] } as const;
    return [
      { name: "idle, few selectors from a file", ...memory, ours: [idleMB], goal: atMost(1.1, "ratio") },
      { name: "idle, few selectors from a cluster", ...memory, ours: [clusterMB], goal: atMost(1.4, "ratio") },
      {
        name: "after 1,000,000 requests for 1,000 roles", unit: "MB", ours: [await residentMB(loaded)],
        floor: [await residentMB(bare)], goal: atMost(1.2, "ratio"),
      },
    ];
  },
};

async function clusterFlags(stage: Stage): Promise<readonly string[]> {
  const { kubeconfig } = await startFakeCluster(stage, { selectors: FEW_KEYS, namespaces: FEW_KEYS });
  return ["--cluster", "--kubeconfig", kubeconfig];
}

async function readyMs(started: Promise<Program>): Promise<number> {
  const program = await started;
  await stop(program);
  return program.readyMs;
}

const START: Row = {
  name: "sidecar-start", title: "start of the sidecar until it is ready, beside the start of bare node:http",
  measure: async (stage) => {
    const figure = { name: "start until ready", unit: "ms", goal: atMost(250, "value") } as const;
    return [await inPairs(
      stage.size(15, 1), figure, () => readyMs(fromFile(stage, FEW_KEYS)), () => readyMs(startHTTPFloor(stage)),
    )];
  },
};

const CREDENTIAL_PROCESS: Row = {
  name: "credential-process", title: "a run of credential-process, beside node -e 0",
  measure: async (stage) => {
    const { port } = await cachedSidecar(stage);
    const endpoint = ["--endpoint", `http://127.0.0.1:${port}`, "--token-file", stage.file("token")];
    const argv = [await builtCommand(stage), "credential-process", ...endpoint, "--selector", "s-1"];
    const figure = { name: "run", unit: "ms", goal: atMost(200, "value") } as const;
    return [await inPairs(stage.size(20, 1), figure, () => runTimeMs(argv), () => runTimeMs(["-e", "0"]))];
  },
};

export const SIDECAR_ROWS: readonly Row[] = [
  START, CREDENTIALS, ASSUME_ROLE, AT_A_RATE, CREDENTIAL_PROCESS, MEMORY,
];
