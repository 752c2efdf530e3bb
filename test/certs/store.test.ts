import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "tap";
import { storeCertificates } from "../../certs/certificate-files.ts";

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
  t.same(await storeCertificates(dir, first), paths);
  t.same(await contents(dir), { "ca.crt": "ca 1", "tls.crt": "cert 1", "tls.key": "key 1" });
  t.equal((await stat(join(dir, "tls.key"))).mode & 0o777, 0o600);
  t.equal((await stat(join(dir, "tls.crt"))).mode & 0o777, 0o644);
});

test("rejects existing files, and writes none", async (t) => {
  const dir = t.testdir({ "tls.key": "old key", "ca.crt": {}, "other.txt": "stays" });
  await t.rejects(storeCertificates(dir, second), {
    code: "ERR_CONFIG_TLS_EXISTS",
    message:
      `${join(dir, "ca.crt")}, ${join(dir, "tls.key")}: already exists; ` +
      "set --dir to another folder, or delete the files first",
  });
  t.same((await readdir(dir)).toSorted(), ["ca.crt", "other.txt", "tls.key"]);
  t.equal(await readFile(join(dir, "tls.key"), "utf8"), "old key");
});
