// What clients may do to a sidecar, against the real process: each row is refused in its own words, while others go on being served.
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { setTimeout as pause, setInterval as ticks } from "node:timers/promises";
import { Sha256 } from "@smithy/core/checksum";
import { SignatureV4 } from "@smithy/signature-v4";
import { t as root, test, type Test } from "tap";
import { assumeBody, type VendedKeys, WHO } from "../sidecar/sts/signed-request.ts";
import { until } from "./apiserver/until.ts";
import { type Answer, PLANTED, PlantedSidecar, roleARN } from "./planted-sidecar.ts";
import { ANSWER_LIMIT_MS } from "./server-process.ts";

/** After a token file has changed; it is read each second. */
const ROTATION_LIMIT_MS = 2_000;
/** Headers are given 2 s, which is looked after each 0.5 s, and a client another 0.5 s to go. */
const HEADERS_LIMIT_MS = 4_000;
/** 256 are answered at once. */
const CONNECTIONS = 300;

interface Subject {
  readonly sidecar: PlantedSidecar;
  /** The controller's own. */
  readonly keys: VendedKeys;
}

interface Row {
  readonly name: string;
  readonly send: (subject: Subject) => Promise<Answer>;
  readonly expected: string;
}

const PATH = "/v1/credentials/selectors/warm";
const EVIL = { host: `${PLANTED}.example:9780` };

/** A row of AssumeRole with more than is right. */
function assuming(name: string, parameters: Readonly<Record<string, string>>, expected: string): Row {
  return { name, expected, send: ({ sidecar, keys }) => sidecar.askSTS(keys, { body: assumeBody({ RoleArn: roleARN("warm"), ...parameters }) }) };
}

function numbered(count: number, member: (i: number) => Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => Object.entries(member(i + 1))).flat());
}

const ROWS: readonly Row[] = [
  { name: "a wrong token", expected: "401 ERR_TOKEN_INVALID", send: ({ sidecar }) => sidecar.credentials("warm", { authorization: `${PLANTED}-wrong-token` }) },
  { name: "no token", expected: "401 ERR_TOKEN_INVALID", send: ({ sidecar }) => sidecar.ask(PATH, {}) },
  { name: "a wrong Host", expected: "403 ERR_REQUEST_HOST", send: ({ sidecar }) => sidecar.credentials("warm", EVIL) },
  { name: "a wrong Host, signed, at /sts", expected: "403 AccessDenied", send: ({ sidecar, keys }) => sidecar.askSTS(keys, { headers: EVIL }) },
  { name: "huge headers", expected: "431 ERR_REQUEST_MALFORMED", send: ({ sidecar }) => sidecar.credentials("warm", { "x-huge": PLANTED.repeat(2_000) }) },
  { name: "slow headers", expected: "408 ERR_REQUEST_MALFORMED", send: ({ sidecar }) => sidecar.raw(slowly(`GET ${PATH} HTTP/1.1\r\nX-Slow: ${PLANTED.repeat(10)}`)) },
  { name: "no HTTP", expected: "400 ERR_REQUEST_MALFORMED", send: ({ sidecar }) => sidecar.raw([`${PLANTED}\r\n\r\n`]) },
  {
    name: "SigV4 forged with a guessed secret", expected: "403 SignatureDoesNotMatch",
    send: ({ sidecar, keys }) => sidecar.askSTS({ ...keys, SecretAccessKey: `${PLANTED}-guess` }),
  },
  { name: "SigV4 of keys that nobody vended", expected: "403 InvalidClientTokenId", send: ({ sidecar, keys }) => sidecar.askSTS({ ...keys, AccessKeyId: "ASIANOBODYVENDEDTHIS" }) },
  {
    name: "SigV4 over other headers than are sent", expected: "403 SignatureDoesNotMatch",
    send: ({ sidecar, keys }) => sidecar.askSTS(keys, { headers: { "x-extra": "1" } }, { "x-extra": "2" }),
  },
  { name: "SigV4 that leaves the session token free", expected: "400 IncompleteSignature", send: ({ sidecar, keys }) => sidecar.askSTS(keys, { unsigned: ["x-amz-security-token"] }) },
  { name: "a presigned URL", expected: "400 MalformedQueryString", send: presigned },
  {
    name: "AssumeRole with a role's credentials", expected: "403 AccessDenied",
    send: async ({ sidecar }) => sidecar.assume(await sidecar.keys(PATH), "warm"),
  },
  { name: "AssumeRole of a role that no selector grants", expected: "403 AccessDenied", send: ({ sidecar, keys }) => sidecar.assume(keys, "nobody-grants-this") },
  { name: "an unknown action", expected: "400 InvalidAction", send: ({ sidecar, keys }) => sidecar.askSTS(keys, { body: "Action=GetFederationToken&Version=2011-06-15" }) },
  assuming("11 policy ARNs", numbered(11, (i) => ({ [`PolicyArns.member.${i}.arn`]: `arn:aws:iam::aws:policy/${PLANTED}-${i}` })), "400 ValidationError"),
  assuming("51 tags", numbered(51, (i) => ({ [`Tags.member.${i}.Key`]: `key-${i}`, [`Tags.member.${i}.Value`]: `${PLANTED}-${i}` })), "400 ValidationError"),
  assuming("a bad session name", { RoleSessionName: "not a name" }, "400 ValidationError"),
  assuming("another external ID", { ExternalId: `${PLANTED}-guess` }, "403 AccessDenied"),
];

root.setTimeout(60_000);

test("a sidecar process under bad clients, and others that it serves meanwhile", async (t) => {
  t.setTimeout(60_000);
  const sidecar = await PlantedSidecar.start(t, ["warm"]);
  const keys = await sidecar.keys();
  t.same(await honest({ sidecar, keys }), SERVED, "before any");
  const calls = sidecar.sts.calls.length;
  for (const row of ROWS) await t.test(row.name, async (tt) => isRefused(tt, { sidecar, keys }, row));
  await t.test(`${CONNECTIONS} connections`, async (tt) => outlivesConnections(tt, { sidecar, keys }));
  await t.test("a token that is rotated works within 2 s, and the one before is still good", async (tt) => takesRotation(tt, sidecar));
  t.equal(sidecar.sts.calls.length, calls, "STS was asked for nothing of all this");
  t.ok(sidecar.refusals.length > ROWS.length, `${sidecar.refusals.length} refusals were read`);
  t.same(await sidecar.leaks(), [], "no secret is in any line of the log, metric or refusal");
  t.ok(sidecar.server.log.length < 2 * ROWS.length + 10, `${sidecar.server.log.length} lines of log: refusals are told once, answers not at all`);
  t.equal(await sidecar.server.stop(), 0, "and it ends as it should");
});

/** Others are served all the while, and after it. */
async function isRefused(t: Test, subject: Subject, { send, expected }: Row): Promise<void> {
  const over = new AbortController();
  const meanwhile = serveUntil(over.signal, subject);
  const { status, code } = await send(subject);
  over.abort();
  t.equal(`${status} ${code}`, expected);
  t.same(await meanwhile, SERVED, "others meanwhile");
  t.equal((await subject.sidecar.health("/healthz")).status, 200, "alive");
}

const SERVED = ["200 ok", "200 ok", "200 ok"];

/** What a controller asks: a role by path and at /sts, and who it is. */
async function honest({ sidecar, keys }: Subject): Promise<readonly string[]> {
  const answers = await Promise.all([sidecar.credentials("warm"), sidecar.assume(keys, "warm"), sidecar.askSTS(keys, { body: WHO })]);
  return answers.map(({ status, code, ms }) => (ms < ANSWER_LIMIT_MS ? `${status} ${code}` : `${status} ${code} in ${ms} ms`));
}

/** Asks each 50 ms, once at least; the first answers that are not right, or the last. */
async function serveUntil(over: AbortSignal, subject: Subject): Promise<readonly string[]> {
  for await (const _ of ticks(50)) {
    const answers = await honest(subject);
    if (over.aborted || answers.join() !== SERVED.join()) return answers;
  }
  return [];
}

/** A character each 100 ms, until nobody reads. */
async function* slowly(text: string): AsyncGenerator<string> {
  for (const character of text) {
    yield character;
    await pause(100);
  }
}

/** As an SDK presigns it. */
async function presigned({ sidecar, keys }: Subject): Promise<Answer> {
  const credentials = { accessKeyId: keys.AccessKeyId, secretAccessKey: keys.SecretAccessKey, sessionToken: keys.Token };
  const signer = new SignatureV4({ service: "sts", region: "eu-west-1", credentials, sha256: Sha256, applyChecksum: false });
  const headers = { host: sidecar.server.address };
  const { query } = await signer.presign({ method: "GET", protocol: "http:", hostname: "127.0.0.1", path: "/sts", query: Object.fromEntries(new URLSearchParams(WHO)), headers });
  return sidecar.ask(`/sts?${new URLSearchParams(Object.entries(query ?? {}).map(([name, value]) => [name, String(value)])).toString()}`, {});
}

async function outlivesConnections(t: Test, subject: Subject): Promise<void> {
  const { sidecar, keys } = subject;
  const port = Number(new URL(sidecar.url).port);
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    t.teardown(() => socket.destroy());
    await once(socket, "connect");
    return socket;
  }));
  const startMs = performance.now();
  t.match(await sidecar.credentials("warm"), { status: 503, code: "ERR_REQUEST_CONNECTIONS" }, "one more is told to ask again");
  t.match(await sidecar.assume(keys, "warm"), { status: 503, code: "ServiceUnavailable" }, "in STS's words at /sts");
  const [first] = sockets;
  first?.write(`GET ${PATH} HTTP/1.1\r\nHost: ${sidecar.server.address}\r\nAuthorization: ${await sidecar.token()}\r\nConnection: close\r\n\r\n`);
  t.match((await first?.setEncoding("utf8").toArray())?.join(""), /^HTTP\/1\.1 200 /, "one of the first is served");
  t.equal((await sidecar.health("/healthz")).status, 200, "alive");
  const free = await until(async () => (await honest(subject)).join() === SERVED.join(), HEADERS_LIMIT_MS);
  t.ok(free, `those that say nothing, read nothing and stay are gone after ${Math.round(performance.now() - startMs)} ms`);
  const codes = new Set<string>();
  const isServed = async (): Promise<boolean> => {
    const { code } = await sidecar.credentials("warm");
    codes.add(code);
    return code === "ok";
  };
  const crowd = await Promise.all(Array.from({ length: CONNECTIONS }, () => until(isServed, HEADERS_LIMIT_MS)));
  t.ok(crowd.every((served) => served), "as many that ask at once, and again where they are told to, are served");
  t.same([...codes].filter((code) => code !== "ERR_REQUEST_CONNECTIONS"), ["ok"]);
}

async function takesRotation(t: Test, sidecar: PlantedSidecar): Promise<void> {
  const before = await sidecar.token();
  const rotated = `${PLANTED}-rotated-token-0123456789abcdef`;
  await writeFile(sidecar.tokenFile, rotated);
  const startMs = performance.now();
  const taken = await until(async () => (await sidecar.credentials("warm", { authorization: rotated })).status === 200, ROTATION_LIMIT_MS);
  t.ok(taken, `after ${Math.round(performance.now() - startMs)} ms`);
  t.equal((await sidecar.credentials("warm", { authorization: before })).status, 200, "until a minute has gone, which a test on a fake clock waits for");
  t.match((await sidecar.health("/metrics")).body, 'sidecar_token_reloads_total{result="ok"} 1\n');
}
