// Clients of five SDKs, and 25 others at once, request roles from a sidecar that has no session yet. Its STS is moto
// behind a server that delays and throttles calls, as AWS does.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request as send, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type Test, test } from "tap";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import { renderError, STSErrorResponse } from "../../../sidecar/sts/query-protocol.ts";
import { get } from "../../loopback-request.ts";
import { MOTO, wheelsIn } from "../../programs/wheels.ts";
import { findPrograms } from "../find-programs.ts";
import { ALL_CLIENTS } from "./all-clients.ts";
import { stsVariables } from "./assume-role.ts";
import { printed, SDKS } from "./client.ts";
import { startMoto } from "./moto.ts";
import { selector, startTestbed, type Testbed } from "./testbed.ts";

const ROLES = 80;
const CLIENTS = 25;
/** The default of botocore for container credentials. */
const [ATTEMPTS, RETRY_MS] = [3, 1_000];
const LATENCY_MS = 100;
/** The calls that STS allows in a second, and in a burst: fewer than the clients request at once. */
const PER_SECOND = 20;

function roleOf(name: string): string {
  return `arn:aws:iam::111111111111:role/${name}`;
}

const OTHERS = Array.from({ length: ROLES }, (_, i) => `other-${i}`);
const NAMES = [...OTHERS, ...SDKS.flatMap((sdk) => [`${sdk}-path`, `${sdk}-sts`])];
const MANIFESTS = ["apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"]
  .concat(NAMES.map((name) => selector(name, roleOf(name), "namespaceSelector: {names: [team]}\n"
    + `  resourceLabelSelector: {matchLabels: {role: ${name}}}`))).join("---\n");

interface LimitedSTS {
  readonly url: string;
  readonly calls: { all: number; throttled: number };
}

/** Starts a server that passes calls to moto. */
async function startLimitedSTS(t: Test, moto: string): Promise<LimitedSTS> {
  const calls = { all: 0, throttled: 0 };
  const bucket = { tokens: PER_SECOND, atMs: performance.now() };
  const isThrottled = (): boolean => {
    const nowMs = performance.now();
    bucket.tokens = Math.min(PER_SECOND, bucket.tokens + ((nowMs - bucket.atMs) * PER_SECOND) / 1000);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return true;
    bucket.tokens -= 1;
    return false;
  };
  const server = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await request.setEncoding("utf8").toArray();
    const throttles = isThrottled();
    calls.all += 1;
    calls.throttled += throttles ? 1 : 0;
    await sleep(LATENCY_MS);
    if (throttles) return void response.writeHead(400, { "content-type": "text/xml" }).end(THROTTLED);
    send(moto, { method: "POST", headers: request.headers }, (answered) => {
      answered.pipe(response.writeHead(answered.statusCode ?? 500, answered.headers));
    }).once("error", () => response.destroy()).end(body.join(""));
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${boundAddress(server).port}`, calls };
}

const THROTTLED = renderError(new STSErrorResponse("Throttling", 400, "Rate exceeded"), "request-id");

/** Requests the roles on 25 connections, each 3 times at most. Returns the statuses of all attempts, by role. */
async function requestOthers({ endpoint, tokenFile }: Testbed): Promise<readonly (readonly number[])[]> {
  const authorization = await readFile(tokenFile, "utf8");
  const names = [...OTHERS];
  const all: number[][] = [];
  const client = async (): Promise<void> => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      const statuses: number[] = [];
      while (statuses.length < ATTEMPTS && statuses.at(-1) !== 200) {
        if (statuses.length > 0) await sleep(RETRY_MS);
        statuses.push((await get(`${endpoint}/v1/credentials/selectors/${name}`, { authorization })).status);
      }
      all.push(statuses);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return all;
}

test("clients of five SDKs get new sessions without an error while 25 others wait for theirs", async (t) => {
  const programs = SDKS.map((sdk) => ALL_CLIENTS[sdk]);
  const recipes = programs.flatMap(({ recipe }) => recipe ?? []);
  const folders = await findPrograms(t, MOTO, ...recipes);
  if (folders === null) return;
  const [motoFolder, ...clientFolders] = folders;
  const folderOf = new Map(recipes.map((recipe, i) => [recipe, clientFolders[i] ?? ""]));
  const clients = await Promise.all(programs.map(({ recipe, clientIn }) =>
    clientIn(recipe === null ? "" : folderOf.get(recipe) ?? "")));
  const { url, calls } = await startLimitedSTS(t, await startMoto(t, await wheelsIn(motoFolder)));
  const testbed = await startTestbed(t, { stsEndpoint: url }, { manifests: MANIFESTS });
  const variables = await stsVariables(testbed);
  const startMs = performance.now();
  const others = requestOthers(testbed);
  await Promise.all(clients.map(async (client) => {
    const { sdk } = client;
    const uri = `${testbed.endpoint}/v1/credentials/selectors/${sdk}-path`;
    const retrieved = await client.run(["retrieve", "1"], { ...variables, AWS_CONTAINER_CREDENTIALS_FULL_URI: uri });
    t.match(printed(retrieved), [{ accessKeyID: /^ASIA/ }], `${sdk}: container credentials`);
    const assumed = await client.run(["assume", roleOf(`${sdk}-sts`), "mine"], variables);
    t.match(printed(assumed), { assumed: { accessKeyID: /^ASIA/ } }, `${sdk}: AssumeRole`);
  }));
  const attempts = await others;
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  const rejected = attempts.flat().filter((status) => status !== 200).length;
  t.comment(`${NAMES.length} sessions in ${seconds} s, ${rejected} responses 503 to the others`);
  t.comment(`${calls.all} calls to STS, ${calls.throttled} throttled`);
  t.same(attempts.filter((statuses) => statuses.at(-1) !== 200), [], "each of the others gets its session");
  t.ok(rejected > 0 && calls.throttled > 0, "clients had to retry, and STS had to throttle");
  t.ok(calls.all < NAMES.length * 2, "the sidecar repeats few calls");
});
