import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "tap";
import { storeCertificates } from "../../certs/store.ts";

const first = { ca: "ca 1", cert: "cert 1", key: "key 1" };
const second = { ca: "ca 2", cert: "cert 2", key: "key 2" };

async function contents(dir: string): Promise<Record<string, string>> {
  const names = (await readdir(dir)).toSorted();
  const read = async (name: string): Promise<[string, string]> => [name, await readFile(join(dir, name), "utf8")];
  return Object.fromEntries(await Promise.all(names.map(read)));
}

test("writes only three files, and only the owner can read the key", async (t) => {
  const dir = join(t.testdir(), "new", "nested", "folder");
  const paths = [join(dir, "ca.crt"), join(dir, "tls.crt"), join(dir, "tls.key")];
  t.same(await storeCertificates(dir, first, { force: false }), paths);
  t.same(await contents(dir), { "ca.crt": "ca 1", "tls.crt": "cert 1", "tls.key": "key 1" });
  t.equal((await stat(join(dir, "tls.key"))).mode & 0o777, 0o600);
  t.equal((await stat(join(dir, "tls.crt"))).mode & 0o777, 0o644);
});

test("replaces existing files with force, and rejects existing files without force", async (t) => {
  const dir = t.testdir({ "tls.key": "old key", "ca.crt": "old ca", "other.txt": "stays" });
  await t.rejects(storeCertificates(dir, second, { force: false }), {
    code: "ERR_CONFIG_TLS_EXISTS",
    message:
      `${join(dir, "ca.crt")}, ${join(dir, "tls.key")}: already exists; ` +
      "set --dir to another folder, or replace the certificates with --force",
  });
  t.same(await contents(dir), { "ca.crt": "old ca", "other.txt": "stays", "tls.key": "old key" });
  await storeCertificates(dir, second, { force: true });
  t.same(await contents(dir), { "ca.crt": "ca 2", "other.txt": "stays", "tls.crt": "cert 2", "tls.key": "key 2" });
  t.equal((await stat(join(dir, "tls.key"))).mode & 0o777, 0o600, "the file mode is reset");
});

test("removes its temporary files if a write fails", async (t) => {
  const dir = t.testdir({ "tls.key": {} });
  await t.rejects(storeCertificates(dir, second, { force: true }), { code: "EISDIR" });
  t.notMatch((await readdir(dir)).join(), ".tmp");
});
