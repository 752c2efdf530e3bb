import { spawnSync } from "node:child_process";
import process from "node:process";
import type { Test } from "tap";

/** Whether a command is on PATH. Prints that its part of the test is skipped if not, and throws with `CI=true`. */
export function hasCommand(t: Test, name: string): boolean {
  if (spawnSync(name, ["--version"]).error === undefined) return true;
  if (process.env["CI"] === "true") throw new Error(`${name} is not on PATH`);
  t.pass(`${name} is not on PATH`, { skip: true });
  return false;
}
