import { test } from "tap";
import { containedObjects } from "../../../shared/files/contained.ts";
import { readManifests } from "../../../shared/files/manifest-reader.ts";
import { formatFieldPath, isJsonObject, type JsonObject, valueAt } from "../../../shared/formats/json.ts";
import { randomFrom } from "../../../bench/random.ts";

const BUCKET = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "a" } };
const objectOf = (manifest: JsonObject): JsonObject => (
  { apiVersion: "kubernetes.crossplane.io/v1alpha2", kind: "Object", spec: { forProvider: { manifest } } }
);
const pathsIn = (object: JsonObject): readonly string[] =>
  containedObjects(object).map(({ path }) => formatFieldPath(path));

test("finds the objects of each container", async (t) => {
  const graph = (kind: string): JsonObject => ({
    apiVersion: "kro.run/v1alpha1", kind, spec: { resources: [{ externalRef: BUCKET }, { template: BUCKET }] },
  });
  t.strictSame(pathsIn(graph("ResourceGraphDefinition")), ["spec.resources[1].template"]);
  t.strictSame(pathsIn(graph("ResourceGroup")), ["spec.resources[1].template"]);
  t.strictSame(pathsIn({ ...graph("ResourceGraphDefinition"), apiVersion: "other.example/v1" }), []);
  const composition = {
    apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition",
    spec: { resources: [{ base: objectOf(BUCKET) }], pipeline: [{}, { input: { resources: [{ base: BUCKET }] } }] },
  };
  t.strictSame(pathsIn(composition), [
    "spec.resources[0].base", "spec.resources[0].base.spec.forProvider.manifest",
    "spec.pipeline[1].input.resources[0].base",
  ]);
  t.ok(containedObjects(composition).every(({ isRepeated }) => isRepeated), "also the object in the Object");
  const reference = { apiVersion: "v1", kind: "Secret", name: "a" };
  const helm = { valuesObject: { extra: [[BUCKET], "text"], reference } };
  const spec = { source: { helm }, sources: [{ helm }] };
  const paths = ["spec.source.helm.valuesObject.extra[0][0]", "spec.sources[0].helm.valuesObject.extra[0][0]"];
  t.strictSame(pathsIn({ apiVersion: "argoproj.io/v1alpha1", kind: "Application", spec }), paths);
  t.strictSame(
    pathsIn({ apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", spec: { template: { spec } } }),
    paths.map((path) => path.replace("spec.", "spec.template.spec.")),
  );
});

test("skips values that are not objects, and objects in too many containers", async (t) => {
  t.strictSame(pathsIn(objectOf({ kind: "Bucket" })), []);
  const spec = { resources: 1 };
  t.strictSame(pathsIn({ apiVersion: "kro.run/v1alpha1", kind: "ResourceGraphDefinition", spec }), []);
  let nested: JsonObject = BUCKET;
  for (let i = 0; i < 10; i++) nested = objectOf(nested);
  t.equal(containedObjects(nested).length, 3);
});

test("the fields that patches set are open, up to a wildcard", async (t) => {
  const patches = [
    { toFieldPath: "spec.arn" }, { fromFieldPath: "spec.name" }, { toFieldPath: "spec.names[*].a" }, 1, { type: "x" },
  ];
  const resource = { base: BUCKET, patches };
  const spec = { patchSets: [{ patches: [{ toFieldPath: "metadata.labels" }] }], resources: [resource] };
  const [found] = containedObjects({ apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", spec });
  const open = [
    ["metadata", "name"], ["spec", "arn"], ["spec", "name"], ["spec", "names", 0], ["spec", "names"], ["spec"],
    ["metadata", "labels", "a"],
  ];
  t.ok(open.every((path) => found?.isOpen(path) === true));
  const fixed = [[], ["spec", "nam"], ["spec", "arns"], ["spec", "region"], ["metadata", "label"], ["data"]];
  t.notOk(fixed.some((path) => found?.isOpen(path) !== false));
  const references = [{ patchesFrom: { fieldPath: "data.role" } }];
  const [manifest] = containedObjects({
    apiVersion: "kubernetes.m.crossplane.io/v1alpha1", kind: "Object",
    spec: { references, forProvider: { manifest: BUCKET } },
  });
  t.same([["data", "role"], ["data"], ["spec"]].map((path) => manifest?.isOpen(path)), [true, true, false]);
});

test("each contained object is the value at its path, whatever the container contains", async (t) => {
  const random = randomFrom(1);
  const pick = (items: readonly unknown[]): unknown => items[Math.floor(random() * items.length)];
  const value = (depth: number): unknown => {
    if (depth === 0) return pick([null, 1, "a", "${x}", true]);
    const next = (): unknown => value(depth - 1);
    return pick([
      [next(), next()], objectOf({ apiVersion: "v1", kind: "A", metadata: next() }), next(),
      { template: next(), base: next(), resources: [{ template: BUCKET, base: next() }], patches: next() },
    ]);
  };
  for (let i = 0; i < 500; i++) {
    for (const apiVersion of ["kro.run/v1", "apiextensions.crossplane.io/v1", "argoproj.io/v1"]) {
      for (const kind of ["ResourceGraphDefinition", "Composition", "Application"]) {
        const other = value(4);
        const resources = [{ template: BUCKET, base: BUCKET }, value(3)];
        const spec = { ...(isJsonObject(other) ? other : {}), resources };
        const object = { apiVersion, kind, spec };
        const found = containedObjects(object);
        t.ok(found.every((one) => valueAt(object, one.path) === one.object && isJsonObject(one.object)));
        const isTable = `${apiVersion} ${kind}`.match(/kro.*Graph|cross.*Comp/) !== null;
        t.equal(found.some((one) => one.object === BUCKET), isTable);
      }
    }
  }
});

test("the line of a field in a template is its line in the file", async (t) => {
  const text = JSON.stringify(objectOf(BUCKET), null, 1);
  const [manifest] = readManifests(text, "a.json").manifests;
  const [found] = containedObjects(manifest?.object ?? {});
  const line = manifest?.lineOf([...found?.path ?? [], "metadata", "name"]) ?? 0;
  t.match(text.split("\n")[line - 1], '"name": "a"');
});
