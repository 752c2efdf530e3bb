import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Test, test } from "tap";
import type { STSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { type Faults, startSTSEmulator } from "../cli/local/sts-emulator/faults.ts";
import { freePorts } from "../free-ports.ts";
import { get } from "../loopback-request.ts";
import { namespaceObject, selectorObject } from "../shared/objects.ts";
import { until } from "./apiserver/until.ts";
import { BASE, ENVIRONMENT } from "./planted-sidecar.ts";
import { statusOf } from "./response-status.ts";
import { RESPONSE_LIMIT_MS, type ServerProcess, startServer } from "./server-process.ts";

const PATH = "/v1/credentials/selectors/team-a";
const DRAIN_LIMIT_MS = 5_000;
/**
 * The maximum time from the start of the listener until the sidecar is ready, in ms. The benchmarks measure the time
 * until the listener starts.
 */
const READY_LIMIT_MS = 1_000;

interface Subject {
  readonly sts: STSEmulator;
  readonly tokenFile: string;
  readonly start: (...flags: readonly string[]) => Promise<ServerProcess>;
}

async function subject(t: Test, faults: Faults = () => null): Promise<Subject> {
  const sts = await startSTSEmulator({ faults, baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const folder = t.testdir({ manifests: {} });
  const spec = { arn: "arn:aws:iam::111111111111:role/team-a", namespaceSelector: { names: ["team-a"] } };
  const items = [namespaceObject("team-a"), selectorObject("team-a", spec)];
  await writeFile(join(folder, "manifests", "list.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const tokenFile = join(folder, "token");
  const common = [
    "--from", join(folder, "manifests"), "--group", "s3.services.k8s.aws", "--sts-endpoint", sts.url,
    "--token-file", tokenFile,
  ];
  return { sts, tokenFile, start: (...flags) => startServer("sidecar", [...common, ...flags], ENVIRONMENT) };
}

/** Returns the status of a request over `agent`, or the system error code if no response arrives. */
async function statusOver(url: string, token: string, agent: Agent): Promise<number | string> {
  return await statusOf(request(url, { agent, headers: { authorization: token } }).end());
}

test("serves 2,000 requests during a restart under load if clients retry", async (t) => {
  const { start, tokenFile } = await subject(t);
  const [port] = await freePorts(1);
  const listen = `127.0.0.1:${port}`;
  const first = await start("--listen", listen);
  const token = await readFile(tokenFile, "utf8");
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  t.teardown(() => agent.destroy());
  const statuses = new Map<number | string, number>();
  let served = 0;
  let lost = 0;
  const requestUntilServed = async (): Promise<void> => {
    for (let tries = 0; tries < 200; tries++) {
      const status = await statusOver(`http://${listen}${PATH}`, token, agent);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) {
        served += 1;
        return;
      }
      await pause(50);
    }
    lost += 1;
  };
  const load = Promise.all(Array.from({ length: 20 }, async () => {
    for (let i = 0; i < 100; i++) await requestUntilServed();
  }));
  t.ok(await until(async () => served >= 500, 10_000));
  const stopped = Date.now();
  t.equal(await first.stop(), 0, "the sidecar exits with 0");
  t.ok(Date.now() - stopped < DRAIN_LIMIT_MS, `stopped in ${Date.now() - stopped} ms`);
  const second = await start("--listen", listen);
  t.teardown(() => second.stop());
  await load;
  t.comment(`responses by status: ${JSON.stringify(Object.fromEntries(statuses))}`);
  t.equal(lost, 0);
  t.equal(served, 2_000);
  const expected = new Set(["200", "503", "ECONNREFUSED", "ECONNRESET"]);
  t.same([...statuses.keys()].filter((status) => !expected.has(String(status))), []);
});

test("completes requests in flight after SIGTERM and then exits with 0", async (t) => {
  const called = Promise.withResolvers<null>();
  const response = Promise.withResolvers<null>();
  const { start, tokenFile } = await subject(t, ({ action }) => {
    if (action !== "AssumeRole") return null;
    called.resolve(null);
    return response.promise;
  });
  const sidecar = await start();
  const pending = get(`http://${sidecar.address}${PATH}`, { authorization: await readFile(tokenFile, "utf8") });
  await called.promise;
  const stopped = sidecar.stop();
  await until(async () => sidecar.log.some(({ msg }) => String(msg).startsWith("stopping")), 5_000);
  response.resolve(null);
  t.equal((await pending).status, 200);
  t.equal(await stopped, 0);
});

test("a sidecar that is killed after its first response has logged the session and the client", async (t) => {
  const { start, tokenFile } = await subject(t);
  const sidecar = await start();
  await get(`http://${sidecar.address}${PATH}`, { authorization: await readFile(tokenFile, "utf8") });
  await sidecar.stop("SIGKILL");
  const messages = ["session obtained from STS", "credentials issued to a client"];
  t.ok(await until(async () => messages.every((text) => sidecar.log.some(({ msg }) => msg === text)), 5_000));
});

test("exits within 5 s after SIGTERM although a client still sends a request slowly", async (t) => {
  const { start } = await subject(t);
  const sidecar = await start();
  const socket = connect(Number(sidecar.address.split(":")[1]), "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  const headers = `Host: ${sidecar.address}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000`;
  socket.write(`POST /sts HTTP/1.1\r\n${headers}\r\n\r\nAction=`);
  await get(`http://${sidecar.healthAddress}/healthz`);
  const startMs = Date.now();
  t.equal(await sidecar.stop(), 0);
  t.ok(Date.now() - startMs < DRAIN_LIMIT_MS, `stopped in ${Date.now() - startMs} ms`);
  socket.destroy();
});

test("exits with 1 and aborts requests in flight after a second signal", async (t) => {
  const called = Promise.withResolvers<null>();
  const { start, tokenFile } = await subject(t, ({ action }) => {
    if (action !== "AssumeRole") return null;
    called.resolve(null);
    return { do: "hang" };
  });
  const sidecar = await start();
  const headers = { authorization: await readFile(tokenFile, "utf8") };
  const pending = get(`http://${sidecar.address}${PATH}`, headers).catch(() => null);
  await called.promise;
  const first = sidecar.stop();
  await until(async () => sidecar.log.some(({ msg }) => String(msg).startsWith("stopping")), 5_000);
  const second = sidecar.stop();
  t.equal(await second, 1);
  await first;
  t.equal(await pending, null, "requests in flight are aborted");
});

test("the sidecar is ready within one second after it starts to listen", async (t) => {
  const { start } = await subject(t);
  const startMs = Date.now();
  const sidecar = await start();
  t.teardown(() => sidecar.stop());
  t.comment(`ready ${Date.now() - startMs} ms after the start of the process, including type stripping`);
  await sidecar.settledLog();
  const at = (message: string): number => {
    const line = sidecar.log.find(({ msg }) => String(msg).startsWith(message));
    return Date.parse(String(line?.["time"]));
  };
  const readyMs = at("base identity verified") - at("sidecar listening");
  t.ok(readyMs < READY_LIMIT_MS, `${readyMs} ms`);
  t.same(sidecar.log.filter(({ level }) => level !== "info"), [], "all log lines have the level info");
});

test("is alive and rejects requests in time while STS hangs, and issues roles after STS responds", async (t) => {
  const response = Promise.withResolvers<null>();
  const { start, tokenFile } = await subject(t, () => response.promise);
  const [listen = "", health = ""] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`);
  const starting = start("--listen", listen, "--health-listen", health);
  const status = async (path: string): Promise<number> =>
    get(`http://${health}${path}`).then((one) => one.status, () => 0);
  t.ok(await until(async () => (await status("/startupz")) === 200, 10_000), "the startup probe succeeds");
  t.same(await Promise.all(["/healthz", "/readyz"].map(status)), [200, 503]);
  const requestedMs = Date.now();
  const headers = { authorization: await readFile(tokenFile, "utf8") };
  t.match(await get(`http://${listen}/v1/credentials`, headers), { status: 503, body: /"code":"ERR_STS_UNAVAILABLE"/ });
  t.ok(Date.now() - requestedMs < RESPONSE_LIMIT_MS, `rejected in ${Date.now() - requestedMs} ms`);
  const waiting = get(`http://${listen}/v1/credentials`, headers);
  response.resolve(null);
  t.equal((await waiting).status, 200, "the STS call that hung serves a waiting request");
  t.equal(await status("/readyz"), 200);
  await (await starting).stop();
});
