import { test } from "tap";
import { findRoots } from "../../../shared/files/find-roots.ts";
import { type Manifest, readManifests } from "../../../shared/files/manifest-reader.ts";
import {
  foldersOfRoot, matchingRoots, relativeRoot, Roots, siblingRoots,
} from "../../../shared/files/roots.ts";

test("sibling folders that hold the same object are roots", async (t) => {
  t.same(siblingRoots([["clusters/dev/a.yaml", "clusters/prod/b/a.yaml"]]), ["clusters/dev", "clusters/prod"]);
  t.same(siblingRoots([["./x/dev/a.yaml", "x//prod/a.yaml"]]), ["x/dev", "x/prod"]);
  t.same(siblingRoots([["/x/dev/a.yaml", "/x/prod/a.yaml"]]), ["/x/dev", "/x/prod"]);
  t.same(siblingRoots([["x/a.yaml", "x/b.yaml"], ["-", "-"], ["x/a.yaml", "x/dev/a.yaml"]]), [], "not in one folder");
  t.same(
    siblingRoots([["eu/dev/a.yaml", "eu/prod/a.yaml", "us/dev/a.yaml"]]), ["eu", "eu/dev", "eu/prod", "us"],
    "folders in roots are roots too",
  );
});

test("globs match the path of a folder, or its path in a given folder", async (t) => {
  const files = ["fleet/clusters/dev/a.yaml", "fleet/clusters/prod/x/b.yaml", "fleet/base/c.yaml", "-"];
  const both = ["fleet/clusters/dev", "fleet/clusters/prod"];
  for (const glob of ["clusters/*", "fleet/clusters/*", "./clusters/*/", "**/clusters/*"]) {
    t.same(matchingRoots(files, ["fleet"], glob), both, glob);
  }
  t.same(matchingRoots(files, ["fleet/"], "clusters/d?v"), ["fleet/clusters/dev"]);
  t.same(matchingRoots(files, ["fleet"], "clusters/de.*"), [], "other characters stand for themselves");
  t.same(matchingRoots(files, ["fleet"], "clusters"), ["fleet/clusters"]);
  t.same(matchingRoots(files, ["fleet"], "fleet/**"), [
    "fleet/base", "fleet/clusters", "fleet/clusters/dev", "fleet/clusters/prod", "fleet/clusters/prod/x",
  ]);
  t.same(matchingRoots(["dev/a.yaml", "b.yaml"], ["."], "*"), ["dev"]);
});

test("a root has the items of its folders and of files in no other root", async (t) => {
  const roots = new Roots(["eu", "eu/dev", "eu/prod", "us"]);
  t.same(roots.names, ["eu/dev", "eu/prod", "us"]);
  const files = ["a", "eu/b", "eu/dev/c", "eu/prod/d", "us/x/e", null];
  const itemsOf = (name: string): unknown[] =>
    roots.itemsOf([name], files.map((file) => ({ file }))).map(({ file }) => file);
  t.same(itemsOf("eu/dev"), ["a", "eu/b", "eu/dev/c", null]);
  t.same(itemsOf("us"), ["a", "us/x/e", null]);
  const all = new Set(roots.names.flatMap(itemsOf));
  t.ok(files.every((file) => all.has(file)), "no item is lost");
});

test("relative roots are the same in two checkouts", async (t) => {
  t.equal(relativeRoot("main/clusters/dev", ["main"]), "clusters/dev");
  t.equal(relativeRoot("pr/clusters/dev", ["./pr/"]), "clusters/dev");
  t.equal(relativeRoot("clusters/dev", ["clusters/dev", "clusters/prod"]), "clusters/dev");
  t.same(foldersOfRoot("clusters/dev", ["main"]), ["clusters/dev", "main/clusters/dev"]);
});

test("more than 200 roots are a fault, also if no object is a duplicate", async (t) => {
  const text = (i: number, name: string): string => JSON.stringify({
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name }, spec: { arn: String(i) },
  });
  const manifests = (count: number, nameOf: (i: number) => string = () => "a"): readonly Manifest[] =>
    Array.from({ length: count }, (_, i) => readManifests(text(i, nameOf(i)), `clusters/${i}/a.json`).manifests).flat();
  t.equal(findRoots(manifests(200), ["clusters"], []).roots?.names.length, 200);
  t.match(findRoots(manifests(201), ["clusters"], []), {
    roots: null, faults: [{ file: "clusters", message: /^contains 201 roots, more than 200;/ }, {
      message: /clusters\/9\/a.json:1 and 191 more places; keep/,
    }],
  });
  t.match(findRoots(manifests(201, String), ["clusters"], ["*"]), {
    roots: null, faults: [{ message: /^contains 201 roots/ }],
  });
});
