import { once } from "node:events";
import { mkdtemp, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "tap";
import { LIMITS } from "../../../shared/core/limits.ts";
import { inputError, readFiles, readManifestPaths } from "../../../shared/files/files.ts";
import { GivenFolders } from "../../../shared/files/given-folders.ts";
import { listManifestFiles } from "../../../shared/files/listing.ts";
import { formatInputFault, readManifests } from "../../../shared/files/manifest-reader.ts";

const named = (name: string, kind = "ConfigMap", namespace?: string): string => {
  const apiVersion = kind === "IAMRoleSelector" ? "services.k8s.aws/v1alpha1" : "v1";
  return JSON.stringify({ apiVersion, kind, metadata: { name, namespace } });
};

/**
 * Returns the file of each object, and the faults. Removes the path of the test's folder from the files and the faults.
 */
async function read(folder: string, ...paths: readonly string[]): Promise<{ files: string[]; faults: string[] }> {
  const { manifests, faults } = await readManifestPaths(paths.map((path) => folder + path));
  const cut = (text: string): string => text.replaceAll(folder, "");
  return { files: manifests.map(({ file }) => cut(file)), faults: faults.map((fault) => cut(formatInputFault(fault))) };
}

test("reads manifests from a folder recursively, in path order, and ignores hidden and other files", async (t) => {
  const folder = t.testdir({
    "b.yml": named("b"),
    "a.yaml": named("a"),
    "B.json": named("big"),
    a: { "z.yaml": named("z") },
    "a-b": { "y.yaml": named("y") },
    ".hidden.yaml": "[",
    ".git": { "x.yaml": "[" },
    "README.md": "[",
    yaml: "[",
    empty: {},
  });
  const files = ["/B.json", "/a-b/y.yaml", "/a.yaml", "/a/z.yaml", "/b.yml"];
  t.same(await read(folder, ""), { files, faults: [] });
  t.same(await read(folder, "/"), { files, faults: [] });
});

test("reads paths in the given order, and reads a file that is named explicitly even if it is hidden", async (t) => {
  const folder = t.testdir({ "b.yaml": named("b"), a: named("a"), ".c": named("c") });
  t.same(await read(folder, "/b.yaml", "/.c", "/a"), { files: ["/b.yaml", "/.c", "/a"], faults: [] });
});

test("accepts an empty folder, and reports a missing path", async (t) => {
  const folder = t.testdir({ empty: {} });
  t.same(await read(folder, "/empty"), { files: [], faults: [] });
  t.same(await read(folder, "/missing", "/empty/a.yaml"), {
    files: [],
    faults: ["/missing: no such file or folder", "/empty/a.yaml: no such file or folder"],
  });
});

test("reads standard input for the path -", async (t) => {
  const { manifests, faults } = await readManifestPaths(["-"], {
    stdin: () => Promise.resolve(`a: 1\n---\n${named("a")}`),
  });
  t.same(manifests.map(({ file, document }) => [file, document]), [["-", 2]]);
  t.same(faults.map(formatInputFault), ["-:1: not a Kubernetes object: apiVersion and kind must be set to a string"]);
});

test("follows links in a folder, but not to a parent folder, and reports links that lead to nothing", async (t) => {
  const folder = t.testdir({ links: { ".real": { "a.yaml": named("a") }, deep: {} } });
  const fix = "remove the link, or exclude it with --ignore or in .ack-role-resolver-ignore";
  await symlink(".real", `${folder}/links/to-folder`);
  await symlink("..", `${folder}/links/deep/up.yaml`);
  await symlink("self.yaml", `${folder}/links/self.yaml`);
  await symlink("nowhere", `${folder}/links/gone.yaml`);
  t.same(await read(folder, "/links"), {
    files: ["/links/to-folder/a.yaml"],
    faults: [
      "/links/gone.yaml: no such file or folder",
      `/links/self.yaml: symbolic link loop; ${fix}`,
    ],
  });
});

test("reads each file of a mounted ConfigMap only once", async (t) => {
  const folder = t.testdir({ "..2026": { "a.yaml": named("a") } });
  await symlink("..2026", `${folder}/..data`);
  await symlink("..data/a.yaml", `${folder}/a.yaml`);
  t.same(await read(folder, ""), { files: ["/a.yaml"], faults: [] });
});

test("reports a file that is not UTF-8", async (t) => {
  const folder = t.testdir({ "a.yaml": Buffer.from([0x61, 0x3a, 0x20, 0xff]), "b.yaml": `\uFEFF${named("b")}` });
  t.same(await read(folder, ""), { files: ["/b.yaml"], faults: ["/a.yaml: not valid UTF-8; save the file as UTF-8"] });
});

test("reports a file that is removed before it is read, and a path whose parent is a file", async (t) => {
  const folder = t.testdir({ "a.yaml": named("a") });
  const file = { path: `${folder}/gone.yaml`, fingerprint: "", place: "folder" as const };
  const listing = { files: [file], given: new GivenFolders([folder]) };
  const [reading] = await readFiles(listing, { stdin: () => Promise.resolve(""), read: readManifests });
  const faults = [{ file: `${folder}/gone.yaml`, line: null, message: "no such file or folder" }];
  const empty = { manifests: [], unjudged: [], skipped: null };
  t.same(reading, { path: `${folder}/gone.yaml`, faults, unreadable: true, ...empty });
  t.match((await read(folder, "/a.yaml/b")).faults, [/^\/a\.yaml\/b: ENOTDIR/]);
});

test("changes the fingerprint of a file when its content changes", async (t) => {
  const folder = t.testdir({ "a.yaml": "" });
  const before = await listManifestFiles([folder]);
  t.same(await listManifestFiles([folder]), before);
  t.testdir({ "a.yaml": named("a") });
  t.not((await listManifestFiles([folder])).files[0]?.fingerprint, before.files[0]?.fingerprint);
});

test("returns one error that lists every fault", async (t) => {
  const error = inputError([{ file: "a", line: 1, message: "x" }, { file: "b", line: null, message: "y" }]);
  t.match(error, { code: "ERR_INPUT_UNREADABLE", message: "a:1: x\nb: y" });
});

test("reports a file over the size limit, and a socket in a folder", async (t) => {
  const { value: limit } = LIMITS.manifestBytes;
  const folder = t.testdir({ "a.yaml": named("a") });
  await writeFile(`${folder}/large.yaml`, "");
  await truncate(`${folder}/large.yaml`, limit + 1);
  // The path of a socket has at most 107 bytes.
  const socketFolder = await mkdtemp(join(tmpdir(), "ack-role-resolver-"));
  const server = createServer().listen(join(socketFolder, "socket"));
  t.teardown(async () => {
    server.close();
    await rm(socketFolder, { recursive: true });
  });
  await once(server, "listening");
  await symlink(join(socketFolder, "socket"), `${folder}/socket.yaml`);
  t.same(await read(folder, ""), {
    files: ["/a.yaml"],
    faults: [
      "/socket.yaml: not a regular file; remove it",
      `/large.yaml: larger than ${limit} bytes; use several files`,
    ],
  });
});
