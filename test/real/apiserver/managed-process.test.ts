import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import path from "node:path";
import { type Test, test } from "tap";
import { startProcess } from "./managed-process.ts";

/** Starts a server. The exit of a connected process closes the connection, so that tests need no polling. */
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

/**
 * Returns the arguments of a program that connects and keeps running. `ignoresSIGTERM`: the program does not exit on
 * SIGTERM.
 */
function longRunning(port: number, ignoresSIGTERM = false): readonly string[] {
  const handler = ignoresSIGTERM ? 'process.on("SIGTERM", () => {});' : "";
  return ["-e", `${handler} require("node:net").connect(${port}, "127.0.0.1").resume();`];
}

async function closed(socket: Socket): Promise<void> {
  // A killed process resets its connection.
  socket.on("error", () => {}).resume();
  await once(socket, "close");
}

test("kills a child process if the test process that started it is killed", async (t) => {
  const { port, connected } = await listen(t);
  const script = `
    import { startProcess } from ${JSON.stringify(path.join(import.meta.dirname, "managed-process.ts"))};
    await startProcess(process.execPath, ${JSON.stringify(longRunning(port))}, ${JSON.stringify(t.testdir())}, "log");
  `;
  const args = ["--input-type=module-typescript", "-e", script];
  const parent = spawn(process.execPath, args, { cwd: t.testdirName, stdio: "ignore" });
  const socket = await connected;
  parent.kill("SIGKILL");
  await closed(socket);
  t.pass("the connection is closed");
});

test("kills a process that ignores SIGTERM", async (t) => {
  const { port, connected } = await listen(t);
  const folder = t.testdir();
  const running = await startProcess(process.execPath, longRunning(port, true), folder, path.join(folder, "log"));
  const socket = await connected;
  t.equal(running.hasEnded(), false);
  await Promise.all([running.stop("SIGTERM", 100), closed(socket)]);
  t.equal(running.hasEnded(), true);
  t.throws(() => process.kill(running.pid, 0), { code: "ESRCH" });
  await running.stop("SIGTERM");
  t.pass("a second call of stop() has no effect");
});

test("returns the last log lines of a process, and rejects a program that does not exist", async (t) => {
  const folder = t.testdir();
  const log = path.join(folder, "log");
  const running = await startProcess(process.execPath, ["-e", 'console.error("first\\nlast")'], folder, log);
  await running.ended;
  t.equal(await running.logTail(), "first\nlast");
  await t.rejects(startProcess(path.join(folder, "absent"), [], folder, log), { code: "ENOENT" });
});
