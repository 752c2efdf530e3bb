// Attacks of a process that reaches the STS emulator of local mode. Each test expects that the emulator still serves
// other clients.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "tap";
import { Principals } from "../../cli/local/sts-emulator/principals.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { startSTSEmulator } from "../cli/local/sts-emulator/faults.ts";
import { collectGarbage } from "../collect-garbage.ts";
import { send } from "../loopback-request.ts";

const USER = { accessKeyID: "AKIAUSER", secretAccessKey: "secret", arn: "arn:aws:iam::999999999999:user/ops" };

test("serves clients while a process holds more connections than the limit", async (t) => {
  const emulator = await startSTSEmulator({ baseCredentials: [USER] });
  t.teardown(() => emulator.close());
  const { hostname, port } = new URL(emulator.url);
  for (const text of ["", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nAction="]) {
    const sockets = await Promise.all(Array.from({ length: LIMITS.emulatorConnections.value + 44 }, async () => {
      const socket = connect(Number(port), hostname).on("error", () => {}).resume();
      t.teardown(() => socket.destroy());
      await once(socket, "connect");
      socket.write(text);
      return socket;
    }));
    t.equal((await send(emulator.url, { method: "POST", body: "Action=A" })).status, 403);
    for (const socket of sockets) socket.destroy();
  }
});

test("responds to a new connection with 503 if all other connections wait for a response", async (t) => {
  const calls = Promise.withResolvers<void>();
  let started = 0;
  const faults = (): Promise<null> => {
    if (++started === LIMITS.emulatorConnections.value) calls.resolve();
    return new Promise(() => {});
  };
  const emulator = await startSTSEmulator({ baseCredentials: [USER], faults });
  t.teardown(() => emulator.close());
  const request = { method: "POST", body: "Action=A" } as const;
  const waiting = Array.from({ length: LIMITS.emulatorConnections.value }, () => send(emulator.url, request));
  for (const one of waiting) one.catch(() => {});
  await calls.promise;
  t.match(await send(emulator.url, request), { status: 503, body: /<Code>ServiceUnavailable<\/Code>/ });
});

test("needs little memory for bodies that arrive byte by byte", async (t) => {
  const emulator = await startSTSEmulator({ baseCredentials: [USER] });
  t.teardown(() => emulator.close());
  const { hostname, port } = new URL(emulator.url);
  await collectGarbage();
  const { heapUsed: before } = process.memoryUsage();
  await Promise.all(Array.from({ length: 20 }, async () => {
    const socket = connect(Number(port), hostname).on("error", () => {}).resume();
    t.teardown(() => socket.destroy());
    const { promise, resolve } = Promise.withResolvers<void>();
    const chunks = "1\r\na\r\n".repeat(5_000);
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`, () => resolve());
    await promise;
  }));
  t.equal((await send(emulator.url, { method: "POST", body: "Action=A" })).status, 403);
  await collectGarbage();
  const used = process.memoryUsage().heapUsed - before;
  t.ok(used < 6 * 1024 * 1024, `${used} bytes`);
});

test("does not record values that are longer than STS allows", async (t) => {
  const emulator = await startSTSEmulator({ baseCredentials: [USER] });
  t.teardown(() => emulator.close());
  const long = "x".repeat(30_000);
  t.match(await send(emulator.url, { method: "POST", body: `Action=${long}&RoleArn=${long}` }), { status: 403 });
  t.match(emulator.calls, [{ action: "", roleARN: null }]);
});

test("stores at most 10,000 role sessions, and never deletes a base key", (t) => {
  const principals = new Principals([USER], () => 0, randomBytes);
  const role = { roleARN: "arn:aws:iam::111111111111:role/a", sessionName: "s", durationSeconds: 900 };
  const first = principals.assume(role);
  t.equal(principals.find(first.accessKeyID)?.arn, first.arn);
  for (let i = 0; i < LIMITS.emulatorSessions.value; i++) principals.assume(role);
  t.equal(principals.find(first.accessKeyID), undefined);
  t.equal(principals.find(USER.accessKeyID)?.arn, USER.arn);
  t.end();
});
