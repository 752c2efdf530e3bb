import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeCertificates } from "../certs/make.ts";
import { storeCertificates } from "../certs/certificate-files.ts";
import type { Floor } from "./floor/fastify.ts";
import { load, type LoadOptions, loadServer } from "./load.ts";
import { busyUs, type CPUProfile, type ProfileLine, profileLines } from "./profile.ts";
import { bundle, type Program, startProgram, stop } from "./programs.ts";
import { inRounds } from "./row.ts";
import { type Stage, shared } from "./stage.ts";

const fastifyFloor = shared((stage) => bundle(stage, "floor/fastify"));
const httpFloor = shared((stage) => bundle(stage, "floor/http"));
const PROBES = 20;
const WARM_UP_REQUESTS = 40_000;
const ROUNDS = 5;
const ROUND_MS = 2_500;
/** Longer than our servers keep the lines of requests before they write them. */
const LOG_MS = 250;

/** Resolves to a folder with the certificate of the measured servers. */
export const certificates = shared(async (stage) => {
  const dir = stage.file("tls");
  const made = await makeCertificates({ hosts: ["127.0.0.1"], now: new Date() });
  await storeCertificates(dir, made);
  return { dir, ca: made.ca };
});

/** Starts a fastify server that does only the input and output. */
export async function startFloor(stage: Stage, floor: Floor): Promise<Program> {
  return await startProgram(stage, [await fastifyFloor(stage), JSON.stringify(floor)]);
}

/** Starts a bare node:http server. */
export async function startHTTPFloor(stage: Stage): Promise<Program> {
  return await startProgram(stage, [await httpFloor(stage)]);
}

interface Output {
  readonly bytes: number;
  readonly logBytes: number;
  readonly body: string;
}

/** Returns what a server answers, and how many bytes it logs for each request. Rejects without `expected`. */
export async function outputOf(
  program: Program, { requests, isTLS }: Omit<LoadOptions, "port" | "isDone">, expected: string,
): Promise<Output> {
  const size = async (): Promise<number> => (await stat(program.log)).size;
  const before = await size();
  const isDone = (sent: number): boolean => sent === PROBES;
  const { body } = await load({ port: program.port, requests, isTLS: isTLS === true, connections: 1, isDone });
  if (!body.includes(expected)) throw new Error(`the response does not contain ${expected}: ${body}`);
  await sleep(LOG_MS);
  return { body, bytes: body.length, logBytes: Math.round(((await size()) - before) / PROBES) };
}

/** The time of a round has passed. A quick run sends some requests only. */
export function isRoundOver(stage: Stage): LoadOptions["isDone"] {
  return stage.isQuick ? (sent) => sent >= 100 : (_sent, elapsedMs) => elapsedMs >= ROUND_MS;
}

/**
 * Loads both servers in turn, after a warm-up: V8 compiles the functions of a server during its first 40,000 requests,
 * in which the processor time of a request falls by half.
 */
export async function loadPair(
  stage: Stage, [ours, floor]: readonly [Program, Program], options: Omit<LoadOptions, "port" | "isDone">,
): ReturnType<typeof inRounds<Awaited<ReturnType<typeof loadServer>>>> {
  const side = (program: Program, isDone: LoadOptions["isDone"]) => () =>
    loadServer(program, { ...options, port: program.port, isDone });
  const isWarm: LoadOptions["isDone"] = (sent) => sent >= stage.size(WARM_UP_REQUESTS, 1);
  await inRounds(1, [side(ours, isWarm), side(floor, isWarm)]);
  return await inRounds(stage.size(ROUNDS, 1), [side(ours, isRoundOver(stage)), side(floor, isRoundOver(stage))]);
}

/**
 * Starts a server with the profiler of V8, loads it, and stops it. `start` receives the flags of Node.js. Returns the
 * functions that take most of the busy time.
 */
export async function profile(
  stage: Stage, start: (flags: readonly string[]) => Promise<Program>, run: (program: Program) => Promise<unknown>,
): Promise<readonly ProfileLine[]> {
  const folder = stage.file(`profile-${performance.now()}`);
  const program = await start(["--cpu-prof", `--cpu-prof-dir=${folder}`]);
  await run(program);
  await stop(program, "SIGTERM");
  // Each thread writes a profile. The thread that serves requests has the most busy samples.
  const profiles = (await readdir(folder)).map(async (name): Promise<CPUProfile> => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by Node.js
    return JSON.parse(await readFile(path.join(folder, name), "utf8")) as CPUProfile;
  });
  const [busiest] = (await Promise.all(profiles)).toSorted((a, b) => busyUs(b) - busyUs(a));
  return busiest === undefined ? [] : profileLines(busiest);
}
