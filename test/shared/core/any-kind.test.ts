import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { readManifests } from "../../../shared/files/manifest-reader.ts";
import { bucketObject } from "../objects.ts";
import { checkChange, findingsOf } from "./findings.ts";

const QUOTES = "put the value in quotes";

/** Returns the path, message and fix of each finding of META-01. */
function faultsOf(object: JsonObject, old: JsonObject | null = null): unknown[] {
  return findingsOf("META-01", object, { origin: "file", old }).map(({ path, message, fix }) => [path, message, fix]);
}

test("META-01: denies numbers and booleans that YAML reads from unquoted values", (t) => {
  const text = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels: {prod: true}\n"
    + "  annotations:\n    services.k8s.aws/owner-account-id: 111122223333\n    empty:\n";
  const [manifest] = readManifests(text, "a.yaml").manifests;
  const { object = {}, lineOf = () => null } = manifest ?? {};
  const number = "the value is the number 111122223333, and the API server accepts only strings";
  const boolean = "the value is the boolean true, and the API server accepts only strings";
  const path = ["metadata", "annotations", { key: "services.k8s.aws/owner-account-id" }];
  t.same(faultsOf(object), [
    [path, number, QUOTES],
    [["metadata", "labels", { key: "prod" }], boolean, QUOTES],
  ]);
  t.equal(lineOf(path), 7);
  t.equal(checkChange(object, { origin: "file" }).denied, true);
  t.end();
});

test("META-01: denies names, label keys and label values that the API server rejects", (t) => {
  const messages = (metadata: JsonObject): unknown => faultsOf(bucketObject(metadata));
  t.match(messages({ name: "Bad_Name" }), [[["metadata", "name"], /^"Bad_Name" is not a valid object name/]]);
  t.match(messages({ labels: { "a b": "x", c: "-" } }), [
    [["metadata", "labels", { key: "a b" }], /^the label is not valid: the name part of a label key/],
    [["metadata", "labels", { key: "c" }], /^the label is not valid: a label value must/],
  ]);
  t.match(messages({ labels: { a: ["b"], c: {} } }), [
    [["metadata", "labels", { key: "a" }], /^the value is an object or a list, and/],
    [["metadata", "labels", { key: "c" }], /^the value is an object or a list, and/],
  ]);
  t.match(messages({ labels: ["a"], annotations: { "/x": "" } }), [
    [["metadata", "annotations", { key: "/x" }], /^the annotation key is not valid/],
    [["metadata", "labels"], "the labels are not a map"],
  ]);
  t.same(messages({ name: "", generateName: "b-" }), [], "the API server generates the name");
  t.same(messages({ name: "a.b", labels: { "example.com/A": "" }, annotations: { "Example.com/a": "{}" } }), []);
  t.end();
});

test("META-01: proposes the nearest valid metadata, safely if only quotes or blanks are missing", (t) => {
  const repaired = (metadata: JsonObject): unknown => (
    findingsOf("META-01", bucketObject(metadata), { origin: "file" }).map(({ repairs = [] }) => (
      repairs.map(({ isSafe = false, edits }) => [isSafe, ...edits.map(({ path, value }) => [path.at(-1), value])])
    ))
  );
  const at = (key: string): unknown => ({ key });
  const rows: readonly (readonly [JsonObject, unknown])[] = [
    [{ name: "Bad_Name" }, [[false, ["name", "bad-name"]]]],
    [{ name: "___" }, undefined],
    [{ annotations: { a: 111122223333 } }, [[true, [at("a"), "111122223333"]]]],
    [{ annotations: { a: 7 } }, [[true, [at("a"), "7"]]]],
    [{ annotations: { a: 12345678901 } }, [[false, [at("a"), "12345678901"]]]],
    [{ annotations: { a: 1111222233.25 } }, [[false, [at("a"), "1111222233.25"]]]],
    [{ labels: { a: true } }, [[true, [at("a"), "true"]]]],
    [{ labels: { a: -1 } }, undefined],
    [{ labels: { a: [] } }, undefined],
    [{ labels: { a: " gold\n" } }, [[true, [at("a"), "gold"]]]],
    [{ labels: { a: "very gold!" } }, [[false, [at("a"), "very-gold"]]]],
    [{ labels: { a: "!" } }, undefined],
    [{ labels: { a: "x".repeat(64) } }, undefined],
    [{ labels: { " a": "x" } }, [[true, [at(" a"), undefined], [at("a"), "x"]]]],
    [{ labels: { "a b": "x" } }, [[false, [at("a b"), undefined], [at("a-b"), "x"]]]],
    [{ labels: { "a b": "x", "a-b": "y" } }, [[false, [at("a b"), undefined]]]],
    [{ annotations: { "ack-role-resolver.io/external-id": 1234 } }, undefined],
    [{ annotations: { "ack-role-resolver.io/external id": "1234" } }, undefined],
    [{ annotations: { "/": "x" } }, [[false, [at("/"), undefined]]]],
  ];
  for (const [metadata, expected] of rows) t.same(repaired(metadata), [expected ?? []], JSON.stringify(metadata));
  t.end();
});

test("META-01: warns about but does not deny a fault that the stored object already has", (t) => {
  const object = bucketObject({ labels: { c: "-" } });
  const [finding] = findingsOf("META-01", object, { old: object });
  t.match(finding, { severity: "warn" });
  t.end();
});

test("META-01: does not read the faults of a stored object that has too many labels", (t) => {
  const object = bucketObject({ labels: { c: "-" } });
  const labelled = (others: number): JsonObject => (
    bucketObject({ labels: { c: "-", ...Object.fromEntries(Array.from({ length: others }, (_, i) => [`l${i}`, ""])) } })
  );
  const severityOf = (old: JsonObject): unknown => findingsOf("META-01", object, { old })[0]?.severity;
  t.equal(severityOf(labelled(999)), "warn");
  t.equal(severityOf(labelled(1_000)), "deny", "a client that forges the stored object gains nothing");
  t.end();
});
