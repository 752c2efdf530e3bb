import { globSync } from "node:fs";
import path from "node:path";
import { test } from "tap";

const ROOT = path.join(import.meta.dirname, "..");

// tap counts only what a test imports: without this a file that nothing tests would lower no coverage.
test("every source file loads by itself", async (t) => {
  const files = globSync("{shared,webhook,sidecar,certs,manifests,cli}/**/*.ts", { cwd: ROOT }).filter((file) => file !== "cli/main.ts");
  t.ok(files.length > 50);
  for (const file of files) await t.resolves(import(path.join(ROOT, file)), file);
});
