import type { Test } from "tap";
import type { ProgramResult } from "../apiserver/run-program.ts";
import { type Case, type Scene, SIDECAR_CASES } from "./cases.ts";
import { type Client, SHOWN } from "./client.ts";
import { isWithin, type Outcome } from "./outcome.ts";
import { SCRIPTED_CASES } from "./scripted-cases.ts";

/** A client that waits still does after this. */
const WAIT_MS = 4_000;
/** Most of a case is waiting, so that more of them than cores are under way. */
const AT_ONCE = 6;

/** Every case with one SDK, and a line on each of what was reached. */
export async function answersTheCases(t: Test, client: Client): Promise<void> {
  const reached: string[] = [];
  const all = [...SIDECAR_CASES, ...SCRIPTED_CASES];
  for (const [jobs, cases] of [[1, all.filter(({ alone }) => alone === true)], [AT_ONCE, all.filter(({ alone }) => alone !== true)]] as const) {
    t.jobs = jobs;
    const started = cases.map((one) =>
      t.test(one.name, { buffered: true }, async (tt) => {
        const outcome = one.expected[client.sdk];
        if (outcome === undefined) tt.pass("not tried: it would leave this machine, or needs an address that this one has not");
        else reached.push(await answersTheCase(tt, client, one, outcome));
      }),
    );
    await Promise.all(started);
  }
  t.comment(`${client.sdk}:\n${reached.join("\n")}`);
}

async function answersTheCase(t: Test, client: Client, one: Case, outcome: Outcome): Promise<string> {
  const scene = await one.set(t);
  const before = scene.requests.length;
  const startMs = performance.now();
  const result = await runFor(client, one.retrievals ?? 1, { scene, limitMs: outcome.does === "waits" ? WAIT_MS : null });
  const tookMs = Math.round(performance.now() - startMs);
  const requests = scene.requests.length - before;
  t.equal(endOf(result), outcome.does, result?.stderr ?? "");
  t.ok(isWithin(requests, outcome.requests), `${requests} requests, expected ${String(outcome.requests)}`);
  t.notOk(scene.requests.some(({ status }) => status === 429), "429 is never sent, which Java and Rust do not repeat");
  costsNoMore(t, one, scene);
  keepsSecrets(t, scene);
  if (result !== null) await showsWhatItShould(t, client, { scene, outcome, result });
  return `  ${one.name}: ${endOf(result)} after ${requests} requests in ${tookMs} ms`;
}

function endOf(result: ProgramResult | null): Outcome["does"] {
  if (result === null) return "waits";
  return result.code === 0 ? "succeeds" : "fails";
}

function costsNoMore(t: Test, { assumed }: Case, scene: Scene): void {
  const calls = scene.assumed?.();
  if (calls !== undefined && assumed !== undefined) t.ok(calls <= assumed, `at most ${assumed} calls of AssumeRole, not ${calls}`);
}

function keepsSecrets(t: Test, scene: Scene): void {
  const { text, token } = scene.log?.() ?? { text: "", token: "" };
  if (token !== "") t.notOk(text.includes(token) || text.includes("planted"), "no secret in the log");
}

interface Run {
  readonly scene: Scene;
  /** Null: until it ends by itself. */
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

interface Seen {
  readonly scene: Scene;
  readonly outcome: Outcome;
  readonly result: ProgramResult;
}

async function showsWhatItShould(t: Test, { sdk }: Client, { scene, outcome, result }: Seen): Promise<void> {
  if (outcome.does === "succeeds") return void t.match(result.stdout, /"accessKeyID": ?"(ASIA\w+)?"/);
  if (outcome.does === "waits") return;
  t.equal(result.stdout, "");
  if (outcome.shows !== undefined) t.match(result.stderr, outcome.shows);
  else if (scene.refusal !== undefined) t.match(result.stderr, SHOWN[sdk](await scene.refusal()));
}
