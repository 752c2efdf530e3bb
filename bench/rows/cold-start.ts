import { Agent, request } from "node:http";
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { AssumeRoleCommand, STSClient } from "@aws-sdk/client-sts";
import { startSTSEmulator, type STSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { stringAt } from "../../shared/formats/json.ts";
import { STSErrorResponse } from "../../sidecar/sts/query-protocol.ts";
import { atMost, type Figure, single } from "../figure.ts";
import { builtCommand, type Program, startServer, stop } from "../programs.ts";
import type { Row } from "../row.ts";
import type { Stage } from "../stage.ts";
import { BASE, ENVIRONMENT, roleOf, TOKEN } from "./sidecar.ts";

/** How long STS takes for each call, in ms. */
const LATENCY_MS = 100;
/** The quota of STS for an account and Region, and a sixth of it, as if other programs used the rest. */
const LIMITS = { quota: 600, scarce: 100 } as const;

/** How the container credentials provider of an SDK waits and retries, by default. Measured with the real SDKs. */
interface Retries {
  readonly attempts: number;
  /** The time limit of one attempt, in ms. */
  readonly timeoutMs: number;
  readonly pauseMs: (retry: number) => number;
}

const SDKS: Readonly<Record<string, Retries>> = {
  "Go": { attempts: 3, timeoutMs: Infinity, pauseMs: (retry) => Math.random() * 1_000 * 2 ** retry },
  "botocore": { attempts: 3, timeoutMs: 2_000, pauseMs: () => 1_000 },
  "JavaScript": { attempts: 4, timeoutMs: Infinity, pauseMs: () => 1_000 },
  "Java": { attempts: 6, timeoutMs: 1_000, pauseMs: () => 0 },
  "Rust": { attempts: 3, timeoutMs: 5_000, pauseMs: () => Math.random() * 1_000 },
};

interface Outcome {
  readonly errors: number;
  readonly rejections: number;
  readonly calls: number;
  readonly durationMs: number;
  readonly slowestMs: number;
}

interface Scenario {
  readonly roles: number;
  readonly clients: number;
  readonly limit: keyof typeof LIMITS;
  readonly isIdentities?: boolean;
}

/** STS with a latency and a limit of its own, which it enforces like AWS: a bucket that holds the calls of a second. */
async function startLimitedSTS(perSecond: number): Promise<STSEmulator & { readonly throttled: () => number }> {
  const bucket = { tokens: perSecond, atMs: performance.now(), throttled: 0 };
  const sts = await startSTSEmulator({
    baseCredentials: [BASE],
    async intercept() {
      const nowMs = performance.now();
      bucket.tokens = Math.min(perSecond, bucket.tokens + ((nowMs - bucket.atMs) * perSecond) / 1000);
      bucket.atMs = nowMs;
      const isThrottled = bucket.tokens < 1;
      if (isThrottled) bucket.throttled += 1;
      else bucket.tokens -= 1;
      await sleep(LATENCY_MS);
      if (isThrottled) throw new STSErrorResponse("Throttling", 400, "Rate exceeded");
      return null;
    },
  });
  return { ...sts, throttled: () => bucket.throttled };
}

function manifests({ roles, isIdentities = false }: Scenario): readonly object[] {
  const numbers = Array.from({ length: roles }, (_, i) => i);
  if (!isIdentities) {
    return numbers.map((i) => ({
      apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: `s-${i}` },
      spec: { arn: roleOf(i), namespaceSelector: { names: [`team-${i}`] } },
    }));
  }
  const apiVersion = "infrastructure.cluster.x-k8s.io/v1beta2";
  const source = { kind: "AWSClusterControllerIdentity", name: "default" };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "clusters" } },
    { apiVersion, kind: source.kind, metadata: { name: source.name }, spec: { allowedNamespaces: {} } },
    ...numbers.map((i) => ({
      apiVersion, kind: "AWSClusterRoleIdentity", metadata: { name: `s-${i}` },
      spec: { roleARN: roleOf(i), allowedNamespaces: {}, sourceIdentityRef: source },
    })),
  ];
}

async function startColdSidecar(stage: Stage, scenario: Scenario, stsEndpoint: string): Promise<Program> {
  const file = stage.file(`cold-${scenario.roles}-${scenario.isIdentities === true}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests(scenario) }));
  await writeFile(stage.file("token"), TOKEN);
  const group = scenario.isIdentities === true ? "infrastructure.cluster.x-k8s.io" : "s3.services.k8s.aws";
  return await startServer(stage, "sidecar", {
    command: [await builtCommand(stage)], environment: ENVIRONMENT,
    flags: ["--group", group, "--token-file", stage.file("token"), "--sts-endpoint", stsEndpoint, "--from", file],
  });
}

/** Gets the sessions of all roles: each client gets one after another. `get` rejects with an error that a user sees. */
async function run(
  { roles, clients }: Scenario, get: (role: number, client: number) => Promise<void>,
): Promise<Pick<Outcome, "errors" | "durationMs" | "slowestMs">> {
  const startMs = performance.now();
  let [next, errors, slowestMs] = [0, 0, 0];
  const client = async (_: unknown, index: number): Promise<void> => {
    while (next < roles) {
      const role = next++;
      const fromMs = performance.now();
      // oxlint-disable-next-line no-await-in-loop -- one request after another
      await get(role, index).catch(() => (errors += 1));
      slowestMs = Math.max(slowestMs, performance.now() - fromMs);
    }
  };
  await Promise.all(Array.from({ length: clients }).map(client));
  return { errors, durationMs: performance.now() - startMs, slowestMs };
}

async function measureContainer(stage: Stage, scenario: Scenario, retries: Retries): Promise<Outcome> {
  const sts = await startLimitedSTS(LIMITS[scenario.limit]);
  const sidecar = await startColdSidecar(stage, scenario, sts.url);
  const agent = new Agent({ keepAlive: true, maxSockets: scenario.clients });
  const folder = scenario.isIdentities === true ? "identities/AWSClusterRoleIdentity" : "selectors";
  const query = scenario.isIdentities === true ? "?namespace=clusters" : "";
  let rejections = 0;
  const before = sts.calls.length;
  const outcome = await run(scenario, async (role) => {
    const path = `/v1/credentials/${folder}/s-${role}${query}`;
    for (let retry = 0; retry < retries.attempts; retry++) {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after another
      if (retry > 0) await sleep(retries.pauseMs(retry - 1));
      // oxlint-disable-next-line no-await-in-loop -- one attempt after another
      if ((await statusOf(sidecar.port, path, { agent, timeoutMs: retries.timeoutMs })) === 200) return;
      rejections += 1;
    }
    throw new Error("every attempt failed");
  });
  agent.destroy();
  await Promise.all([stop(sidecar), sts.close()]);
  return { ...outcome, rejections, calls: sts.calls.length - before };
}

/** Resolves to 0 if there is no response in time. */
function statusOf(
  port: number, path: string, { agent, timeoutMs }: { readonly agent: Agent; readonly timeoutMs: number },
): Promise<number> {
  return new Promise((resolve) => {
    const signal = Number.isFinite(timeoutMs) ? { signal: AbortSignal.timeout(timeoutMs) } : {};
    request({ port, path, host: "127.0.0.1", agent, headers: { authorization: TOKEN }, ...signal }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0)).once("error", () => resolve(0));
    }).once("error", () => resolve(0)).end();
  });
}

/** Measures clients of /sts with the SDK for JavaScript itself and its default retries. */
async function measureSTS(stage: Stage, scenario: Scenario): Promise<Outcome> {
  const sts = await startLimitedSTS(LIMITS[scenario.limit]);
  const sidecar = await startColdSidecar(stage, scenario, sts.url);
  const base = await baseCredentials(sidecar.port);
  let attempts = 0;
  // Each client has a retry quota of its own, as in a controller.
  const clients = Array.from({ length: scenario.clients }, () => {
    const client = new STSClient({
      region: "eu-west-1", endpoint: `http://127.0.0.1:${sidecar.port}/sts`, credentials: base,
    });
    client.middlewareStack.add((next) => (args) => {
      attempts += 1;
      return next(args);
    }, { step: "finalizeRequest", priority: "low" });
    return client;
  });
  const before = sts.calls.length;
  const outcome = await run(scenario, async (role, index) => {
    await clients[index]?.send(new AssumeRoleCommand({ RoleArn: roleOf(role), RoleSessionName: "bench" }));
  });
  for (const client of clients) client.destroy();
  await Promise.all([stop(sidecar), sts.close()]);
  return { ...outcome, rejections: attempts - scenario.roles + outcome.errors, calls: sts.calls.length - before };
}

interface BaseKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

async function baseCredentials(port: number): Promise<BaseKey> {
  const text = await new Promise<string>((resolve, reject) => {
    const options = { port, path: "/v1/credentials", host: "127.0.0.1", headers: { authorization: TOKEN } };
    request(options, (response) => {
      response.setEncoding("utf8").toArray().then((parts) => resolve(parts.join("")), reject);
    }).once("error", reject).end();
  });
  const body: unknown = JSON.parse(text);
  const field = (name: string): string => stringAt(body, name) ?? "";
  return { accessKeyId: field("AccessKeyId"), secretAccessKey: field("SecretAccessKey"), sessionToken: field("Token") };
}

/** There is no goal for errors if STS allows so few calls that clients must give up. */
function figuresOf(name: string, { roles, limit }: Scenario, outcome: Outcome): Figure[] {
  const none = limit === "quota" ? atMost(0, "value") : undefined;
  return [
    single(`${name}: errors that the user of the SDK sees`, outcome.errors, "requests", none),
    single(`${name}: responses 503 or late`, outcome.rejections, "requests"),
    single(`${name}: calls to STS`, outcome.calls, "requests", atMost(roles * 1.5, "value")),
    single(`${name}: all roles`, outcome.durationMs, "ms"),
    single(`${name}: slowest role`, outcome.slowestMs, "ms"),
  ];
}

const SMALL: Scenario = { roles: 200, clients: 50, limit: "quota", isIdentities: true };
const LARGE: Scenario = { roles: 1_000, clients: 300, limit: "quota" };

export const COLD_START_ROW: Row = {
  name: "cold-start", title: "sessions of many roles, requested from a sidecar that has just started, STS takes 100 ms",
  measure: async (stage) => {
    const figures: Figure[] = [];
    for (const full of [SMALL, LARGE, { ...LARGE, limit: "scarce" } as const]) {
      const scenario = { ...full, roles: stage.size(full.roles, 10), clients: stage.size(full.clients, 5) };
      const what = `${scenario.roles} ${scenario.isIdentities === true ? "identities" : "roles"}, `
        + `${scenario.clients} clients, STS allows ${LIMITS[scenario.limit]}/s`;
      for (const [sdk, retries] of Object.entries(SDKS)) {
        // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent measurements affect each other
        figures.push(...figuresOf(`${what}, ${sdk}`, scenario, await measureContainer(stage, scenario, retries)));
      }
      if (scenario.isIdentities === true) continue;
      // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent measurements affect each other
      figures.push(...figuresOf(`${what}, AssumeRole on /sts`, scenario, await measureSTS(stage, scenario)));
    }
    return figures;
  },
};
