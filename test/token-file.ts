import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** Returns the path of a file that contains the text, and that is deleted when the process ends. */
export function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "ack-role-resolver-test-"));
  process.once("exit", () => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "token"), text, { mode: 0o600 });
  return join(folder, "token");
}
