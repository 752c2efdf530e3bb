import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Test } from "tap";
import type { InstalledWheels } from "../../programs/wheels.ts";

/**
 * Starts moto, an independent STS, on a free loopback port and returns its URL. Moto stops when the test ends. Moto
 * verifies no signatures. Moto recognizes credentials that it issued, and treats other credentials as those of a user
 * in account 123456789012.
 */
export async function startMoto(t: Test, { python, folder }: InstalledWheels): Promise<string> {
  const env = { HOME: t.testdirName, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1", PYTHONUNBUFFERED: "1" };
  const args = ["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"];
  const child = spawn(python, args, { env, stdio: ["ignore", "ignore", "pipe"] });
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
  // Reads the output completely, because the log of the requests could otherwise fill the pipe.
  createInterface(output).on("line", (line) => {
    lines.push(line);
    const url = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1];
    if (url !== undefined) resolve(url);
  }).once("close", () => reject(new Error(`moto exited before it listened:\n${lines.join("\\n")}`)));
  return await promise;
}
