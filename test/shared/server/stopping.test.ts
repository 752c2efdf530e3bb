import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "tap";
import { createLogger } from "../../../shared/server/logger.ts";
import { Drain, drainAndClose } from "../../../shared/server/stopping.ts";

const log = createLogger({ name: "test", level: "silent" });

test("becomes unready, waits for the drain delay, and then closes the server", async (t) => {
  const drain = new Drain();
  const events: string[] = [];
  await drainAndClose({
    log,
    drain,
    drainMs: 10_000,
    wait: (ms) => Promise.resolve(events.push(`waited ${ms} ms, draining ${String(drain.active)}`)),
    close: () => Promise.resolve(void events.push("closed")),
  });
  t.same(events, ["waited 10000 ms, draining true", "closed"]);
});

test("closes the server immediately if no drain delay is set", async (t) => {
  const drain = new Drain();
  t.equal(drain.active, false);
  const wait = (): Promise<unknown> => Promise.resolve(t.fail("waited"));
  await drainAndClose({ log, drain, drainMs: 0, wait, close: () => Promise.resolve() });
  t.equal(drain.active, true);
});

/**
 * Runs a program that contains `body`. After each line that the program prints, sends the next of `signals` to the
 * program.
 */
async function run(
  body: string, signals: readonly NodeJS.Signals[],
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const modules = new URL("../../../shared/server/", import.meta.url);
  const program = `
    import { createLogger } from ${JSON.stringify(new URL("logger.ts", modules).href)};
    import { Drain, stopOnSignals } from ${JSON.stringify(new URL("stopping.ts", modules).href)};
    const alive = setInterval(() => {}, 1000);
    const close = async () => clearInterval(alive);
    const options = { log: createLogger({ name: "test" }), drain: new Drain(), drainMs: 1, close };
    ${body}
    console.log("up");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program]);
  let stderr = "";
  child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
  const pending = [...signals];
  child.stdout.on("data", () => child.kill(pending.shift()));
  await once(child, "close");
  return { code: child.exitCode, stderr };
}

test("SIGTERM drains and closes the server and exits with code 0", async (t) => {
  const { code, stderr } = await run("stopOnSignals(options);", ["SIGTERM"]);
  t.equal(code, 0);
  t.match(stderr, /"signal":"SIGTERM".*signal received/);
  t.match(stderr, /"drain_ms":1.*still accepts requests/);
  t.match(stderr, "stopped");
});

test("SIGINT skips the drain delay", async (t) => {
  const { code, stderr } = await run("stopOnSignals({ ...options, drainMs: 60000 });", ["SIGINT"]);
  t.equal(code, 0);
  t.match(stderr, /"drain_ms":0/);
});

test("a second signal exits immediately with code 1", async (t) => {
  const never = `const wait = () => { console.log("draining"); return new Promise(() => {}); };
    stopOnSignals({ ...options, wait });`;
  const { code, stderr } = await run(never, ["SIGTERM", "SIGTERM"]);
  t.equal(code, 1);
  t.match(stderr, "second signal; exiting immediately");
});

test("exits with code 1 if the server does not close in time", async (t) => {
  const hanging = "stopOnSignals({ ...options, closeMs: 20, close: () => new Promise(() => {}) });";
  const { code, stderr } = await run(hanging, ["SIGTERM"]);
  t.equal(code, 1);
  t.match(stderr, /"timeout_ms":21.*shutdown timed out/);
});

test("logs an error during close and exits with code 1", async (t) => {
  const failing = `stopOnSignals({ ...options, close: () => Promise.reject(new Error("planted")) });`;
  const { code, stderr } = await run(failing, ["SIGTERM"]);
  t.equal(code, 1);
  t.match(stderr, /planted.*shutdown failed/);
});

test("logs an uncaught error, skips the drain delay, closes the server and exits with code 1", async (t) => {
  const { code, stderr } = await run(
    `stopOnSignals({ ...options, drainMs: 60000 }); setImmediate(() => { throw new Error("planted"); });`,
    ["SIGCONT"],
  );
  t.equal(code, 1);
  t.match(stderr, /"level":"fatal".*planted.*unexpected error; exiting/);
  t.match(stderr, `"drain_ms":0`);
});
