import { once } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import { request } from "node:https";
import { Socket } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { type Test, test } from "tap";
import { storeCertificates } from "../../../certs/store.ts";
import { LIMITS } from "../../../shared/decisions/limits.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { readSettings } from "../../../shared/server/settings.ts";
import { type RunningWebhook, runWebhook } from "../../../webhook/main.ts";
import { Uploads } from "../../../webhook/body/uploads.ts";
import { makePairs } from "../../certs/pairs.ts";
import { fixtureText } from "../reviews.ts";
import { COMPANY, FakeSource } from "../webhook-under-test.ts";

const [serving] = await makePairs();

/** A request whose body the webhook has not received. */
interface Sent {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
}

function sentFrom(address: string): Sent {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  const incoming = new IncomingMessage(socket);
  return { incoming, response: new ServerResponse(incoming) };
}

interface Accepting {
  /** Announces a body. Returns null if the upload is rejected. */
  readonly accept: (address: string, bytes: number) => Sent | null;
  /** Returns the number of closed uploads. */
  readonly closed: () => number;
}

function uploads(maxBytes: number): Accepting {
  let closed = 0;
  const subject = new Uploads(maxBytes, () => void closed++);
  const accept = (address: string, bytes: number): Sent | null => {
    const sent = sentFrom(address);
    return subject.accept(sent.incoming, sent.response, bytes) ? sent : null;
  };
  return { accept, closed: () => closed };
}

test("rejects a body if the received bodies exceed the limit, until a response is complete", async (t) => {
  const { accept, closed } = uploads(10);
  const first = accept("10.0.0.1", 10);
  first?.incoming.emit("end");
  t.equal(accept("10.0.0.2", 1), null);
  first?.response.emit("close");
  t.not(accept("10.0.0.2", 10), null);
  t.equal(closed(), 0);
});

test("closes the oldest upload of the address that has the largest uploads", async (t) => {
  const { accept, closed } = uploads(10);
  const [api, oldest, newest] = [accept("10.0.0.1", 2), accept("10.0.0.2", 4), accept("10.0.0.2", 4)];
  t.not(accept("10.0.0.1", 1), null);
  t.same([api, oldest, newest].map((sent) => sent?.incoming.socket.destroyed), [false, true, false]);
  t.not(accept("10.0.0.1", 3), null, "the size of the closed upload is free");
  oldest?.response.emit("close");
  t.not(accept("10.0.0.1", 1), null, "the size is freed only once");
  t.same([api?.incoming.socket.destroyed, newest?.incoming.socket.destroyed, closed()], [true, false, 2]);
});

async function running(t: Test): Promise<RunningWebhook> {
  const dir = t.testdir();
  await storeCertificates(dir, serving, { force: false });
  const flags = { cluster: true, listen: "127.0.0.1:0", healthListen: "127.0.0.1:0", tlsDir: dir };
  const log = createLogger({ name: "webhook", level: "silent" });
  const webhook = await runWebhook(readSettings("webhook", flags, {}), { source: new FakeSource(COMPANY), log });
  t.teardown(() => webhook.close());
  return webhook;
}

async function statusOfReview({ address }: RunningWebhook): Promise<number | undefined> {
  const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
  const options = { method: "POST", headers, rejectUnauthorized: false, agent: false } as const;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request(`https://${address}/mutate/resources`, options);
  sent.on("response", resolve).on("error", reject).end(fixtureText("bucket-create-selected"));
  return (await promise).resume().statusCode;
}

/** Announces a body, but does not send the body. Resolves when the webhook waits for the body. */
async function upload(t: Test, { address }: RunningWebhook, bytes: number): Promise<TLSSocket> {
  const [host, port] = address.split(":");
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false }).on("error", () => {});
  t.teardown(() => socket.destroy());
  await once(socket, "secureConnect");
  const headers = ["Host: x", "Content-Type: application/json", `Content-Length: ${bytes}`, "Expect: 100-continue"];
  socket.write(`POST /mutate/resources HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
  await once(socket, "data");
  return socket;
}

for (const [name, count, bytes, uploadsClosed] of [
  ["bytes", 9, LIMITS.reviewBytes.value, 1],
  ["connections", LIMITS.webhookConnections.value, 1, 0],
] as const) {
  test(`serves reviews while clients that announce bodies but send none use up the limit of ${name}`, async (t) => {
    const webhook = await running(t);
    const oldest = await upload(t, webhook, bytes);
    const closed = once(oldest, "close");
    await Promise.all(Array.from({ length: count - 1 }, () => upload(t, webhook, bytes)));
    t.equal(await statusOfReview(webhook), 200);
    await closed;
    const metrics = await (await fetch(`http://${webhook.healthAddress}/metrics`)).text();
    t.equal(metrics.includes('rejected_calls_total{reason="upload"} 1\n'), uploadsClosed === 1);
  });
}
