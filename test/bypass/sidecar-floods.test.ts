// Attacks on shared resources of the sidecar, such as its log. Each test expects the sidecar to limit the effect.
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "tap";
import { LIMITS } from "../../shared/contract/limits.ts";
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
