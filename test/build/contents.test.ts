import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { type Test, test } from "tap";
import lock from "../../package-lock.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };
import { field, stringAt } from "../../shared/formats/json.ts";
import { copyOfCheckout, ROOT } from "../real/ci/packed.ts";
import { schemaValidator } from "./sbom-schema.ts";

test("two builds have the same bytes, also in another folder", async (t) => {
  const folder = t.testdir({});
  const first = await build(t, ROOT, path.join(folder, "first"));
  const second = await build(t, await copyOfCheckout(folder), path.join(folder, "second"));
  t.same(Object.keys(first), Object.keys(second));
  t.same(Object.keys(first).filter((name) => first[name]?.equals(second[name] ?? Buffer.alloc(0)) !== true), []);
  const program = Object.keys(first).find((name) => name.startsWith("run-process-")) ?? "";
  t.equal(chunksOf(first, program).size, 2, "a command loads the program as one chunk, beside helpers of esbuild");
  const sbom: unknown = JSON.parse(String(first["sbom.cdx.json"]));
  isBillOfMaterials(t, sbom, String(first["THIRD-PARTY-LICENSES.txt"]));
  await t.test("the SBOM meets the JSON schema of CycloneDX 1.6", async (tt) => meetsSchema(tt, sbom));
});

/** Returns the chunks that a file of a build imports, directly or indirectly, but not with import(). */
function chunksOf(files: Readonly<Record<string, Buffer>>, name: string): ReadonlySet<string> {
  const found = new Set([name]);
  for (const file of found) {
    for (const [, chunk = ""] of String(files[file] ?? "").matchAll(/(?:from|import)"\.\/([^"]+)"/g)) found.add(chunk);
  }
  found.delete(name);
  return found;
}

async function meetsSchema(t: Test, sbom: unknown): Promise<void> {
  const faultsOf = await schemaValidator();
  t.same(faultsOf(sbom), []);
  const [first, ...others] = list(field(sbom, "components"));
  for (const [wrong, instancePath] of [
    [{ "type": "libary" }, "/components/0/type"],
    [{ hashes: [{ alg: "SHA-512", content: "0" }] }, "/components/0/hashes/0/content"],
    [{ licenses: [{ license: { id: "Apache-3.0" } }] }, "/components/0/licenses/0/license/id"],
    [{ versions: "1" }, "/components/0"],
  ] as const) {
    const faults = faultsOf({ ...Object(sbom), components: [{ ...Object(first), ...wrong }, ...others] });
    t.ok(faults.some((fault) => fault.instancePath === instancePath), `the schema restricts ${instancePath}`);
  }
}

/** Builds the checkout in `cwd` into `outdir`. Returns the contents of the files by name, sorted. */
async function build(t: Test, cwd: string, outdir: string): Promise<Readonly<Record<string, Buffer>>> {
  const child = spawn(process.execPath, ["build.ts", outdir], { cwd, stdio: "inherit" });
  t.same(await once(child, "close"), [0, null]);
  const names = (await readdir(outdir)).toSorted();
  const contents = names.map(async (name) => [name, await readFile(path.join(outdir, name))] as const);
  return Object.fromEntries(await Promise.all(contents));
}

/** Checks the content of the SBOM, and that it is reproducible. */
function isBillOfMaterials(t: Test, sbom: unknown, licenses: string): void {
  const root = `pkg:npm/ack-role-resolver@${manifest.version}`;
  t.match(sbom, {
    bomFormat: "CycloneDX", specVersion: "1.6", version: 1,
    metadata: { component: { "type": "application", "bom-ref": root, "name": "ack-role-resolver" } },
  });
  for (const name of ["serialNumber", "timestamp"]) t.notMatch(JSON.stringify(sbom), `"${name}"`);
  const components = list(field(sbom, "components"));
  const names = components.map((one) => [stringAt(one, "group"), stringAt(one, "name")].filter(Boolean).join("/"));
  for (const name of ["fastify", "ignore", "node-forge", "@aws-sdk/client-sts"]) t.ok(names.includes(name), name);
  for (const name of ["typescript", "tap", "esbuild", "node"]) t.notOk(names.includes(name), name);
  for (const [i, one] of components.entries()) {
    const name = names[i] ?? "";
    const version = stringAt(one, "version");
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    t.match(one, { "type": "library", "bom-ref": purl, purl, "licenses": [{}] }, name);
    t.match(licenses, `\n${name} ${version} (`, `THIRD-PARTY-LICENSES.txt contains ${name}`);
    const integrity = Object.values(lock.packages).map((locked) => stringAt(locked, "integrity"));
    const content = stringAt(list(field(one, "hashes"))[0], "content") ?? "";
    t.ok(integrity.includes(`sha512-${Buffer.from(content, "hex").toString("base64")}`), "a hash in package-lock.json");
  }
  t.same(reachable(list(field(sbom, "dependencies")), root), [root, ...components.map((one) => (
    stringAt(one, "purl") ?? ""
  ))].toSorted(), "the program depends on each package, directly or indirectly");
}

function reachable(edges: readonly unknown[], root: string): string[] {
  const targets = new Map(edges.map((edge) => [stringAt(edge, "ref"), list(field(edge, "dependsOn")).map(String)]));
  const found = new Set([root]);
  for (const ref of found) for (const target of targets.get(ref) ?? []) found.add(target);
  return [...found].toSorted();
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
