import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Test } from "tap";
import type { InstalledWheels, Wheels } from "./wheels.ts";

export const MOTO: Wheels = { name: "moto", requirements: "moto-requirements.txt", needs: "Python >= 3.9 with pip, once, about 20 seconds" };

/**
 * Starts moto on a free port of loopback, stopped with the test: an STS that nobody here wrote. It verifies no signature and takes
 * any credentials for a user of account 123456789012, but knows those that it issued itself.
 * @returns its URL, once it listens
 */
export async function startMoto(t: Test, { python, folder }: InstalledWheels): Promise<string> {
  const env = { HOME: t.testdirName, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1", PYTHONUNBUFFERED: "1" };
  const child = spawn(python, ["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"], { env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  t.teardown(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return await listeningAt(child.stderr);
}

async function listeningAt(output: Readable): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const lines: string[] = [];
  // Read to the end: what it logs of each request would fill the pipe.
  createInterface(output).on("line", (line) => {
    lines.push(line);
    const url = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1];
    if (url !== undefined) resolve(url);
  }).once("close", () => reject(new Error(`moto ended before it listened:\n${lines.join("\n")}`)));
  return await promise;
}
