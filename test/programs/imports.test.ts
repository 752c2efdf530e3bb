import { globSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { test } from "tap";

const FOLDER = "test/programs";
const ROOT = path.join(import.meta.dirname, "../..");

// tap ends each process that imports it after 30 s, but some programs need minutes to build.
test("the set-up imports only Node.js and its own folder, not even indirectly", async (t) => {
  const { metafile } = await build({
    absWorkingDir: ROOT, entryPoints: [`${FOLDER}/setup.ts`], bundle: true, write: false, metafile: true,
    platform: "node", format: "esm", packages: "external",
  });
  const files = Object.keys(metafile.inputs);
  t.same(files.filter((file) => path.dirname(file) !== FOLDER), []);
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  t.same(imports.filter((one) => one.external === true && !one.path.startsWith("node:")), []);
  const sources = globSync(`${FOLDER}/*.ts`, { cwd: ROOT }).filter((file) => !file.endsWith(".test.ts"));
  t.same(files.toSorted(), sources.toSorted(), "the set-up uses every file of the folder");
});
