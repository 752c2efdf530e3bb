import { test } from "tap";
import { readManifestPaths } from "../../../shared/files/files.ts";
import { formatInputFault } from "../../../shared/files/manifest-reader.ts";

const FIX = "keep one of them; to choose between folders, exclude the others with --ignore GLOB or in "
  + ".ack-role-resolver-ignore";

const bucket = (metadata: object, version = "v1alpha1"): string => (
  JSON.stringify({ apiVersion: `s3.services.k8s.aws/${version}`, kind: "Bucket", metadata })
);
const namespace = (name: string, labels: object, spec?: object): string => (
  JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels }, spec })
);
const definition = (kind: string, version: string, description: string): string => JSON.stringify({
  apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: `${kind}s` },
  spec: {
    group: kind === "Bucket" ? "s3.services.k8s.aws" : "services.k8s.aws", names: { kind },
    versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: { description } } }],
  },
});

async function faultsOf(...texts: readonly string[]): Promise<string[]> {
  const { faults } = await readManifestPaths(["-"], { stdin: () => Promise.resolve(texts.join("\n---\n")) });
  return faults.map(formatInputFault);
}

test("reports only one fault for an object that several overlays define, and lists every place", async (t) => {
  const folder = t.testdir({
    base: { "b.yaml": bucket({ name: "logs" }) },
    overlays: {
      production: { "b.yaml": `${namespace("a", {})}\n---\n${bucket({ name: "logs", namespace: "default" }, "v2")}` },
      staging: { "b.yaml": bucket({ name: "logs" }) },
    },
  });
  const { faults } = await readManifestPaths([folder]);
  const places = "/base/b.yaml:1, /overlays/production/b.yaml:3, /overlays/staging/b.yaml:1";
  t.same(faults.map((fault) => formatInputFault(fault).replaceAll(folder, "")), [
    `/base/b.yaml:1: duplicate Bucket "logs" in namespace default, defined at ${places}; ${FIX}`,
  ]);
});

test("reports duplicate objects only if decisions read their kind", async (t) => {
  const other = (kind: string, name: string, apiVersion = "v1"): string => (
    JSON.stringify({ apiVersion, kind, metadata: { name } })
  );
  const unread = [other("ConfigMap", "a"), other("Widget", "a", "example.com/v1"), definition("Widget", "v1", "")];
  t.same(await faultsOf(...unread.slice(0, 2), ...unread.slice(0, 2)), []);
  const map = other("ConfigMap", "ack-role-account-map");
  t.match(await faultsOf(map, map), [/^-:1: duplicate ConfigMap "ack-role-account-map" in namespace default/]);
  const capa = "infrastructure.cluster.x-k8s.io/v1beta2";
  const role = (spec: object): string => (
    JSON.stringify({ apiVersion: capa, kind: "AWSClusterRoleIdentity", metadata: { name: "a" }, spec })
  );
  t.match(await faultsOf(role({}), role({ roleARN: "x" })), [/^-:1: duplicate AWSClusterRoleIdentity "a", defined at/]);
  t.same(await faultsOf(role({ roleARN: "x" }), role({ roleARN: "x" })), [], "equal copies of an identity");
  const machine = other("AWSMachine", "a", capa);
  t.same(await faultsOf(machine, machine), []);
});

test("does not report objects that differ in kind, namespace or name, or whose name a template sets", async (t) => {
  const names = [
    { name: "a" }, { name: "b" }, { name: "a", namespace: "team" }, { generateName: "a-" }, { generateName: "a-" },
    { name: "$NAME" }, { name: "$NAME" }, { name: "a", namespace: "${NS}" }, { name: "a", namespace: "${NS}" },
  ];
  t.same(await faultsOf(...names.map((metadata) => bucket(metadata)), namespace("a", {})), []);
});

test("accepts copies of a Namespace whose labels and annotations are equal", async (t) => {
  t.same(await faultsOf(namespace("a", { x: "1", y: "2" }), namespace("a", { y: "2", x: "1" }, {})), []);
  t.match(await faultsOf(namespace("a", {}), namespace("a", {}), namespace("a", { x: "1" })), [
    /^-:1: duplicate Namespace "a", defined at -:1, -:3, -:5; keep one/,
  ]);
});

test("accepts copies of the definition of an ACK kind that have the same versions", async (t) => {
  t.same(await faultsOf(definition("Bucket", "v1", "old"), definition("Bucket", "v1", "new")), []);
  t.equal((await faultsOf(definition("Bucket", "v1", ""), definition("Bucket", "v2", ""))).length, 1);
  const selectors = ["old", "new"].map((text) => definition("IAMRoleSelector", "v1alpha1", text));
  t.equal((await faultsOf(...selectors)).length, 1, "the schema of IAMRoleSelectors is read");
});
