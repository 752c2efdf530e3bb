import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Test } from "tap";
import { type JsonObject, parseJSON, stringAt } from "../../../shared/formats/json.ts";

/** The messages with which controller-runtime and ACK's runtime log that a resource was not reconciled. */
const FAILURE = /\t(?:Reconciler error|requeue needed after error)\t(\{.*\})$/u;
/** In production, the logger writes only 100 lines of the same message per second. */
const LOGGING = ["--enable-development-logging", "--log-level=debug"] as const;

/** A controller on the runtime of ACK, which reconciles Buckets (test/real/oracle/go/controller). */
export interface ACKController {
  /** The last error of each resource, by `NAMESPACE/NAME`. Clear it to see only newer errors. */
  readonly errors: Map<string, string>;
}

/** Returns the role of the session that the controller last used for a Bucket, as `ACCOUNT/NAME`, or `own`. */
export function sessionOf(status: JsonObject): string {
  const [, account, role] = /^arn:aws:sts::(\d+):assumed-role\/([^/]+)\//u.exec(stringAt(status, "caller") ?? "") ?? [];
  return account === undefined ? "own" : `${account}/${role}`;
}

/** Starts the controller and waits until it reconciles. Rejects with its log if it exits earlier. */
export async function startACKController(
  t: Test, program: string, args: readonly string[], env: Readonly<Record<string, string>>,
): Promise<ACKController> {
  const child = spawn(program, [...LOGGING, "--metrics-addr=0", ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  t.teardown(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const errors = new Map<string, string>();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const lines: string[] = [];
  createInterface(child.stderr).on("line", (line) => {
    lines.push(line);
    const failure = parseJSON(FAILURE.exec(line)?.[1] ?? "null");
    const [namespace, name, error] = ["namespace", "name", "error"].map((key) => stringAt(failure, key) ?? "");
    if (error !== "") errors.set(`${namespace}/${name}`, error ?? "");
    if (line.includes("\tStarting workers\t")) resolve(undefined);
  }).once("close", () => reject(new Error(`the controller exited:\n${lines.join("\n")}`)));
  await promise;
  return { errors };
}
