import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import path from "node:path";
import { type Test, test } from "tap";
import { startProcess } from "./managed-process.ts";

/** A server on which the death of a process shows as the end of its connection, so that no test has to look again and again. */
async function listen(t: Test): Promise<{ readonly port: number; readonly connected: Promise<Socket> }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const address = server.address();
  const connected = new Promise<Socket>((resolve) => {
    server.once("connection", resolve);
  });
  return { port: address === null || typeof address === "string" ? 0 : address.port, connected };
}

/** A program that connects and stays; with `ignoring`, SIGTERM does not end it. */
function staying(port: number, ignoring = false): readonly string[] {
  const deaf = ignoring ? 'process.on("SIGTERM", () => {});' : "";
  return ["-e", `${deaf} require("node:net").connect(${port}, "127.0.0.1").resume();`];
}

async function closed(socket: Socket): Promise<void> {
  // A killed process resets its connection.
  socket.on("error", () => {}).resume();
  await once(socket, "close");
}

test("a process ends with the test process that started it, even one that is killed", async (t) => {
  const { port, connected } = await listen(t);
  const script = `
    import { startProcess } from ${JSON.stringify(path.join(import.meta.dirname, "managed-process.ts"))};
    await startProcess(process.execPath, ${JSON.stringify(staying(port))}, ${JSON.stringify(t.testdir())}, "log");
  `;
  const parent = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], { cwd: t.testdirName, stdio: "ignore" });
  const socket = await connected;
  parent.kill("SIGKILL");
  await closed(socket);
  t.pass("its connection is closed");
});

test("a signal that is ignored is followed by one that is not", async (t) => {
  const { port, connected } = await listen(t);
  const folder = t.testdir();
  const running = await startProcess(process.execPath, staying(port, true), folder, path.join(folder, "log"));
  const socket = await connected;
  t.equal(running.hasEnded(), false);
  await Promise.all([running.stop("SIGTERM", 100), closed(socket)]);
  t.equal(running.hasEnded(), true);
  t.throws(() => process.kill(running.pid, 0), { code: "ESRCH" });
  await running.stop("SIGTERM");
  t.pass("stopping it again does nothing");
});

test("what a process wrote last is shown, and a missing program is an error", async (t) => {
  const folder = t.testdir();
  const log = path.join(folder, "log");
  const running = await startProcess(process.execPath, ["-e", 'console.error("first\\nlast")'], folder, log);
  await running.ended;
  t.equal(await running.logTail(), "first\nlast");
  await t.rejects(startProcess(path.join(folder, "absent"), [], folder, log), { code: "ENOENT" });
});
