import jsonPatch, { type Operation } from "fast-json-patch";
import { test } from "tap";
import {
  applyEdits, by, describeRepairs, type Edit, meant, moveEdits, patchOf, remove, rename, restore, restoreAnnotations,
  safely, set, unsafe,
} from "../../../shared/core/repair.ts";
import { annotationPath, type JsonObject, parseJSON } from "../../../shared/formats/json.ts";

const OBJECT: JsonObject = {
  kind: "Bucket", metadata: { name: "b1", labels: { "example.com/a": "1", "t~e": "2" } },
  spec: { list: ["a", "b", "c"], map: { x: 1 }, text: "t" },
};
const label = (key: string): Edit["path"] => ["metadata", "labels", { key }];

test("a patch of edits does what the edits do", (t) => {
  for (const [what, edits, operations] of [
    ["replaces a value", [set(["spec", "text"], "u")], ["replace /spec/text"]],
    ["writes nothing that is there", [set(["spec", "text"], "t")], []],
    ["adds a value", [set(["spec", "new"], 1)], ["add /spec/new"]],
    ["adds parents", [set(["status", "a", "b"], 1)], ["add /status"]],
    ["adds a list", [set(["spec", "names", 0], "a")], ["add /spec/names"]],
    ["replaces a parent of another type", [set(["spec", "text", "a"], 1)], ["replace /spec/text"]],
    ["appends to a list", [set(["spec", "list", 3], "d")], ["add /spec/list/3"]],
    ["replaces an item", [set(["spec", "list", 1], "x")], ["test /spec/list/1", "replace /spec/list/1"]],
    ["removes items", [remove(["spec", "list", 2]), remove(["spec", "list", 0])],
      ["test /spec/list/2", "remove /spec/list/2", "test /spec/list/0", "remove /spec/list/0"]],
    ["removes a label", [remove(label("example.com/a"))], ["remove /metadata/labels/example.com~1a"]],
    ["removes nothing that is missing", [remove(label("b")), remove(["status", "a"]), remove(["spec", "list", 7])], []],
    ["renames a key", rename(label("t~e"), { key: "t" }, "2"),
      ["remove /metadata/labels/t~0e", "add /metadata/labels/t"]],
    ["replaces the object", [set([], { kind: "Other" })], ["replace "]],
  ] as const) {
    const patch = patchOf(OBJECT, edits);
    t.same(patch.map(({ op, path }) => `${op} ${path}`), operations, what);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both describe RFC 6902
    const patched = jsonPatch.applyPatch(structuredClone(OBJECT), structuredClone(patch) as Operation[]).newDocument;
    t.same(applyEdits(OBJECT, edits), patched, what);
  }
  t.end();
});

test("edits create and delete whole objects", (t) => {
  t.same(patchOf(null, [set([], OBJECT)]), [{ op: "add", path: "", value: OBJECT }]);
  t.same(applyEdits(null, [set([], OBJECT)]), OBJECT);
  t.same(patchOf(OBJECT, [remove([])]), [{ op: "remove", path: "" }]);
  t.equal(applyEdits(OBJECT, [remove([])]), null);
  t.equal(applyEdits(null, []), null);
  const hostile = { spec: parseJSON('{"__proto__": {"a": 1}}') };
  const { spec } = applyEdits(hostile, [set(["spec", "b"], 1)]) ?? {};
  t.same(Object.keys(Object(spec)), ["__proto__", "b"], "never sets a prototype");
  t.end();
});

test("describes repairs in words that can be followed", (t) => {
  const path = ["spec", "text"];
  const of = { apiVersion: "v1", kind: "Namespace", namespace: null, name: "team-a" };
  const inNamespace = { apiVersion: "v1", kind: "ConfigMap", namespace: "a", name: "m" };
  for (const [expected, repairs, at] of [
    [null, []],
    ['write "u"', safely(set(path, "u"))],
    ["write 7", by(set(path, 7))],
    ["remove the field", by(remove(path))],
    ["remove this entry", by(remove(["spec", "list", 1])), ["spec", "list", 1]],
    ["remove the label", by(remove(label("a"))), label("a")],
    ["remove the annotation", by(remove(annotationPath("a"))), annotationPath("a")],
    ["remove spec.map", by(remove(["spec", "map"]))],
    ['set spec.map to {"a":1}', by(set(["spec", "map"], { a: 1 }))],
    ["write names", by(...rename(path, "names", "t"))],
    ["write selector.names", by(remove(path), set(["spec", "selector", "names"], ["t"]))],
    ['remove the field and set other.names to ["t"]', by(remove(path), set(["other", "names"], ["t"]))],
    ["remove the field and remove spec.map", by(remove(path), remove(["spec", "map"]))],
    ["remove spec.map and set spec.a to 1", by(remove(["spec", "map"]), set(["spec", "a"], 1))],
    ["remove the field, set spec.a to 1 and set spec.b to 2",
      by(remove(path), set(["spec", "a"], 1), set(["spec", "b"], 2))],
    ["create Namespace team-a", by({ of, ...set([], {}) })],
    ["delete ConfigMap a/m", by({ of: inNamespace, ...remove([]) })],
    ['set spec.a of Namespace team-a to "b"', by({ of, ...set(["spec", "a"], "b") })],
    ["remove spec.a from ConfigMap a/m", by({ of: inNamespace, ...remove(["spec", "a"]) })],
    ['if "a" is meant, write "a"; or if "b" is meant, write "b"', meant(path, ["a", "b"])],
    ['write "a"', meant(path, ["a"])], [null, meant(path, [])],
    [`write [${"1,".repeat(39)}1…`, by(set(path, Array.from({ length: 90 }, () => 1)))],
  ] as const) t.equal(describeRepairs(repairs, at ?? path), expected, expected ?? "nothing");
  t.end();
});

test("restores what an object had before, and moves edits into another object", (t) => {
  const changed = { ...OBJECT, metadata: { name: "b1", annotations: { a: "new" } } };
  const [repair] = restore(OBJECT, label("t~e"), ["spec", "map"]);
  t.same(repair?.edits, [set(label("t~e"), "2"), set(["spec", "map"], { x: 1 })]);
  const [annotations] = restoreAnnotations(OBJECT, "a");
  t.same(applyEdits(changed, annotations?.edits ?? []), { ...OBJECT, metadata: { name: "b1", annotations: {} } });
  const of = { apiVersion: "v1", kind: "Namespace", namespace: null, name: "team-a" };
  t.same(unsafe([...safely(set(["a"], 1)), { when: "to keep it", edits: [] }]), [
    { edits: [set(["a"], 1)] }, { when: "to keep it", edits: [] },
  ]);
  const moved = moveEdits(by(set(["a"], 1), { of, ...set(["b"], 2) }), (path) => ["spec", "template", ...path]);
  t.same(moved[0]?.edits.map(({ path }) => path), [["spec", "template", "a"], ["b"]]);
  t.end();
});
