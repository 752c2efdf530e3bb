import { test } from "tap";
import { field } from "../../../../shared/decisions/kubernetes/json.ts";
import { formatInputFault, readManifests } from "../../../../shared/inventory/manifests/reader.ts";

const HEAD = "apiVersion: v1\nkind: ConfigMap\n";

/** The objects of a text that has no fault. */
function objects(text: string): unknown[] {
  const { manifests, faults } = readManifests(text, "a.yaml");
  if (faults.length > 0) throw new Error(faults.map(formatInputFault).join("\n"));
  return manifests.map(({ object }) => object);
}

function faultsOf(text: string): string[] {
  return readManifests(text, "a.yaml").faults.map(formatInputFault);
}

test("every document is an object; an empty one is skipped and counted", async (t) => {
  const { manifests, faults: none } = readManifests(`# only a comment\n---\n${HEAD}---\n---\n${HEAD}metadata: {name: b}\n`, "a.yaml");
  t.same(none, []);
  t.same(manifests.map(({ file, document, lineOf }) => [file, document, lineOf([])]), [["a.yaml", 1, 3], ["a.yaml", 3, 7]]);
  t.same(objects(""), []);
});

test("a field's line, and for one that is not there the line of what is around it", async (t) => {
  const [manifest] = readManifests(`${HEAD}metadata:\n  labels:\n    example.com/a: x\nspec:\n  names:\n    - a\n    - b\n`, "a.yaml").manifests;
  t.equal(manifest?.lineOf(["kind"]), 2);
  t.equal(manifest?.lineOf(["metadata", "labels", { key: "example.com/a" }]), 5);
  t.equal(manifest?.lineOf(["spec", "names", 1]), 9);
  t.equal(manifest?.lineOf(["spec", "arn"]), 6);
  t.equal(manifest?.lineOf(["status", "x"]), 1);
  t.equal(manifest?.lineOf(["kind", "x"]), 2);
});

test("JSON is read by the same reader, lines and all", async (t) => {
  const text = `{\n\t"apiVersion": "v1",\n\t"kind": "ConfigMap",\n\t"data": {"on": "yes", "<<": "x", "n": 1.50, "e": 1E+2, "t": true, "u": "\\u00e9\\/\\ud83d\\ude00", "s": "a\\tb"}\n}`;
  t.same(objects(text), [JSON.parse(text)]);
  t.equal(readManifests(text, "a.json").manifests[0]?.lineOf(["data", "n"]), 4);
});

test("quoted scalars, block scalars and tagged ones", async (t) => {
  const text = `${HEAD}data:\n  a: "on"\n  b: '0123'\n  c: |\n    1\n  d: !!str on\n  e: !!int "3"\n  f: !!float 3\n  g: !!binary aGk=\n  h: ! 12\n  i: !own yes\n  j: !!bool y\n  k: !!null ~\n  l: on\n`;
  t.same(objects(text), [
    { apiVersion: "v1", kind: "ConfigMap", data: { a: "on", b: "0123", c: "1\n", d: "on", e: 3, f: 3, g: "hi", h: "12", i: "yes", j: true, k: null, l: true } },
  ]);
});

test("aliases and merge keys", async (t) => {
  const text = `${HEAD}base: &b {k: 1, l: 2}\nmore: &m {l: 9, z: 3}\none: {<<: *b, l: 3}\nmany: {<<: [*b, *m]}\ntwo:\n  <<: *b\n  <<: *m\nname: &n team\n*n : *n\ncopy: *b\nlist: &l [1]\nlists: [*l, *l]\n`;
  t.match(objects(text)[0], {
    one: { k: 1, l: 3 },
    many: { k: 1, l: 2, z: 3 },
    two: { k: 1, l: 9, z: 3 },
    team: "team",
    copy: { k: 1, l: 2 },
    lists: [[1], [1]],
  });
  const [manifest] = readManifests(text, "a.yaml").manifests;
  t.equal(manifest?.lineOf(["one", "k"]), 3, "a merged field is where it was written");
});

test("__proto__ and constructor are fields like any other", async (t) => {
  for (const text of [`${HEAD}__proto__: {polluted: true}\nconstructor: {a: 1}\n`, `{"apiVersion": "v1", "kind": "A", "__proto__": {"polluted": true}, "constructor": {"a": 1}}`]) {
    const [manifest] = readManifests(text, "a.yaml").manifests;
    t.equal(Object.getPrototypeOf(manifest?.object), Object.prototype);
    t.same(field(manifest?.object, "__proto__"), { polluted: true });
    t.same(field(manifest?.object, "constructor"), { a: 1 });
    t.equal(manifest?.object["polluted"], undefined);
  }
});

test("a __proto__ that comes by a merge key is a field too", async (t) => {
  const [manifest] = readManifests(`${HEAD}<<: {__proto__: {polluted: true}}\n`, "a.yaml").manifests;
  t.same(field(manifest?.object, "__proto__"), { polluted: true });
  t.equal(manifest?.object["polluted"], undefined);
});

test("a List is its items, each with its own lines; typed lists give the type", async (t) => {
  const text = `apiVersion: v1\nkind: List\nitems:\n- ${HEAD.replaceAll("\n", "\n  ")}metadata: {name: a}\n- apiVersion: v1\n  kind: NamespaceList\n  items:\n  - metadata:\n      name: b\n---\n${HEAD}`;
  const { manifests, faults: none } = readManifests(text, "-");
  t.same(none, []);
  t.same(manifests.map(({ object, document, lineOf }) => [object, document, lineOf([]), lineOf(["metadata", "name"])]), [
    [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }, 1, 4, 6],
    [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "b" } }, 1, 10, 11],
    [{ apiVersion: "v1", kind: "ConfigMap" }, 2, 13, 13],
  ]);
});

test("a List without items is none, and a kind that only ends so is an object", async (t) => {
  t.same(objects("apiVersion: v1\nkind: List\nitems: null\n"), []);
  t.same(objects("apiVersion: v1\nkind: List\nitems: []\n"), []);
  t.equal(objects("apiVersion: example.com/v1\nkind: AllowList\nspec: {}\n").length, 1);
  t.equal(objects("apiVersion: example.com/v1\nkind: AllowList\nitems: some\n").length, 1);
  t.equal(objects("apiVersion: example.com/v1\nkind: Allow\nitems: [1]\n").length, 1);
});

const FAULTS: readonly (readonly [name: string, text: string, expected: readonly string[]])[] = [
  ["what is not YAML", `${HEAD}data: [1,2\n`, ["a.yaml:4: not YAML: Flow sequence in block collection must be sufficiently indented and end with a ]"]],
  ["a field twice", `${HEAD}kind: B\n`, ['a.yaml:3: the field "kind" stands twice in one object; keep one of them']],
  ["a field twice in two spellings", `${HEAD}data: {1: a, "1": b}\n`, ['a.yaml:3: the field "1" stands twice in one object; keep one of them']],
  ["a field twice in JSON", `{"apiVersion": "v1",\n"kind": "A", "kind": "B"}`, ['a.yaml:2: the field "kind" stands twice in one object; keep one of them']],
  ["a merge key behind a field that it sets", `${HEAD}a: &a {x: 1}\nb:\n  x: 2\n  <<: *a\n`, ['a.yaml:5: the field "x" stands before a merge key that sets it too; put the merge key (<<) first']],
  ["a merge of a scalar", `${HEAD}<<: 1\n`, ["a.yaml:3: a merge key (<<) takes an object or a list of objects"]],
  ["a merge of a list of scalars", `${HEAD}<<: [{a: 1}, x]\n`, ["a.yaml:3: a merge key (<<) takes an object or a list of objects"]],
  ["a null as a field's name", `${HEAD}data: {~: a}\n`, ["a.yaml:3: a field's name must be a string; a null, a list or an object cannot be one"]],
  ["a list as a field's name", `${HEAD}? [a]\n: b\n`, ["a.yaml:3: a field's name must be a string; a null, a list or an object cannot be one"]],
  ["a number that JSON has not", `${HEAD}a: .inf\nb: .nan\n`, ["a.yaml:3: .inf has no form in JSON; quote it if it is meant as text", "a.yaml:4: .nan has no form in JSON; quote it if it is meant as text"]],
  ["a tag that does not fit", `${HEAD}a: !!int x\n`, ['a.yaml:3: "x" is not a !!int']],
  ["an alias of nothing", `${HEAD}a: *b\n`, ["a.yaml:3: the alias *b has no anchor before it"]],
  ["an alias of what is around it", `${HEAD}a: &a [*a]\n`, ["a.yaml:3: the alias *a is inside what it stands for"]],
  ["a list at the top", "- 1\n", ["a.yaml:1: not a Kubernetes object; expected fields such as apiVersion and kind"]],
  ["text at the top", "\nhello\n", ["a.yaml:2: not a Kubernetes object; expected fields such as apiVersion and kind"]],
  ["no type", "a: 1\n", ["a.yaml:1: not a Kubernetes object: apiVersion and kind must be set, as a string"]],
  ["no kind", "apiVersion: v1\nkind: ''\n", ["a.yaml:1: not a Kubernetes object: kind must be set, as a string"]],
  ["a type that is no string", "apiVersion: 1\nkind: A\n", ["a.yaml:1: not a Kubernetes object: apiVersion must be set, as a string"]],
  ["an item that is no object", "apiVersion: v1\nkind: List\nitems:\n- 1\n", ["a.yaml:4: not a Kubernetes object; expected fields such as apiVersion and kind"]],
  ["an item without a type in an untyped list", "apiVersion: v1\nkind: List\nitems:\n- metadata: {}\n", ["a.yaml:4: not a Kubernetes object: apiVersion and kind must be set, as a string"]],
  ["nesting without end", "[".repeat(100_000), ["a.yaml:1: objects are nested too deeply to be read"]],
];

for (const [name, text, expected] of FAULTS) {
  test(`${name} is a fault`, async (t) => {
    t.same(faultsOf(text), expected);
  });
}

test("all faults are told, and what could be read is returned with them", async (t) => {
  const { manifests, faults: found } = readManifests(`a: 1\n---\n${HEAD}---\n${HEAD}kind: B\nkind: C\n---\nx: [\n`, "a.yaml");
  t.same(manifests.map(({ document }) => document), [2]);
  t.same(found.map(({ line }) => line), [1, 8, 9, 12]);
});

test("a few lines of aliases do not become millions of values", async (t) => {
  const levels = Array.from({ length: 8 }, (_, level) => `l${level + 1}: &l${level + 1} [${Array<string>(10).fill(`*l${level}`).join(", ")}]\n`);
  t.same(faultsOf(`${HEAD}l0: &l0 [1]\n${levels.join("")}`), ["a.yaml:8: aliases stand for more than 100000 values; write them out in several files"]);
  t.same(faultsOf(`${HEAD}l0: &l0 [1]\n${levels.slice(0, 4).join("")}`), []);
});
