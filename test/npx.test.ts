import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";

const ROOT = path.join(import.meta.dirname, "..");
const FOLDERS = "{docs,manifests,cli,certs,shared,sidecar,webhook}";
const TEXTS = ["*.{md,yml,json}", ".*.yaml", `${FOLDERS}/**/*.{md,ts,js,yaml,yml}`];

// Outside of a checkout, npx downloads and runs any package that has the name ack-role-resolver.
test("no documentation, help or message lets npx or npm download a package named ack-role-resolver", (t) => {
  const files = globSync(TEXTS, { cwd: ROOT });
  for (const file of ["README.md", "docs/sidecar.md", "cli/local/welcome.ts", "manifests/examples/README.md"]) {
    t.ok(files.includes(file), file);
  }
  for (const file of files) {
    const text = readFileSync(path.join(ROOT, file), "utf8");
    const downloads = [...text.matchAll(/\b(?:npx|npm (?:exec|x|i|install)) [^\n`]*?ack-role-resolver(?!-\d)/g)]
      .map(([command]) => command)
      .filter((command) => !command.startsWith("npx --no-install "));
    t.same(downloads, [], file);
  }
  t.end();
});
