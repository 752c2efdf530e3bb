// Sends invalid requests to a real sidecar process. Each request must get its own error, while the sidecar serves other
// clients.
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { setTimeout as pause, setInterval as ticks } from "node:timers/promises";
import { Sha256 } from "@smithy/core/checksum";
import { SignatureV4 } from "@smithy/signature-v4";
import { t as root, test, type Test } from "tap";
import { assumeBody, type VendedKeys, WHO } from "../sidecar/sts/signed-request.ts";
import { until } from "./apiserver/until.ts";
import { type MeasuredResponse, PLANTED, PlantedSidecar, roleARN } from "./planted-sidecar.ts";
import { RESPONSE_LIMIT_MS } from "./server-process.ts";

/**
 * The maximum time from the change of the token file until the sidecar uses the new token. The sidecar checks the file
 * every second.
 */
const ROTATION_LIMIT_MS = 2_000;
/**
 * Headers may take 2 s, and the sidecar checks this limit every 0.5 s. The client then has another 0.5 s to disconnect.
 */
const HEADERS_LIMIT_MS = 4_000;
/** A number of connections above the 256 that the sidecar serves. */
const CONNECTIONS = 300;

interface Subject {
  readonly sidecar: PlantedSidecar;
  /** The access keys of the controller. */
  readonly keys: VendedKeys;
}

interface Row {
  readonly name: string;
  readonly expected: string;
  readonly send: (subject: Subject) => Promise<MeasuredResponse>;
}

const PATH = "/v1/credentials/selectors/warm";
const WRONG_HOST = { host: `${PLANTED}.example:9780` };

/** Returns a row whose request is a valid AssumeRole request with additional `parameters`. */
function assumeRoleRow(name: string, parameters: Readonly<Record<string, string>>, expected: string): Row {
  const body = assumeBody({ RoleArn: roleARN("warm"), ...parameters });
  return { name, expected, send: ({ sidecar, keys }) => sidecar.callSTS(keys, { body }) };
}

type Parameters = Readonly<Record<string, string>>;

function numbered(count: number, member: (i: number) => Parameters): Parameters {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => Object.entries(member(i + 1))).flat());
}

const ELEVEN_ARNS = numbered(11, (i) => ({
  [`PolicyArns.member.${i}.arn`]: `arn:aws:iam::aws:policy/${PLANTED}-${i}`,
}));
const FIFTY_ONE_TAGS = numbered(51, (i) => ({
  [`Tags.member.${i}.Key`]: `key-${i}`, [`Tags.member.${i}.Value`]: `${PLANTED}-${i}`,
}));

const ROWS: readonly Row[] = [
  {
    name: "a wrong token",
    expected: "401 ERR_TOKEN_INVALID",
    send: ({ sidecar }) => sidecar.credentials("warm", { authorization: `${PLANTED}-wrong-token` }),
  },
  { name: "no token", expected: "401 ERR_TOKEN_INVALID", send: ({ sidecar }) => sidecar.request(PATH, {}) },
  {
    name: "a wrong Host",
    expected: "403 ERR_REQUEST_HOST",
    send: ({ sidecar }) => sidecar.credentials("warm", WRONG_HOST),
  },
  {
    name: "a signed request to /sts that has a wrong Host",
    expected: "403 AccessDenied",
    send: ({ sidecar, keys }) => sidecar.callSTS(keys, { headers: WRONG_HOST }),
  },
  {
    name: "headers that are too large",
    expected: "431 ERR_REQUEST_MALFORMED",
    send: ({ sidecar }) => sidecar.credentials("warm", { "x-huge": PLANTED.repeat(2_000) }),
  },
  {
    name: "headers that arrive too slowly",
    expected: "408 ERR_REQUEST_MALFORMED",
    send: ({ sidecar }) => sidecar.sendRaw(slowly(`GET ${PATH} HTTP/1.1\r\nX-Slow: ${PLANTED.repeat(10)}`)),
  },
  {
    name: "invalid HTTP",
    expected: "400 ERR_REQUEST_MALFORMED",
    send: ({ sidecar }) => sidecar.sendRaw([`${PLANTED}\r\n\r\n`]),
  },
  {
    name: "a SigV4 signature made with a wrong secret",
    expected: "403 SignatureDoesNotMatch",
    send: ({ sidecar, keys }) => sidecar.callSTS({ ...keys, SecretAccessKey: `${PLANTED}-guess` }),
  },
  {
    name: "a SigV4 signature made with an unknown access key ID",
    expected: "403 InvalidClientTokenId",
    send: ({ sidecar, keys }) => sidecar.callSTS({ ...keys, AccessKeyId: "ASIAUNKNOWNACCESSKEY" }),
  },
  {
    name: "a SigV4 signature of headers that differ from the headers of the request",
    expected: "403 SignatureDoesNotMatch",
    send: ({ sidecar, keys }) => sidecar.callSTS(keys, { headers: { "x-extra": "1" } }, { "x-extra": "2" }),
  },
  {
    name: "a SigV4 signature made without the session token",
    expected: "400 IncompleteSignature",
    send: ({ sidecar, keys }) => sidecar.callSTS(keys, { unsigned: ["x-amz-security-token"] }),
  },
  { name: "a presigned URL", expected: "400 MalformedQueryString", send: presigned },
  {
    name: "AssumeRole with the credentials of a role",
    expected: "403 AccessDenied",
    send: async ({ sidecar }) => sidecar.assume(await sidecar.keys(PATH), "warm"),
  },
  {
    name: "AssumeRole of a role that no selector grants",
    expected: "403 AccessDenied",
    send: ({ sidecar, keys }) => sidecar.assume(keys, "not-granted"),
  },
  {
    name: "an unknown action",
    expected: "400 InvalidAction",
    send: ({ sidecar, keys }) => sidecar.callSTS(keys, { body: "Action=GetFederationToken&Version=2011-06-15" }),
  },
  assumeRoleRow("11 policy ARNs", ELEVEN_ARNS, "400 ValidationError"),
  assumeRoleRow("51 tags", FIFTY_ONE_TAGS, "400 ValidationError"),
  assumeRoleRow("an invalid session name", { RoleSessionName: "not a name" }, "400 ValidationError"),
  assumeRoleRow("another external ID", { ExternalId: `${PLANTED}-guess` }, "403 AccessDenied"),
];

root.setTimeout(60_000);

test("a sidecar serves valid clients while other clients send invalid requests", async (t) => {
  t.setTimeout(60_000);
  const sidecar = await PlantedSidecar.start(t, ["warm"]);
  const keys = await sidecar.keys();
  t.same(await validRequests({ sidecar, keys }), SERVED, "requests succeed before the invalid requests start");
  const calls = sidecar.sts.calls.length;
  for (const row of ROWS) await t.test(`rejects ${row.name}`, async (tt) => testRow(tt, { sidecar, keys }, row));
  await t.test(`serves clients while ${CONNECTIONS} connections send nothing`, async (tt) =>
    testConnections(tt, { sidecar, keys }),
  );
  await t.test("accepts a rotated token within 2 s, and still accepts the previous token", async (tt) =>
    testRotation(tt, sidecar),
  );
  t.equal(sidecar.sts.calls.length, calls, "STS was not called");
  t.ok(sidecar.errorBodies.length > ROWS.length, `${sidecar.errorBodies.length} error responses`);
  t.same(await sidecar.leaks(), [], "the log, metrics and errors contain no secret");
  const lines = sidecar.server.log.length;
  t.ok(lines < 2 * ROWS.length + 10, `${lines} log lines: each error is logged once, and no successful request`);
  t.equal(await sidecar.server.stop(), 0, "the sidecar exits with 0");
});

/** Sends valid requests during and after the invalid one. */
async function testRow(t: Test, subject: Subject, { send, expected }: Row): Promise<void> {
  const over = new AbortController();
  const meanwhile = serveUntil(over.signal, subject);
  const { status, code } = await send(subject);
  over.abort();
  t.equal(`${status} ${code}`, expected);
  t.same(await meanwhile, SERVED, "valid requests succeed while the invalid request is sent");
  t.equal((await subject.sidecar.health("/healthz")).status, 200, "the sidecar is alive");
}

const SERVED = ["200 ok", "200 ok", "200 ok"];

/** Sends the requests of a controller: credentials of a role from the endpoint and from /sts, and its identity. */
async function validRequests({ sidecar, keys }: Subject): Promise<readonly string[]> {
  const responses = await Promise.all([
    sidecar.credentials("warm"), sidecar.assume(keys, "warm"), sidecar.callSTS(keys, { body: WHO }),
  ]);
  return responses.map(({ status, code, ms }) => `${status} ${code}${ms < RESPONSE_LIMIT_MS ? "" : ` in ${ms} ms`}`);
}

/**
 * Sends valid requests every 50 ms, at least once. Returns the first unexpected responses or, if every response is as
 * expected, the last responses.
 */
async function serveUntil(over: AbortSignal, subject: Subject): Promise<readonly string[]> {
  for await (const _ of ticks(50)) {
    const responses = await validRequests(subject);
    if (over.aborted || responses.join() !== SERVED.join()) return responses;
  }
  return [];
}

/** Yields a character every 100 ms. */
async function* slowly(text: string): AsyncGenerator<string> {
  for (const character of text) {
    yield character;
    await pause(100);
  }
}

/** Sends a request to a URL that the SDK has presigned. */
async function presigned({ sidecar, keys }: Subject): Promise<MeasuredResponse> {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken } = keys;
  const credentials = { accessKeyId, secretAccessKey, sessionToken };
  const signer = new SignatureV4({
    service: "sts", region: "eu-west-1", credentials, sha256: Sha256, applyChecksum: false,
  });
  const { query } = await signer.presign({
    method: "GET", protocol: "http:", hostname: "127.0.0.1", path: "/sts", headers: { host: sidecar.server.address },
    query: Object.fromEntries(new URLSearchParams(WHO)),
  });
  const parameters = Object.entries(query ?? {}).map(([name, value]) => [name, String(value)]);
  return sidecar.request(`/sts?${new URLSearchParams(parameters).toString()}`, {});
}

async function testConnections(t: Test, subject: Subject): Promise<void> {
  const { sidecar, keys } = subject;
  const port = Number(new URL(sidecar.url).port);
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    t.teardown(() => socket.destroy());
    await once(socket, "connect");
  }));
  const startMs = performance.now();
  const served = { status: 200, code: "ok" };
  t.match(await sidecar.credentials("warm"), served, "a client replaces a connection that sends nothing");
  t.match(await sidecar.assume(keys, "warm"), served, "a client of /sts replaces a connection that sends nothing");
  t.equal((await sidecar.health("/healthz")).status, 200, "the sidecar is alive");
  const isFree = async (): Promise<boolean> => (await validRequests(subject)).join() === SERVED.join();
  t.ok(await until(isFree, HEADERS_LIMIT_MS), "idle connections are closed");
  t.comment(`closed after ${Math.round(performance.now() - startMs)} ms`);
  const codes = new Set<string>();
  const isServed = async (): Promise<boolean> => {
    // The request fails with a 503 at the connection limit, or with a reset if a new connection replaced its
    // connection. SDKs retry after both failures.
    const { code } = await sidecar.credentials("warm").catch(() => ({ code: "reset" }));
    codes.add(code);
    return code === "ok";
  };
  const crowd = await Promise.all(Array.from({ length: CONNECTIONS }, () => until(isServed, HEADERS_LIMIT_MS)));
  t.ok(crowd.every((isDone) => isDone), `${CONNECTIONS} concurrent clients with retries are served`);
  t.same([...codes].filter((code) => code !== "ERR_REQUEST_CONNECTIONS" && code !== "reset"), ["ok"]);
}

async function testRotation(t: Test, sidecar: PlantedSidecar): Promise<void> {
  const previous = await sidecar.token();
  const rotated = `${PLANTED}-rotated-token-0123456789abcdef`;
  await writeFile(sidecar.tokenFile, rotated);
  const startMs = performance.now();
  const statusOf = async (token: string): Promise<number> =>
    (await sidecar.credentials("warm", { authorization: token })).status;
  const isAccepted = await until(async () => (await statusOf(rotated)) === 200, ROTATION_LIMIT_MS);
  t.ok(isAccepted, `after ${Math.round(performance.now() - startMs)} ms`);
  // Another test, with a fake clock, verifies that the previous token expires after a minute.
  t.equal(await statusOf(previous), 200, "the sidecar still accepts the previous token");
  t.match((await sidecar.health("/metrics")).body, 'sidecar_token_reloads_total{result="ok"} 1\n');
}
