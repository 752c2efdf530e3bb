import type { Metafile } from "esbuild";
import { test } from "tap";
import { type BundledPackage, bundledPackages, type PackageLock } from "../../build/bundled-packages.ts";
import { softwareBillOfMaterials, thirdPartyLicenses } from "../../build/sbom.ts";

const INTEGRITY = `sha512-${Buffer.from("hash").toString("base64")}`;
const HASH = Buffer.from("hash").toString("hex");

function metafileOf(inputs: Readonly<Record<string, number>>): Metafile {
  const entries = Object.entries(inputs).map(([file, bytesInOutput]) => [file, { bytesInOutput }] as const);
  const output = { bytes: 1, imports: [], exports: [], inputs: Object.fromEntries(entries) };
  return { inputs: {}, outputs: { "out.js": output } };
}

function lockOf(packages: PackageLock["packages"]): PackageLock {
  const complete = Object.entries(packages).map(([folder, one]) => (
    [folder, { version: "1.0.0", license: "MIT", integrity: INTEGRITY, ...one }] as const
  ));
  return { packages: Object.fromEntries(complete) };
}

test("finds the packages whose code is in the build, with their licenses and dependencies", (t) => {
  const root = t.testdir({
    node_modules: {
      "a": { "LICENSE": "license of a\r\n", "NOTICE.md": "notice of a", "index.js": "" },
      "@s": { b: { "index.js": "", "node_modules": { c: { "license.txt": "license of c" } } } },
      "c": { LICENSE: "license of the other c" },
    },
  });
  const lock = lockOf({
    "": { devDependencies: { "a": "1", "@s/b": "1", "unused": "1" } },
    "node_modules/a": { dependencies: { c: "1", missing: "1" } },
    "node_modules/@s/b": { peerDependencies: { a: "1" }, dependencies: { c: "2" } },
    "node_modules/@s/b/node_modules/c": { version: "2.0.0" },
    "node_modules/c": {}, "node_modules/unused": {},
  });
  const { packages, direct } = bundledPackages(metafileOf({
    "cli/main.ts": 10, "node_modules/a/lib/a.js": 10, "../copy/node_modules/@s/b/b.js": 10, "node_modules/c/c.js": 10,
    "node_modules/@s/b/node_modules/c/c.js": 10, "node_modules/unused/u.js": 0, "stub:undici": 10,
  }), lock, root);
  const one = (name: string, other: Partial<BundledPackage>): BundledPackage => (
    { name, version: "1.0.0", license: "MIT", sha512: HASH, texts: [], dependencies: [], ...other }
  );
  t.same(packages, [
    one("@s/b", { dependencies: [1, 2] }),
    one("c", { version: "2.0.0", texts: ["license of c"] }),
    one("a", { texts: ["license of a", "notice of a"], dependencies: [3] }),
    one("c", { texts: ["license of the other c"] }),
  ]);
  t.same(direct, [0, 2]);
  const purls = ["pkg:npm/%40s/b@1.0.0", "pkg:npm/c@2.0.0", "pkg:npm/a@1.0.0", "pkg:npm/c@1.0.0"];
  const program = { name: "program", version: "1.0.0", description: "", license: "(MIT OR BSD-3-Clause)" };
  t.match(softwareBillOfMaterials(program, { packages, direct }), {
    metadata: { component: { purl: "pkg:npm/program@1.0.0", licenses: [{ expression: program.license }] } },
    components: purls.map((purl) => ({ purl, licenses: [{ license: { id: "MIT" } }] })),
    dependencies: [
      { ref: "pkg:npm/program@1.0.0", dependsOn: [purls[0], purls[2]] }, { dependsOn: [purls[1], purls[2]] },
      { dependsOn: [] }, { dependsOn: [purls[3]] }, { dependsOn: [] },
    ],
  });
  t.end();
});

test("rejects a package that package-lock.json does not describe", (t) => {
  const metafile = metafileOf({ "node_modules/a/a.js": 1 });
  t.throws(() => bundledPackages(metafile, lockOf({ "": {} }), "."), {
    message: "package-lock.json has no node_modules/a; run `npm ci`",
  });
  for (const integrity of ["", "sha1-abc"]) {
    t.throws(() => bundledPackages(metafile, lockOf({ "": {}, "node_modules/a": { integrity } }), "."), {
      message: "package-lock.json: node_modules/a has no version, no license or no SHA-512",
    });
  }
  t.end();
});

test("packages with the same license share its text, and packages without a file get the standard text", (t) => {
  const one = (name: string, license: string, texts: readonly string[]): BundledPackage => (
    { name, version: "1.0.0", license, texts, sha512: HASH, dependencies: [] }
  );
  const text = thirdPartyLicenses([
    one("a", "MIT", ["same"]), one("b", "ISC", ["other"]), one("c", "MIT", ["same"]), one("d", "Apache-2.0", []),
    one("e", "MIT", []),
  ], "Apache text\n");
  t.match(text, "\na 1.0.0 (MIT)\nc 1.0.0 (MIT)\n\nsame\n");
  t.match(text, "\nb 1.0.0 (ISC)\n\nother\n");
  t.match(text, "\nd 1.0.0 (Apache-2.0)\n\nApache text\n");
  t.match(text, "\ne 1.0.0 (MIT)\n\nCopyright (c) the authors of e\n\nPermission is hereby granted");
  t.throws(() => thirdPartyLicenses([one("f", "EPL-2.0", [])], ""), {
    message: "f: the package contains no license file, and no standard text of EPL-2.0 is known; add the text to "
      + "build/third-party-licenses.ts",
  });
  t.end();
});
