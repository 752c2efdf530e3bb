import type { Test } from "tap";
import type { ProgramResult } from "../../../programs/run-program.ts";
import { type Client, ERROR_SHOWN } from "../client.ts";
import { isWithin, type Outcome } from "./outcome.ts";
import { SCRIPTED_CASES } from "./scripted-cases.ts";
import { type Case, type Scene, SIDECAR_CASES } from "./sidecar-cases.ts";

/** The time after which a client without a timeout must still be waiting, in ms. */
const WAIT_MS = 4_000;
/** The number of cases that run concurrently. The number exceeds the number of cores, because cases mostly wait. */
const CONCURRENCY = 6;

/** Runs every case with an SDK, and prints one line with the result of each case. */
export async function runCases(t: Test, client: Client): Promise<void> {
  const results: string[] = [];
  const all = [...SIDECAR_CASES, ...SCRIPTED_CASES];
  const [alone, concurrent] = [all.filter((one) => one.alone === true), all.filter((one) => one.alone !== true)];
  for (const [jobs, cases] of [[1, alone], [CONCURRENCY, concurrent]] as const) {
    t.jobs = jobs;
    const started = cases.map((testCase) =>
      t.test(testCase.name, { buffered: true }, async (tt) => {
        const outcome = testCase.expected[client.sdk];
        if (outcome === undefined)
          tt.pass("skipped: the case requires the network or an address that this machine does not have");
        else results.push(await runCase(tt, client, testCase, outcome));
      }),
    );
    await Promise.all(started);
  }
  t.comment(`${client.sdk}:\n${results.join("\n")}`);
}

async function runCase(t: Test, client: Client, testCase: Case, outcome: Outcome): Promise<string> {
  const scene = await testCase.setUp(t);
  const before = scene.requests.length;
  const startMs = performance.now();
  const limitMs = outcome.does === "waits" ? WAIT_MS : null;
  const result = await runFor(client, testCase.retrievals ?? 1, { scene, limitMs });
  const durationMs = Math.round(performance.now() - startMs);
  const requests = scene.requests.length - before;
  t.equal(endOf(result), outcome.does, result?.stderr ?? "");
  t.ok(isWithin(requests, outcome.requests), `${requests} requests, expected ${String(outcome.requests)}`);
  // The SDKs for Java and Rust do not retry after status 429.
  t.notOk(scene.requests.some(({ status }) => status === 429), "the sidecar returns no status 429");
  checkCalls(t, testCase, scene);
  checkLog(t, scene);
  if (result !== null) await checkOutput(t, client, { scene, outcome, result });
  return `  ${testCase.name}: ${endOf(result)} after ${requests} requests in ${durationMs} ms`;
}

function endOf(result: ProgramResult | null): Outcome["does"] {
  if (result === null) return "waits";
  return result.code === 0 ? "succeeds" : "fails";
}

function checkCalls(t: Test, { maxAssumeRoleCalls: max }: Case, scene: Scene): void {
  const calls = scene.assumeRoleCalls?.();
  if (calls === undefined || max === undefined) return;
  t.ok(calls <= max, `at most ${max} AssumeRole calls, not ${calls}`);
}

function checkLog(t: Test, scene: Scene): void {
  const { text, token } = scene.log?.() ?? { text: "", token: "" };
  if (token !== "") t.notOk(text.includes(token) || text.includes("planted"), "the log contains no secret");
}

interface Run {
  readonly scene: Scene;
  /** If the time is null, the test waits until the client exits. */
  readonly limitMs: number | null;
}

async function runFor(client: Client, retrievals: number, { scene, limitMs }: Run): Promise<ProgramResult | null> {
  const limit = limitMs === null ? undefined : AbortSignal.timeout(limitMs);
  try {
    return await client.run(["retrieve", String(retrievals)], scene.variables, limit);
  } catch (error) {
    if (limit?.aborted === true) return null;
    throw error;
  }
}

interface CaseResult {
  readonly scene: Scene;
  readonly outcome: Outcome;
  readonly result: ProgramResult;
}

async function checkOutput(t: Test, { sdk }: Client, { scene, outcome, result }: CaseResult): Promise<void> {
  if (outcome.does === "succeeds") return void t.match(result.stdout, /"accessKeyID": ?"(ASIA\w+)?"/);
  if (outcome.does === "waits") return;
  t.equal(result.stdout, "");
  if (outcome.shows !== undefined) t.match(result.stderr, outcome.shows);
  else if (scene.fetchError !== undefined) t.match(result.stderr, ERROR_SHOWN[sdk](await scene.fetchError()));
}
