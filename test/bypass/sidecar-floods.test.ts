// Attacks on shared resources of the sidecar, such as its log. Each test expects the sidecar to limit the effect.
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "tap";
import { LIMITS } from "../../shared/core/limits.ts";
import { collectGarbage } from "../collect-garbage.ts";
import { get, start, TOKEN } from "../sidecar/running-sidecar.ts";
import { ROLE_A } from "../sidecar/sidecar-under-test.ts";
import { assumeBody } from "../sidecar/sts/signed-request.ts";
import { Attack } from "./attack.ts";

test("logs at most 10 lines if a client causes 200 different rejection reasons", async (t) => {
  const credentials = new Attack();
  for (let i = 0; i < 200; i++)
    t.equal((await credentials.get(`/v1/credentials/namespaces/team-a?x${i}=1`)).statusCode, 400);
  t.ok(
    credentials.sidecar.logLines.length <= 10,
    `${credentials.sidecar.logLines.length} log lines of credential requests`,
  );
  const sts = new Attack();
  for (let i = 0; i < 200; i++)
    t.equal(
      (await sts.send(await sts.request({ body: assumeBody({ RoleArn: ROLE_A, [`X${i}`]: "1" }) }))).code,
      "ValidationError",
    );
  t.ok(sts.sidecar.logLines.length <= 10, `${sts.sidecar.logLines.length} log lines of STS requests`);
});

/** The headers of a client that opens a new connection for each request. */
const CLIENT = { authorization: TOKEN, connection: "close" };

test("serves clients while a process without a token holds more connections than the limit", async (t) => {
  const { sidecar: { address } } = await start(t);
  const [host = "", port] = address.split(":");
  const headers = `Host: ${address}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n`;
  const rejected = `POST /sts HTTP/1.1\r\nHost: ${address}\r\nContent-Length: 4\r\n\r\nbody`;
  const partial = `POST /sts HTTP/1.1\r\n${headers}\r\nAction=`;
  for (const text of ["", "GET /v1/credentials HTTP/1.1\r\n", rejected, partial]) {
    const sockets = await Promise.all(Array.from({ length: LIMITS.sidecarConnections.value + 44 }, async () => {
      const socket = connect(Number(port), host).on("error", () => {}).resume();
      t.teardown(() => socket.destroy());
      await once(socket, "connect");
      socket.write(text);
      if (text === rejected) await Promise.race([once(socket, "data"), once(socket, "close")]);
      return socket;
    }));
    t.equal((await get(address, "/v1/credentials", CLIENT)).status, 200, JSON.stringify(text.slice(0, 9)));
    for (const socket of sockets) socket.destroy();
  }
});

const FORM = "Content-Type: application/x-www-form-urlencoded\r\n";
const FORGED = "Authorization: AWS4-HMAC-SHA256 Credential=ASIAFORGED/20260801/eu-west-1/sts/aws4_request, "
  + `SignedHeaders=host;x-amz-date, Signature=${"0".repeat(64)}\r\nX-Amz-Date: 20260801T120000Z\r\n`;
/** Less than the limit of a signed body, so that the request is never complete. */
const PART = Buffer.alloc(60_000, "a");
const CHUNK = Buffer.concat([Buffer.from(`${PART.length.toString(16)}\r\n`), PART]);

const UNAUTHENTICATED: readonly (readonly [what: string, headers: string, body: Buffer, status: number])[] = [
  ["announces 64,000 bytes", `${FORM}Content-Length: 64000\r\n`, PART, 413],
  ["announces no length", `${FORM}Transfer-Encoding: chunked\r\n`, CHUNK, 413],
  ["forges a signature", `${FORM}${FORGED}Content-Length: 64000\r\n`, PART, 403],
];

for (const [what, headers, body, status] of UNAUTHENTICATED) {
  test(`does not store the bodies of a process without a token that ${what} on each connection`, async (t) => {
    const { sidecar: { address } } = await start(t);
    const [host = "", port] = address.split(":");
    const answers: string[] = [];
    await collectGarbage();
    const { arrayBuffers: before } = process.memoryUsage();
    await Promise.all(Array.from({ length: LIMITS.sidecarConnections.value }, async () => {
      const socket = connect(Number(port), host).on("error", () => {});
      t.teardown(() => socket.destroy());
      socket.on("data", (answer) => void answers.push(String(answer)));
      socket.write(`POST /sts HTTP/1.1\r\nHost: ${address}\r\n${headers}\r\n`);
      socket.write(body);
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.once("data", () => resolve()).once("close", () => resolve());
      await promise;
    }));
    t.equal((await get(address, "/v1/credentials", CLIENT)).status, 200);
    await collectGarbage();
    // V8 frees buffers beside the program. A second collection waits until it has freed those of the first.
    await collectGarbage();
    const held = process.memoryUsage().arrayBuffers - before;
    t.ok(held < 8 * 1024 * 1024, `${held} bytes`);
    t.equal(answers.length, LIMITS.sidecarConnections.value);
    t.ok(answers.every((answer) => answer.includes(`HTTP/1.1 ${status} `)), String(answers[0]));
  });
}
