import { globSync } from "node:fs";
import path from "node:path";
import { test } from "tap";

const ROOT = path.join(import.meta.dirname, "..");

// tap measures the coverage of imported files only. This test adds files that no other test imports.
test("every source file can be imported without an error", async (t) => {
  const files = globSync("{shared,webhook,sidecar,certs,manifests,cli}/**/*.ts", { cwd: ROOT });
  t.ok(files.length > 50);
  const running = new Set(["cli/main.ts", "cli/run-process.ts"]);
  for (const file of files.filter((name) => !running.has(name))) {
    await t.resolves(import(path.join(ROOT, file)), file);
  }
});
