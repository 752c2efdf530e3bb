import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Test, test } from "tap";
import { startSTSEmulator, type STSEmulator, type STSEmulatorOptions } from "../../cli/local/sts-emulator/emulator.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";
import { get } from "../loopback-request.ts";
import { namespaceObject, selectorObject } from "../shared/decisions/objects.ts";
import { until } from "./apiserver/until.ts";
import { BASE, ENVIRONMENT } from "./planted-sidecar.ts";
import { ANSWER_LIMIT_MS, type ServerProcess, startServer } from "./server-process.ts";

const PATH = "/v1/credentials/selectors/team-a";
const DRAIN_LIMIT_MS = 5_000;
/** From its listening on; how long the built command takes to come there is measured by bench/. */
const READY_LIMIT_MS = 1_000;

interface Subject {
  readonly sts: STSEmulator;
  readonly tokenFile: string;
  readonly start: (...flags: readonly string[]) => Promise<ServerProcess>;
}

async function subject(t: Test, faults: NonNullable<STSEmulatorOptions["faults"]> = () => null): Promise<Subject> {
  const sts = await startSTSEmulator({ faults, baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const folder = t.testdir({ manifests: {} });
  const selector = selectorObject("team-a", { arn: "arn:aws:iam::111111111111:role/team-a", namespaceSelector: { names: ["team-a"] } });
  await writeFile(join(folder, "manifests", "list.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items: [namespaceObject("team-a"), selector] }));
  const tokenFile = join(folder, "token");
  const own = ["--from", join(folder, "manifests"), "--group", "s3.services.k8s.aws", "--sts-endpoint", sts.url, "--token-file", tokenFile];
  return { sts, tokenFile, start: (...flags) => startServer("sidecar", [...own, ...flags], ENVIRONMENT) };
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = boundAddress(server);
  server.close();
  await once(server, "close");
  return port;
}

/** The status of one request over `agent`, or the system's code where there was no answer. */
async function statusOf(url: string, token: string, agent: Agent): Promise<number | string> {
  const sent = request(url, { agent, headers: { authorization: token } });
  sent.end();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.once("response", resolve).once("error", reject);
  try {
    const response = await promise;
    await response.resume().toArray();
    return response.statusCode ?? 0;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "unknown";
  }
}

test("a restart under load by keep-alive clients that retry loses none of 2,000 requests, and no answer is anything but 200 or 503", async (t) => {
  const { start, tokenFile } = await subject(t);
  const listen = `127.0.0.1:${await freePort()}`;
  const first = await start("--listen", listen);
  const token = await readFile(tokenFile, "utf8");
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  t.teardown(() => agent.destroy());
  const seen = new Map<number | string, number>();
  let answered = 0;
  let lost = 0;
  const once200 = async (): Promise<void> => {
    for (let tries = 0; tries < 200; tries++) {
      const status = await statusOf(`http://${listen}${PATH}`, token, agent);
      seen.set(status, (seen.get(status) ?? 0) + 1);
      if (status === 200) {
        answered += 1;
        return;
      }
      await pause(50);
    }
    lost += 1;
  };
  const load = Promise.all(Array.from({ length: 20 }, async () => {
    for (let i = 0; i < 100; i++) await once200();
  }));
  t.ok(await until(async () => answered >= 500, 10_000));
  const stopped = Date.now();
  t.equal(await first.stop(), 0, "exit status");
  t.ok(Date.now() - stopped < DRAIN_LIMIT_MS, `stopped in ${Date.now() - stopped} ms`);
  const second = await start("--listen", listen);
  t.teardown(() => second.stop());
  await load;
  t.comment(`answers: ${JSON.stringify(Object.fromEntries(seen))}`);
  t.equal(lost, 0);
  t.equal(answered, 2_000);
  const odd = [...seen.keys()].filter((status) => !["200", "503", "ECONNREFUSED", "ECONNRESET"].includes(String(status)));
  t.same(odd, []);
});

test("what is in flight at SIGTERM is answered, and then the process exits 0", async (t) => {
  const asked = Promise.withResolvers<null>();
  const release = Promise.withResolvers<null>();
  const { start, tokenFile } = await subject(t, ({ action }) => {
    if (action !== "AssumeRole") return null;
    asked.resolve(null);
    return release.promise;
  });
  const sidecar = await start();
  const answer = get(`http://${sidecar.address}${PATH}`, { authorization: await readFile(tokenFile, "utf8") });
  await asked.promise;
  const stopped = sidecar.stop();
  await until(async () => sidecar.log.some(({ msg }) => String(msg).startsWith("stopping")), 5_000);
  release.resolve(null);
  t.equal((await answer).status, 200);
  t.equal(await stopped, 0);
});

test("a client that dawdles over its request holds nobody up for longer than 5 s", async (t) => {
  const { start } = await subject(t);
  const sidecar = await start();
  const socket = connect(Number(sidecar.address.split(":")[1]), "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(`POST /sts HTTP/1.1\r\nHost: ${sidecar.address}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nAction=`);
  await get(`http://${sidecar.healthAddress}/healthz`);
  const began = Date.now();
  t.equal(await sidecar.stop(), 0);
  t.ok(Date.now() - began < DRAIN_LIMIT_MS, `stopped in ${Date.now() - began} ms`);
  socket.destroy();
});

test("a second signal exits at once, with 1", async (t) => {
  const asked = Promise.withResolvers<null>();
  const { start, tokenFile } = await subject(t, ({ action }) => {
    if (action !== "AssumeRole") return null;
    asked.resolve(null);
    return { do: "hang" };
  });
  const sidecar = await start();
  const answer = get(`http://${sidecar.address}${PATH}`, { authorization: await readFile(tokenFile, "utf8") }).catch(() => null);
  await asked.promise;
  const first = sidecar.stop();
  await until(async () => sidecar.log.some(({ msg }) => String(msg).startsWith("stopping")), 5_000);
  const second = sidecar.stop();
  t.equal(await second, 1);
  await first;
  t.equal(await answer, null, "nothing is waited for");
});

test("once it listens it is ready within a second", async (t) => {
  const { start } = await subject(t);
  const began = Date.now();
  const sidecar = await start();
  t.teardown(() => sidecar.stop());
  t.comment(`ready ${Date.now() - began} ms after the start of the process, whose types are stripped at each start`);
  const at = (words: string): number => Date.parse(String(sidecar.log.find(({ msg }) => String(msg).startsWith(words))?.["time"]));
  const readyMs = at("base identity proven") - at("sidecar listening");
  t.ok(readyMs < READY_LIMIT_MS, `${readyMs} ms`);
  t.same(sidecar.log.filter(({ level }) => level !== "info"), [], "and says nothing worse than info");
});

test("while STS says nothing it listens and is alive, and refuses in time; once STS has spoken it is ready and answers", async (t) => {
  const held = Promise.withResolvers<null>();
  const { start, tokenFile } = await subject(t, () => held.promise);
  const [listen, health] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const starting = start("--listen", listen, "--health-listen", health);
  const status = async (path: string): Promise<number> => get(`http://${health}${path}`).then((answer) => answer.status, () => 0);
  t.ok(await until(async () => (await status("/startupz")) === 200, 10_000), "it has started");
  t.same(await Promise.all(["/healthz", "/readyz"].map(status)), [200, 503]);
  const askedMs = Date.now();
  const headers = { authorization: await readFile(tokenFile, "utf8") };
  t.match(await get(`http://${listen}/v1/credentials`, headers), { status: 503, body: /"code":"ERR_STS_UNAVAILABLE"/ });
  t.ok(Date.now() - askedMs < ANSWER_LIMIT_MS, `refused in ${Date.now() - askedMs} ms`);
  const waiting = get(`http://${listen}/v1/credentials`, headers);
  held.resolve(null);
  t.equal((await waiting).status, 200, "who asks just then is answered by the same call");
  t.equal(await status("/readyz"), 200);
  await (await starting).stop();
});
