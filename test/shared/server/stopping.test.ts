import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "tap";
import { createLogger } from "../../../shared/server/logger.ts";
import { Drain, drainAndClose } from "../../../shared/server/stopping.ts";

const log = createLogger({ name: "test", level: "silent" });

interface Stopped {
  readonly events: readonly string[];
  /** The time from the signal until the server closed, in ms. */
  readonly closedMs: number;
}

/** Stops a server that receives a request at each time in `arrivalsMs`, in ms after the signal. */
async function stopWithRequests(arrivalsMs: readonly number[]): Promise<Stopped> {
  let nowMs = 0;
  const drain = new Drain(() => nowMs);
  drain.requestArrived();
  nowMs = 5_000;
  const events: string[] = [];
  const wait = async (ms: number): Promise<void> => {
    const endMs = nowMs + ms;
    events.push(`waited ${ms} ms, draining ${String(drain.active)}`);
    for (const arrivalMs of arrivalsMs) {
      if (5_000 + arrivalMs <= nowMs || 5_000 + arrivalMs > endMs) continue;
      nowMs = 5_000 + arrivalMs;
      drain.requestArrived();
    }
    nowMs = endMs;
  };
  await drainAndClose({ log, drain, drainMs: 10_000, wait, close: () => Promise.resolve(void events.push("closed")) });
  return { events, closedMs: nowMs - 5_000 };
}

test("becomes unready, and closes the server after 1 s if no request arrives", async (t) => {
  t.same(await stopWithRequests([]), { events: ["waited 1000 ms, draining true", "closed"], closedMs: 1_000 });
});

test("closes the server 1 s after the last request", async (t) => {
  t.equal((await stopWithRequests([300, 900, 1_850, 2_500])).closedMs, 3_500);
  t.equal((await stopWithRequests([300, 1_301])).closedMs, 1_300, "a request after 1 s is too late");
});

test("closes the server after the maximum time although requests arrive", async (t) => {
  const arrivals = Array.from({ length: 200 }, (_, i) => i * 100);
  t.equal((await stopWithRequests(arrivals)).closedMs, 10_000);
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
