// Links in given folders: who writes a checkout must not choose which other files of the machine are read.
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { type Test, test } from "tap";
import { readFiles, readManifestPaths } from "../../../shared/files/files.ts";
import { LEADS_OUT } from "../../../shared/files/given-folders.ts";
import { formatInputFault, readManifests } from "../../../shared/files/manifest-reader.ts";
import { objectReference } from "../../../shared/formats/object-meta.ts";
import { listManifestFiles } from "../../../shared/files/listing.ts";
import { fakeSource, names, reload, selector } from "../sources/fake-source.ts";

const IGNORE = ".ack-role-resolver-ignore";

function object(name: string): string {
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
}

/** Returns a folder that is given, beside one that is not. */
function folders(t: Test): { readonly all: string; readonly given: string } {
  const all = t.testdir({
    given: { "a.yaml": object("a"), deep: {} },
    outside: { "secret.yaml": object("outside"), "broken.yaml": "outside: [", ignore: "a.yaml\n" },
  });
  return { all, given: `${all}/given` };
}

/** Returns the names of the objects, and the faults without the name of the folder. */
async function read(all: string, ...paths: readonly string[]): Promise<{ found: string[]; faults: string[] }> {
  const { manifests, faults } = await readManifestPaths(paths.map((path) => `${all}/${path}`));
  const found = manifests.map((one) => objectReference(one.object).name);
  return { found, faults: faults.map((fault) => formatInputFault(fault).replaceAll(`${all}/`, "")) };
}

test("reads nothing to which links lead out of a folder, and reports each link", async (t) => {
  const { all, given } = folders(t);
  await symlink("../outside", `${given}/folder`);
  await symlink("../../outside/secret.yaml", `${given}/deep/file.yaml`);
  await symlink("/", `${given}/root`);
  await symlink("folder/..", `${given}/through`);
  await symlink("../../outside/ignore", `${given}/deep/${IGNORE}`);
  // Its name says that it is no manifest.
  await symlink("../outside/ignore", `${given}/ignore.txt`);
  const links = ["deep/.ack-role-resolver-ignore", "folder", "root", "through", "deep/file.yaml"];
  t.same(await read(all, "given"), { found: ["a"], faults: links.map((link) => `given/${link}: ${LEADS_OUT}`) });
});

test("follows links between given folders, and a given path that is a link", async (t) => {
  const { all, given } = folders(t);
  await rm(`${all}/outside/broken.yaml`);
  await symlink("../../outside/secret.yaml", `${given}/deep/file.yaml`);
  await symlink("given", `${all}/link`);
  await symlink("given/a.yaml", `${all}/a.yaml`);
  t.same((await read(all, "link")).faults, [`link/deep/file.yaml: ${LEADS_OUT}`]);
  t.same(await read(all, "link", "outside/secret.yaml", "a.yaml"), {
    found: ["a", "outside", "outside", "a"], faults: [],
  });
  t.same((await read(all, "given", "outside")).found, ["a", "outside", "outside"]);
});

test("does not take a folder whose name starts with that of a given folder for a part of it", async (t) => {
  const all = t.testdir({ given: {}, "given-2": { "a.yaml": object("a") } });
  await symlink("../given-2", `${all}/given/link`);
  t.same(await read(all, "given"), { found: [], faults: [`given/link: ${LEADS_OUT}`] });
});

test("reads no .gitignore to which a link leads out of the checkout", async (t) => {
  const all = t.testdir({ checkout: { ".git": "gitdir: x", given: { "a.yaml": object("a") } }, ignore: "a.yaml\n" });
  await symlink("../ignore", `${all}/checkout/.gitignore`);
  t.same((await read(all, "checkout/given")).found, ["a"]);
  await rm(`${all}/checkout/.gitignore`);
  await symlink("rules", `${all}/checkout/.gitignore`);
  await writeFile(`${all}/checkout/rules`, "a.yaml\n");
  t.same((await read(all, "checkout/given")).found, [], "the link leads to a file in the checkout");
});

test("ends if links lead to each other on exponentially many paths", async (t) => {
  const all = t.testdir({});
  const all12 = Array.from({ length: 12 }, (_, i) => `d${i}`);
  await Promise.all(all12.map((name) => mkdir(`${all}/${name}`)));
  await Promise.all(all12.flatMap((name) => all12.map((other) => symlink(`../${other}`, `${all}/${name}/${other}`))));
  const { faults } = await readManifestPaths([all]);
  t.same(faults, [{
    file: all, line: null,
    message: "more than 500000 files and folders, where each one below a link counts tenfold; pass fewer folders, or "
      + `exclude some with --ignore or in ${IGNORE}`,
  }]);
});

test("checks the file that it opened, not the one that was listed", async (t) => {
  const { all, given } = folders(t);
  const listing = await listManifestFiles([given], { fingerprints: false });
  await rm(`${given}/a.yaml`);
  await symlink("../outside/secret.yaml", `${given}/a.yaml`);
  const parser = { stdin: () => Promise.resolve(""), read: readManifests };
  t.match(await readFiles(listing, parser), [{ manifests: [], faults: [{ message: LEADS_OUT }] }]);
  await rename(given, `${all}/moved`);
  await symlink("outside", given);
  await writeFile(`${all}/outside/a.yaml`, object("outside"));
  t.match(await readFiles(listing, parser), [{ faults: [] }], "the user named the link");
});

test("reads a given link that gets a new target after the files were listed", async (t) => {
  const all = t.testdir({ v1: { "a.yaml": object("a") }, v2: { "a.yaml": object("a2") } });
  await symlink("v1", `${all}/current`);
  const listing = await listManifestFiles([`${all}/current`]);
  const parser = { stdin: () => Promise.resolve(""), read: readManifests };
  t.match(await readFiles(listing, parser), [{ faults: [] }]);
  await symlink("v2", `${all}/next`);
  await rename(`${all}/next`, `${all}/current`);
  t.match(await readFiles(listing, parser), [{ faults: [], manifests: [{ object: { metadata: { name: "a2" } } }] }]);
});

test("a server does not start with a link that leads out, and uses no object of one that appears later", async (t) => {
  const all = t.testdir({ given: { "a.yaml": selector("a") }, outside: { "b.yaml": selector("b") } });
  await symlink("../outside", `${all}/given/link`);
  await t.rejects(fakeSource([`${all}/given`]).source.start(), { code: "ERR_INPUT_UNREADABLE", message: LEADS_OUT });
  await rm(`${all}/given/link`);
  const fake = fakeSource([`${all}/given`]);
  await fake.source.start();
  await symlink("../outside/b.yaml", `${all}/given/b.yaml`);
  await reload(fake);
  t.same(names(fake.source), ["a"]);
  t.equal(fake.source.status.fault, `${all}/given/b.yaml: ${LEADS_OUT}`);
  await rm(`${all}/given/b.yaml`);
  await reload(fake);
  t.equal(fake.source.status.fault, null);
  await fake.source.stop();
});
