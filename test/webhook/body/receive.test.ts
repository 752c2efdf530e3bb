import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { connect, type TLSSocket } from "node:tls";
import { type Test, test } from "tap";
import { storeCertificates } from "../../../certs/certificate-files.ts";
import { stringAt } from "../../../shared/formats/json.ts";
import { LIMITS } from "../../../shared/core/limits.ts";
import { systemClock } from "../../../shared/core/clock.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { type RunningWebhook, runWebhook } from "../../../webhook/main.ts";
import { makePairs } from "../../certs/pairs.ts";
import { fixture, fixtureText, objectAt } from "../reviews.ts";
import { COMPANY, FakeSource } from "../webhook-under-test.ts";

const [serving] = await makePairs();
const HEAD_BYTES = LIMITS.reviewHeadBytes.value;
const MAX_BYTES = LIMITS.reviewBytes.value;
/** The time budget of a review includes the time to receive the body. */
const VALIDATE = "/validate/resources?timeout=30s";

async function running(t: Test): Promise<RunningWebhook> {
  const dir = t.testdir();
  await storeCertificates(dir, serving);
  const flags = { cluster: true, listen: "127.0.0.1:0", healthListen: "127.0.0.1:0", tlsDir: dir };
  const log = createLogger({ name: "webhook", level: "silent" });
  const source = new FakeSource(COMPANY);
  source.status = { loaded: true, lastSyncMs: systemClock.steady(), fault: null };
  const webhook = await runWebhook(readSettings("webhook", flags, {}), { source, log });
  t.teardown(() => webhook.close());
  return webhook;
}

/** Returns the review of a new bucket by the user, with a text of `length` characters. */
function reviewBy(username: string, length: number): string {
  const review = fixture("bucket-create-selected");
  const object = { ...objectAt(review.request, "object"), spec: { name: "b1", policy: "x".repeat(length) } };
  return JSON.stringify({ ...review, request: { ...review.request, userInfo: { username }, object } });
}

interface Answer {
  readonly status: number | undefined;
  /** `allowed`, or the message of the denial. */
  readonly verdict: string;
}

async function send({ address }: RunningWebhook, body: string, agent: Agent | false = false): Promise<Answer> {
  const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
  const options = { method: "POST", headers, rejectUnauthorized: false, agent } as const;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(`https://${address}${VALIDATE}`, options).on("response", resolve).on("error", reject).end(body);
  const response = await promise;
  const text = (await response.setEncoding("utf8").toArray()).join("");
  return { status: response.statusCode, verdict: verdictIn(text) };
}

function verdictIn(text: string): string {
  const response: unknown = objectAt(JSON.parse(text), "response");
  return objectAt(response)["allowed"] === true ? "allowed" : stringAt(response, "status", "message") ?? text;
}

/** A client that sends a body slowly. */
interface SlowClient {
  readonly socket: TLSSocket;
  /** Resolves to the verdict of the response. */
  readonly verdict: () => Promise<string>;
}

/** Announces a body of `bytes` bytes, and sends its first `sent` bytes. */
async function slowClient(
  t: Test, { address }: RunningWebhook, body: string,
  { bytes, sent }: { readonly bytes: number | "chunked"; readonly sent: number },
): Promise<SlowClient> {
  const [host, port] = address.split(":");
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false }).on("error", () => {});
  t.teardown(() => socket.destroy());
  await once(socket, "secureConnect");
  const length = bytes === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${bytes}`;
  const headers = ["Host: x", "Content-Type: application/json", length];
  socket.write(`POST ${VALIDATE} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
  socket.write(body.slice(0, sent));
  let text = "";
  socket.setEncoding("utf8").on("data", (part: string) => void (text += part));
  const verdict = async (): Promise<string> => {
    while (!text.includes("\r\n\r\n") || !text.trimEnd().endsWith("}")) await once(socket, "data");
    const json = text.slice(text.indexOf("\r\n\r\n") + 4);
    text = "";
    return verdictIn(json);
  };
  return { socket, verdict };
}

test("denies a review that is too large before the client has sent its body, and keeps the connection", async (t) => {
  const webhook = await running(t);
  const bytes = MAX_BYTES * 20;
  const body = reviewBy("jane", 2 * HEAD_BYTES);
  const { socket, verdict } = await slowClient(t, webhook, body, { bytes, sent: 2 * HEAD_BYTES });
  t.match(await verdict(), /^ACK-35 : the review is larger than 7340032 bytes/);
  const rest = Buffer.alloc(1024 * 1024, "x");
  for (let left = bytes - 2 * HEAD_BYTES; left > 0; left -= rest.length) {
    if (!socket.write(rest.subarray(0, left))) await once(socket, "drain");
  }
  const next = reviewBy("jane", 1);
  socket.write(`POST ${VALIDATE} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`
    + `Content-Length: ${Buffer.byteLength(next)}\r\n\r\n${next}`);
  t.equal(await verdict(), "allowed", "the webhook ignores the other bytes of the first body");
});

test("denies a review that is too large if the headers do not state its size", async (t) => {
  const webhook = await running(t);
  t.match((await send(webhook, reviewBy("jane", MAX_BYTES))).verdict, /^ACK-35 : the review is larger than 7340032/);
  t.equal((await send(webhook, reviewBy("jane", MAX_BYTES - 10_000))).verdict, "allowed");
});

test("denies reviews of the requester with the largest bodies at the limit, and closes no connection", async (t) => {
  const webhook = await running(t);
  const bytes = 6 * 1024 * 1024;
  const head = reviewBy("eve", 0);
  const body = reviewBy("eve", bytes - head.length);
  const clients = await Promise.all(Array.from({ length: 8 }, () => (
    slowClient(t, webhook, body, { bytes, sent: bytes - 1 })
  )));
  // Of these bodies, 5 are within the limit of 32 MiB.
  await rejectedForSize(webhook, 3);
  t.equal((await send(webhook, reviewBy("bob", bytes))).verdict, "allowed", "another requester");
  t.equal((await send(webhook, reviewBy("eve", 1_000))).verdict, "allowed", "a small review");
  for (const { socket } of clients) socket.write(body.slice(bytes - 1, bytes));
  const verdicts = await Promise.all(clients.map(({ verdict }) => verdict()));
  const denial = "ERR_REQUEST_CONNECTIONS: The webhook is reviewing too many large objects. Retry in a moment.";
  t.same(verdicts.toSorted(), [denial, denial, denial, denial, "allowed", "allowed", "allowed", "allowed"]);
  await rejectedForSize(webhook, 4);
});

/** Resolves when the webhook has rejected this number of bodies for their size. Its metrics are up to 1 s old. */
async function rejectedForSize(webhook: RunningWebhook, count: number): Promise<void> {
  while (!(await metrics(webhook)).includes(`rejected_calls_total{reason="bytes"} ${count}\n`));
}

async function metrics({ healthAddress }: RunningWebhook): Promise<string> {
  return await (await fetch(`http://${healthAddress}/metrics`)).text();
}

test("reviews a body of which each byte is a chunk", async (t) => {
  const webhook = await running(t);
  const { socket, verdict } = await slowClient(t, webhook, "", { bytes: "chunked", sent: 0 });
  for (const character of fixtureText("bucket-create-selected")) socket.write(`1\r\n${character}\r\n`);
  socket.write("0\r\n\r\n");
  t.equal(await verdict(), "allowed");
});

test("counts a body whose connection ends as a malformed request, not as an internal error", async (t) => {
  const webhook = await running(t);
  const body = fixtureText("bucket-create-selected");
  const { socket } = await slowClient(t, webhook, body, { bytes: body.length, sent: body.length - 1 });
  socket.end();
  const counted = 'webhook_errors_total{path="/validate/resources",code="ERR_REQUEST_MALFORMED"} 1\n';
  let text = "";
  while (!text.includes(counted)) text = await metrics(webhook);
  t.notMatch(text, "ERR_INTERNAL");
});

test("serves reviews while clients that send no body use up the limit of connections", async (t) => {
  const webhook = await running(t);
  const silent = { bytes: 1, sent: 0 };
  const oldest = await slowClient(t, webhook, "", silent);
  const closed = once(oldest.socket, "close");
  const others = LIMITS.webhookConnections.value;
  await Promise.all(Array.from({ length: others }, () => slowClient(t, webhook, "", silent)));
  t.equal((await send(webhook, fixtureText("bucket-create-selected"))).verdict, "allowed");
  await closed;
});
