import { SECRETS } from "../../../shared/capa/secrets.ts";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "tap";
import { getHeapSnapshot } from "node:v8";
import { type ParsedManifests, readManifests } from "../../../shared/files/manifest-reader.ts";
import { ManifestSource } from "../../../shared/sources/file-source.ts";
import { withoutQuotedText } from "../../../shared/files/secret-values.ts";

const PLANTED = "PLANTED-VALUE";
const REMOVED = "removed by ack-role-resolver";
const HEAD = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n";

/** Texts that contain a Secret with the planted value: complete objects, and objects that cannot be read. */
const TEXTS: Readonly<Record<string, string>> = {
  data: `${HEAD}data:\n  AccessKeyID: ${PLANTED}\n`,
  stringData: `${HEAD}stringData: {a: ["${PLANTED}", {b: "${PLANTED}"}]}\n`,
  "data with an alias": `${HEAD}data: {a: &x ${PLANTED}, b: *x}\n`,
  "a field that Kubernetes does not define": `${HEAD}spec: {template: {data: {a: ${PLANTED}}}}\n`,
  "an annotation": `apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  annotations: {last-applied: ${PLANTED}}\n`,
  "metadata as a text": `apiVersion: v1\nkind: Secret\nmetadata: ${PLANTED}\n`,
  JSON: `{"apiVersion": "v1", "kind": "Secret", "data": {"a": "${PLANTED}"}}`,
  List: `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, data: {a: ${PLANTED}}}\n`,
  SecretList: `apiVersion: v1\nkind: SecretList\nitems:\n- {metadata: {name: a}, data: {a: ${PLANTED}}}\n`,
  "an indentation error": `${HEAD}data:\n  a: x\n b: ${PLANTED}\n`,
  "a missing quote": `${HEAD}data:\n  a: "${PLANTED}\n`,
  "text after a quote": `${HEAD}data:\n  a: "x" ${PLANTED}\n`,
  "an unknown alias": `${HEAD}data:\n  a: *${PLANTED}\n`,
  "a wrong tag": `${HEAD}data:\n  a: !!int ${PLANTED}\n`,
  "a wrong block header": `${HEAD}data:\n  a: |${PLANTED}\n`,
  "a wrong escape": `${HEAD}data:\n  a: "\\q${PLANTED}"\n`,
  "a list in a map": `${HEAD}data:\n  - ${PLANTED}\n  b: x\n`,
  "two colons": `${HEAD}data:\n  a: ${PLANTED}: x\n`,
  "no apiVersion": `kind: Secret\nmetadata: {name: a}\ndata: {a: ${PLANTED}}\n`,
};

function serialized({ manifests, faults }: ParsedManifests): string {
  return JSON.stringify([manifests.map(({ object }) => object), faults]);
}

for (const [what, text] of Object.entries(TEXTS)) {
  test(`neither the objects nor the faults contain the value of a Secret: ${what}`, (t) => {
    const parsed = readManifests(text, "secret.yaml");
    t.notMatch(serialized(parsed), PLANTED);
    t.ok(parsed.manifests.length + parsed.faults.length > 0);
    t.end();
  });
}

test("replaces the values of a Secret, but keeps its names, its empty values and its lines", (t) => {
  const text = `apiVersion: v1\nkind: Secret\ntype: Opaque\nmetadata:\n  name: a\n  labels: {team: a}\n`
    + "data:\n  AccessKeyID: x\n  SecretAccessKey: ''\n  port: 5\nstringData:\n  SessionToken: null\n";
  const [secret] = readManifests(text, "a.yaml").manifests;
  t.same(secret?.object, {
    apiVersion: "v1", kind: "Secret", type: "Opaque", metadata: { name: "a", labels: { team: "a" } },
    data: { AccessKeyID: REMOVED, SecretAccessKey: "", port: REMOVED }, stringData: { SessionToken: null },
  });
  t.equal(secret?.lineOf(["data", "SecretAccessKey"]), 9);
  t.equal(secret?.lineOf(["stringData", "SessionToken"]), 12);
  t.end();
});

test("does not change objects of other kinds", (t) => {
  const [first, second] = readManifests(`${HEAD}---\napiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n`, "a").manifests;
  t.same(first?.object, { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } });
  t.same(second?.object, { apiVersion: "v1", kind: "ConfigMap", data: { a: "b" } });
  t.end();
});

test("a fault of a file without a Secret quotes the faulty text", (t) => {
  const { faults } = readManifests("apiVersion: v1\nkind: Namespace\nmetadata: {name: !!int abc}\n", "a");
  t.match(faults, [{ message: /"abc" is not a !!int/ }]);
  const hidden = "(not shown, because the file contains a Secret) is not a !!int";
  t.equal(withoutQuotedText('"a\\"b" is not a !!int'), hidden);
  t.end();
});

/**
 * Whether a string in the heap of this process contains the text. The snapshot is a JSON text, which starts with a
 * collection of garbage. The text is a Buffer, whose content is not in the heap.
 */
async function isInHeap(text: Buffer): Promise<boolean> {
  let rest = Buffer.alloc(0);
  for await (const chunk of getHeapSnapshot()) {
    const part = Buffer.concat([rest, Buffer.from(String(chunk))]);
    if (part.includes(text)) return true;
    rest = part.subarray(-text.length);
  }
  return false;
}

test("a source of manifests stores no value of a Secret in memory", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-secret-"));
  t.teardown(() => rm(folder, { recursive: true }));
  const planted = Buffer.concat(["planted", "-value-", "1234567890"].map((part) => Buffer.from(part)));
  const write = async (name: string, kind: string, fieldName: string): Promise<void> => {
    const head = `apiVersion: v1\nkind: ${kind}\nmetadata: {name: a, namespace: ns}\n${fieldName}: {AccessKeyID: `;
    await writeFile(path.join(folder, name), Buffer.concat([Buffer.from(head), planted, Buffer.from("}\n")]));
  };
  await write("secret.yaml", "Secret", "stringData");
  const source = new ManifestSource([folder], { runtime: "ack" });
  t.teardown(() => source.stop());
  await source.start();
  t.equal(source.inventory.of(SECRETS).get("ns", "a")?.keys?.[0]?.state, "present");
  t.equal(await isInHeap(planted), false);
  await write("config.yaml", "ConfigMap", "data");
  const other = new ManifestSource([folder], { runtime: "ack" });
  t.teardown(() => other.stop());
  await other.start();
  t.equal(await isInHeap(planted), true, "the snapshot shows the value of a ConfigMap");
});
