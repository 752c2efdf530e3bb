// The script of `npm run release`. Builds the files of a release twice into the folder `release`, or the folder of the
// first argument, and compares them. docs/release.md describes the files and the tools that this needs.
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import lock from "../../package-lock.json" with { type: "json" };
import { ARTIFACTS, fileName } from "./artifacts.ts";
import { prepareInputs, readSource, type Source } from "./inputs.ts";
import { digestOf } from "./run.ts";
import { checksums, libraryFiles, provenanceStatement, type Subject } from "./statement.ts";

const ROOT = path.join(import.meta.dirname, "../..");

/** Builds the files of a release into an empty folder. Returns them in the order of their names. */
async function build(source: Source, folder: string, work: string): Promise<readonly Subject[]> {
  const inputs = await prepareInputs(source, work);
  const subjects: Subject[] = [];
  // One after the other: each uses all cores, and some contain others.
  // oxlint-disable no-await-in-loop
  for (const artifact of ARTIFACTS) {
    const name = fileName(artifact, source.version);
    const file = path.join(folder, name);
    await artifact.build(inputs, file);
    await chmod(file, 0o644);
    subjects.push({ name, sha256: await digestOf(file) });
  }
  // oxlint-enable no-await-in-loop
  return subjects.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Builds into a temporary folder that exists only meanwhile. */
async function buildIn(source: Source, folder: string): Promise<readonly Subject[]> {
  const work = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-release-"));
  try {
    return await build(source, folder, path.join(work, "work"));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const [argument = "release"] = process.argv.slice(2);
const output = path.resolve(argument);
const source = await readSource(ROOT, process.env);
const second = `${output}.second`;
// Rejects if the folder exists, so that no file of the user is lost or released.
await Promise.all([output, second].map((folder) => mkdir(folder)));
const subjects = await buildIn(source, output);
const others = await buildIn(source, second);
await rm(second, { recursive: true });
const different = subjects.filter(({ sha256 }, i) => sha256 !== others[i]?.sha256);
if (different.length > 0) {
  throw new Error(`two builds differ in ${different.map(({ name }) => name).join(", ")}`);
}
const libraries = await Promise.all(libraryFiles().map(async ({ name, file }) => (
  { name, sha256: await digestOf(file) }
)));
const builder = process.env["BUILDER_ID"] ?? null;
const statement = provenanceStatement(source, subjects, { lock, libraries, builder });
const provenance = path.join(output, "provenance.json");
await writeFile(provenance, `${JSON.stringify(statement, null, 2)}\n`);
const all = [...subjects, { name: "provenance.json", sha256: await digestOf(provenance) }];
await writeFile(path.join(output, "SHA256SUMS"), checksums(all));
const lines = all.map(async ({ name, sha256 }) => {
  const { size } = await stat(path.join(output, name));
  return `${sha256}  ${(size / 1e6).toFixed(1).padStart(6)} MB  ${name}\n`;
});
process.stdout.write((await Promise.all(lines)).join(""));
