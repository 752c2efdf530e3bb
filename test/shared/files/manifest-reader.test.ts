import { test } from "tap";
import { field } from "../../../shared/formats/json.ts";
import { formatInputFault, readManifests } from "../../../shared/files/manifest-reader.ts";

const HEAD = "apiVersion: v1\nkind: ConfigMap\n";

/** Returns the objects of a text. Throws if the text has a fault. */
function objects(text: string): unknown[] {
  const { manifests, faults } = readManifests(text, "a.yaml");
  if (faults.length > 0) throw new Error(faults.map(formatInputFault).join("\n"));
  return manifests.map(({ object }) => object);
}

function faultsOf(text: string): string[] {
  return readManifests(text, "a.yaml").faults.map(formatInputFault);
}

test("reads every YAML document; empty documents are skipped but count towards the document number", async (t) => {
  const text = `# only a comment\n---\n${HEAD}---\n---\n${HEAD}metadata: {name: b}\n`;
  const { manifests, faults } = readManifests(text, "a.yaml");
  t.same(faults, []);
  t.same(manifests.map(({ file, document, lineOf }) => [file, document, lineOf([])]), [
    ["a.yaml", 1, 3], ["a.yaml", 3, 7],
  ]);
  t.same(objects(""), []);
});

test("returns the line of a field, or the line of its nearest existing parent", async (t) => {
  const text = `${HEAD}metadata:\n  labels:\n    example.com/a: x\nspec:\n  names:\n    - a\n    - b\n`;
  const [manifest] = readManifests(text, "a.yaml").manifests;
  t.equal(manifest?.lineOf(["kind"]), 2);
  t.equal(manifest?.lineOf(["metadata", "labels", { key: "example.com/a" }]), 5);
  t.equal(manifest?.lineOf(["spec", "names", 1]), 9);
  t.equal(manifest?.lineOf(["spec", "arn"]), 6);
  t.equal(manifest?.lineOf(["status", "x"]), 1);
  t.equal(manifest?.lineOf(["kind", "x"]), 2);
});

test("reads JSON, and returns line numbers", async (t) => {
  const text = `{\n\t"apiVersion": "v1",\n\t"kind": "ConfigMap",\n`
    + `\t"data": {"on": "yes", "<<": "x", "n": 1.50, "e": 1E+2, "t": true, `
    + `"u": "\\u00e9\\/\\ud83d\\ude00", "s": "a\\tb"}\n}`;
  t.same(objects(text), [JSON.parse(text)]);
  t.equal(readManifests(text, "a.json").manifests[0]?.lineOf(["data", "n"]), 4);
});

test("reads quoted, block and tagged scalars like kubectl", async (t) => {
  const text = `${HEAD}data:\n  a: "on"\n  b: '0123'\n  c: |\n    1\n  d: !!str on\n  e: !!int "3"\n  f: !!float 3\n`
    + `  g: !!binary aGk=\n  h: ! 12\n  i: !own yes\n  j: !!bool y\n  k: !!null ~\n  l: on\n`;
  t.same(objects(text), [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      data: {
        a: "on", b: "0123", c: "1\n", d: "on", e: 3, f: 3, g: "hi", h: "12", i: "yes", j: true, k: null, l: true,
      },
    },
  ]);
});

test("expands aliases and merge keys", async (t) => {
  const text = `${HEAD}base: &b {k: 1, l: 2}\nmore: &m {l: 9, z: 3}\none: {<<: *b, l: 3}\nmany: {<<: [*b, *m]}\n`
    + `two:\n  <<: *b\n  <<: *m\nname: &n team\n*n : *n\ncopy: *b\nlist: &l [1]\nlists: [*l, *l]\n`;
  t.match(objects(text)[0], {
    one: { k: 1, l: 3 },
    many: { k: 1, l: 2, z: 3 },
    two: { k: 1, l: 9, z: 3 },
    team: "team",
    copy: { k: 1, l: 2 },
    lists: [[1], [1]],
  });
  const [manifest] = readManifests(text, "a.yaml").manifests;
  t.equal(manifest?.lineOf(["one", "k"]), 3, "a merged field has the line of its definition");
});

test("treats __proto__ and constructor as ordinary fields", async (t) => {
  for (const text of [
    `${HEAD}__proto__: {polluted: true}\nconstructor: {a: 1}\n`,
    `{"apiVersion": "v1", "kind": "A", "__proto__": {"polluted": true}, "constructor": {"a": 1}}`,
  ]) {
    const [manifest] = readManifests(text, "a.yaml").manifests;
    t.equal(Object.getPrototypeOf(manifest?.object), Object.prototype);
    t.same(field(manifest?.object, "__proto__"), { polluted: true });
    t.same(field(manifest?.object, "constructor"), { a: 1 });
    t.equal(manifest?.object["polluted"], undefined);
  }
});

test("treats a __proto__ from a merge key as an ordinary field", async (t) => {
  const [manifest] = readManifests(`${HEAD}<<: {__proto__: {polluted: true}}\n`, "a.yaml").manifests;
  t.same(field(manifest?.object, "__proto__"), { polluted: true });
  t.equal(manifest?.object["polluted"], undefined);
});

test("expands lists, returns the lines of each item, and sets the kind of the items of typed lists", async (t) => {
  const text = `apiVersion: v1\nkind: List\nitems:\n- ${HEAD.replaceAll("\n", "\n  ")}metadata: {name: a}\n`
    + `- apiVersion: v1\n  kind: NamespaceList\n  items:\n  - metadata:\n      name: b\n---\n${HEAD}`;
  const { manifests, faults } = readManifests(text, "-");
  t.same(faults, []);
  t.same(manifests.map(({ object, document, lineOf }) => (
    [object, document, lineOf([]), lineOf(["metadata", "name"])]
  )), [
    [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }, 1, 4, 6],
    [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "b" } }, 1, 10, 11],
    [{ apiVersion: "v1", kind: "ConfigMap" }, 2, 13, 13],
  ]);
});

test("reads a List without items as empty, and reads other kinds whose name ends in List as objects", async (t) => {
  t.same(objects("apiVersion: v1\nkind: List\nitems: null\n"), []);
  t.same(objects("apiVersion: v1\nkind: List\nitems: []\n"), []);
  t.equal(objects("apiVersion: example.com/v1\nkind: AllowList\nspec: {}\n").length, 1);
  t.equal(objects("apiVersion: example.com/v1\nkind: AllowList\nitems: some\n").length, 1);
  t.equal(objects("apiVersion: example.com/v1\nkind: Allow\nitems: [1]\n").length, 1);
});

const FAULTS: readonly (readonly [name: string, text: string, expected: readonly string[]])[] = [
  [
    "invalid YAML",
    `${HEAD}data: [1,2\n`,
    ["a.yaml:4: invalid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]"],
  ],
  ["a duplicate field", `${HEAD}kind: B\n`, ['a.yaml:3: duplicate field "kind"; remove one of them']],
  [
    "a duplicate field with another spelling",
    `${HEAD}data: {1: a, "1": b}\n`,
    ['a.yaml:3: duplicate field "1"; remove one of them'],
  ],
  [
    "a duplicate field in JSON",
    `{"apiVersion": "v1",\n"kind": "A", "kind": "B"}`,
    ['a.yaml:2: duplicate field "kind"; remove one of them'],
  ],
  [
    "a merge key after a field that it sets",
    `${HEAD}a: &a {x: 1}\nb:\n  x: 2\n  <<: *a\n`,
    ['a.yaml:5: the field "x" precedes a merge key (<<) that also sets it; move the merge key first'],
  ],
  [
    "a merge of a scalar",
    `${HEAD}<<: 1\n`,
    ["a.yaml:3: the value of a merge key (<<) must be an object or a list of objects"],
  ],
  [
    "a merge of a list of scalars",
    `${HEAD}<<: [{a: 1}, x]\n`,
    ["a.yaml:3: the value of a merge key (<<) must be an object or a list of objects"],
  ],
  [
    "a null field name",
    `${HEAD}data: {~: a}\n`,
    ["a.yaml:3: the field name is not a string"],
  ],
  [
    "a list as a field name",
    `${HEAD}? [a]\n: b\n`,
    ["a.yaml:3: the field name is not a string"],
  ],
  [
    "a number that JSON cannot represent",
    `${HEAD}a: .inf\nb: .nan\n`,
    [
      "a.yaml:3: .inf is not a JSON number; quote it to make it a string",
      "a.yaml:4: .nan is not a JSON number; quote it to make it a string",
    ],
  ],
  ["a tag that does not match the value", `${HEAD}a: !!int x\n`, ['a.yaml:3: "x" is not a !!int']],
  ["an alias without an anchor", `${HEAD}a: *b\n`, ["a.yaml:3: the alias *b has no preceding anchor"]],
  ["an alias of its own parent", `${HEAD}a: &a [*a]\n`, ["a.yaml:3: the alias *a refers to a node that contains it"]],
  [
    "a list as the document",
    "- 1\n",
    ["a.yaml:1: not a Kubernetes object; expected fields such as apiVersion and kind"],
  ],
  [
    "text as the document",
    "\nhello\n",
    ["a.yaml:2: not a Kubernetes object; expected fields such as apiVersion and kind"],
  ],
  [
    "an object that has neither apiVersion nor kind",
    "a: 1\n",
    ["a.yaml:1: not a Kubernetes object: apiVersion and kind must be set to a string"],
  ],
  ["an empty kind", "apiVersion: v1\nkind: ''\n", ["a.yaml:1: not a Kubernetes object: kind must be set to a string"]],
  [
    "an apiVersion that is not a string",
    "apiVersion: 1\nkind: A\n",
    ["a.yaml:1: not a Kubernetes object: apiVersion must be set to a string"],
  ],
  [
    "a list item that is not an object",
    "apiVersion: v1\nkind: List\nitems:\n- 1\n",
    ["a.yaml:4: not a Kubernetes object; expected fields such as apiVersion and kind"],
  ],
  [
    "a list item without apiVersion and kind in an untyped list",
    "apiVersion: v1\nkind: List\nitems:\n- metadata: {}\n",
    ["a.yaml:4: not a Kubernetes object: apiVersion and kind must be set to a string"],
  ],
];

for (const [name, text, expected] of FAULTS) {
  test(`reports ${name}`, async (t) => {
    t.same(faultsOf(text), expected);
  });
}

test("returns all faults and every object that is readable", async (t) => {
  const { manifests, faults: found } = readManifests(
    `a: 1\n---\n${HEAD}---\n${HEAD}kind: B\nkind: C\n---\nx: [\n`,
    "a.yaml",
  );
  t.same(manifests.map(({ document }) => document), [2]);
  t.same(found.map(({ line }) => line), [1, 8, 9, 12]);
});

test("reports YAML aliases that expand to too many values", async (t) => {
  const levels = Array.from(
    { length: 8 },
    (_, level) => `l${level + 1}: &l${level + 1} [${Array<string>(10).fill(`*l${level}`).join(", ")}]\n`,
  );
  t.same(faultsOf(`${HEAD}l0: &l0 [1]\n${levels.join("")}`), [
    "a.yaml:8: aliases expand to more than 100000 values; use several files",
  ]);
  t.same(faultsOf(`${HEAD}l0: &l0 [1]\n${levels.slice(0, 4).join("")}`), []);
});
