import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { type Test, test } from "tap";
import lock from "../../package-lock.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };
import { field, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { copyOfCheckout, ROOT } from "../real/ci/packed.ts";

test("two builds have the same bytes, also in another folder", async (t) => {
  const folder = t.testdir({});
  const first = await build(t, ROOT, path.join(folder, "first"));
  const second = await build(t, await copyOfCheckout(folder), path.join(folder, "second"));
  t.same(Object.keys(first), Object.keys(second));
  t.same(Object.keys(first).filter((name) => first[name]?.equals(second[name] ?? Buffer.alloc(0)) !== true), []);
  isBillOfMaterials(t, JSON.parse(String(first["sbom.cdx.json"])), String(first["THIRD-PARTY-LICENSES.txt"]));
});

/** Builds the checkout in `cwd` into `outdir`. Returns the contents of the files by name, sorted. */
async function build(t: Test, cwd: string, outdir: string): Promise<Readonly<Record<string, Buffer>>> {
  const child = spawn(process.execPath, ["build.ts", outdir], { cwd, stdio: "inherit" });
  t.same(await once(child, "close"), [0, null]);
  const names = (await readdir(outdir)).toSorted();
  const contents = names.map(async (name) => [name, await readFile(path.join(outdir, name))] as const);
  return Object.fromEntries(await Promise.all(contents));
}

/** Checks the shape that the schema of CycloneDX 1.6 requires, and the licenses of all packages in the SBOM. */
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
