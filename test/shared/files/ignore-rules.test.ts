import { mkdirSync, symlinkSync } from "node:fs";
import { test } from "tap";
import { readManifestPaths } from "../../../shared/files/files.ts";

const OBJECT = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";

/** Returns the paths of the files that are read and of those that are skipped, without the path of the folder. */
async function read(folder: string, ignore: readonly string[] = []): Promise<Record<"read" | "skipped", string[]>> {
  const { manifests, skipped } = await readManifestPaths([folder], { ignore });
  const short = (path: string): string => path.slice(folder.length + 1);
  return {
    read: manifests.map(({ file }) => short(file)),
    skipped: skipped.map(({ path, reason }) => `${short(path)} ${reason}`),
  };
}

// `git ls-files --others --exclude-standard` lists the same files as these tests expect.
test("skips what the .gitignore files of the checkout ignore, with the precedence of Git", async (t) => {
  const folder = t.testdir({
    ".git": {}, ".gitignore": "rendered/\n*.gen.yaml\n!keep.gen.yaml\n/k8s/tmp/\n",
    k8s: {
      ".gitignore": "!team.gen.yaml\n/local.yaml\n", "a.yaml": OBJECT, "a.gen.yaml": OBJECT, "b.GEN.yaml": OBJECT,
      "keep.gen.yaml": OBJECT, "team.gen.yaml": OBJECT, "local.yaml": OBJECT,
      tmp: { ".gitignore": "!x.yaml", "x.yaml": OBJECT },
      app: {
        ".gitignore": "!rendered/", "local.yaml": OBJECT, "team.gen.yaml": OBJECT,
        rendered: { "a.yaml": OBJECT, "a.gen.yaml": OBJECT, rendered: { "a.yaml": OBJECT } },
      },
    },
  });
  t.same(await read(`${folder}/k8s`), {
    read: [
      "a.yaml", "app/local.yaml", "app/rendered/a.yaml", "app/rendered/rendered/a.yaml", "app/team.gen.yaml",
      "b.GEN.yaml", "keep.gen.yaml", "team.gen.yaml",
    ],
    skipped: ["a.gen.yaml", "app/rendered/a.gen.yaml", "local.yaml", "tmp"].map((path) => `${path} gitignored`),
  });
  t.match(await read(`${folder}/k8s/app`, ["!a.gen.yaml", "local.yaml"]), {
    read: ["rendered/a.gen.yaml", "rendered/a.yaml", "rendered/rendered/a.yaml", "team.gen.yaml"],
    skipped: ["local.yaml ignored"],
  }, "--ignore has precedence");
});

test("reads a named file or folder that Git ignores, and other checkouts by their own rules", async (t) => {
  const sub = { ".git": "gitdir: x", ".gitignore": "c.yaml", "b.yaml": OBJECT, "c.yaml": OBJECT };
  const folder = t.testdir({
    ".git": {}, ".gitignore": "out/\nb.yaml\n", out: { deep: { "b.yaml": OBJECT } }, "b.yaml": OBJECT, sub,
  });
  const skipped = ["b.yaml gitignored", "out gitignored", "sub/c.yaml gitignored"];
  t.same(await read(folder), { read: ["sub/b.yaml"], skipped });
  t.same(await read(`${folder}/out/deep`), { read: ["b.yaml"], skipped: [] });
  t.equal((await readManifestPaths([`${folder}/b.yaml`])).manifests.length, 1);
});

test("reads no .gitignore in a folder that is in no checkout, or that its checkout ignores", async (t) => {
  // The checkout of this repository ignores the folder of the test.
  const folder = t.testdir({ ".gitignore": "*.yaml", "a.yaml": OBJECT });
  t.same(await read(folder), { read: ["a.yaml"], skipped: [] });
});

test("reports ignore files that are not regular, or whose rules would take too long", async (t) => {
  const name = ".ack-role-resolver-ignore";
  const rules = (text: string): Record<string, string> => ({ [name]: text, "a.yaml": OBJECT });
  const folder = t.testdir({
    globstars: rules("a/**/a/**/a/**/a/**/a/**/b"), long: rules("a*".repeat(20_000)),
    many: rules("a\n".repeat(20_001)),
    parents: { [name]: "a\n".repeat(10_001), b: rules("a\n".repeat(10_000)) }, device: {},
    comment: rules(`# ${"**/".repeat(500)}`),
  });
  mkdirSync(`${folder}/deep${"/a".repeat(66)}`, { recursive: true });
  symlinkSync("/dev/zero", `${folder}/device/${name}`);
  const { faults } = await readManifestPaths([folder]);
  const tooMany = "the rules for this folder exceed the limit of 20000, where each `**/` makes a rule count tenfold; "
    + "use fewer or shorter rules";
  t.same(faults.map(({ file, message }) => `${file.slice(folder.length + 1)}: ${message}`), [
    `deep${"/a".repeat(64)}: nested deeper than 64 folders; move or ignore it`,
    `device/${name}: not a regular file; remove it`,
    ...["globstars", "long", "many", "parents/b"].map((one) => `${one}/${name}: ${tooMany}`),
  ]);
});
