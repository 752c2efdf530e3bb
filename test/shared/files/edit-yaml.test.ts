import { test } from "tap";
import { remove, rename, set, type Edit } from "../../../shared/core/repair.ts";
import { EditableText, type ObjectPlace } from "../../../shared/files/edit-yaml.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";

const editText = (text: string, place: ObjectPlace, edits: readonly Edit[]): string | null => (
  EditableText.of(text).edited(place, edits)?.toString() ?? null
);
const edit = (text: string, ...edits: readonly Edit[]): string | null => editText(text, { document: 1 }, edits);

test("sets a scalar and keeps comments, quotes and order", async (t) => {
  const text = "# head\nspec: # of the selector\n  arn: old # why\n  'b': 'x'\n\n  c: \"y\" # z\n# tail";
  t.equal(edit(text, set(["spec", "arn"], "arn:aws:iam::111122223333:role/a")),
    text.replace("old", "arn:aws:iam::111122223333:role/a"));
  t.equal(edit(text, set(["spec", "b"], "it's")), text.replace("'x'", "'it''s'"));
  t.equal(edit(text, set(["spec", "b"], "a\nb")), text.replace("'x'", String.raw`"a\nb"`));
  t.equal(edit(text, set(["spec", "c"], "n")), text.replace('"y"', '"n"'));
  t.equal(edit(text, set(["spec", "arn"], "true")), text.replace("old", '"true"'), "a text that is no boolean");
  t.equal(edit(text, set(["spec", "arn"], "0123")), text.replace("old", '"0123"'));
  t.equal(edit(text, set(["spec", "arn"], "a: b")), text.replace("old", '"a: b"'));
  t.equal(edit(text, set(["spec", "arn"], "a b")), text.replace("old", "a b"));
  t.equal(edit(text, set(["spec", "arn"], 3)), text.replace("old", "3"));
  t.equal(edit(text, set(["spec", "arn"], ["a", "b:c"])), text.replace("old", '[a, "b:c"]'));
  t.equal(edit(text, set(["spec", "arn", "x"], "v")), text.replace("old", "{x: v}"));
  t.equal(edit(text, set(["spec", "arn"], "old")), text, "the same value");
});

test("quotes an unquoted number", async (t) => {
  t.equal(edit("a:\n  111122223333: 1 # x\n", set(["a", "111122223333"], "1")), 'a:\n  111122223333: "1" # x\n');
  t.equal(edit("a:\n  k: v\n", set(["a", { key: "111122223333" }], "1")), 'a:\n  k: v\n  "111122223333": "1"\n');
});

test("adds a field of a block mapping", async (t) => {
  const text = "metadata:\n    name: a # c\n    # of the end\n\nspec: {}\n";
  t.equal(edit(text, set(["metadata", "labels", { key: "a/b" }], "x")),
    "metadata:\n    name: a # c\n    labels:\n        a/b: x\n    # of the end\n\nspec: {}\n");
  t.equal(edit(text, set(["spec", "x"], [1])), text.replace("{}", "{x: [1]}"));
  t.equal(edit(text, set(["spec", "x", 0], "v")), text.replace("{}", "{x: [v]}"));
  t.equal(edit(text, set(["top"], { a: [], b: {}, c: [{ d: "e", f: { g: 1 } }, "h", [1]] })),
    `${text}top:\n    a: []\n    b: {}\n    c:\n        - d: e\n`
      + "          f:\n              g: 1\n        - h\n        - [1]\n");
  const compact = "a:\n- b: c\n";
  t.equal(edit(compact, set(["x"], { l: ["v"] })), `${compact}x:\n  l:\n  - v\n`);
  t.equal(edit(compact, set(["a", 0, "d"], "e")), "a:\n- b: c\n  d: e\n");
});

test("fills a field or an item without a value", async (t) => {
  t.equal(edit("a: # c\nb: 1\n", set(["a"], "x")), "a: x # c\nb: 1\n");
  t.equal(edit("a: # c\nb: 1\n", set(["a", "k"], "x")), "a: # c\n  k: x\nb: 1\n");
  t.equal(edit("a: null\n", set(["a", "k"], "x")), "a: {k: x}\n");
  t.equal(edit("a: {b: }\n", set(["a", "b", "k"], "x")), "a: {b: {k: x} }\n");
  t.equal(edit("a:\n  -\n  - b\n", set(["a", 0], "x")), "a:\n  - x\n  - b\n");
});

test("appends an item", async (t) => {
  t.equal(edit("a:\n- b # c\n# d\n", set(["a", 1], "x")), "a:\n- b # c\n- x\n# d\n");
  t.equal(edit("a:\n  - b: 1\n    c: 2", set(["a", 1], { b: "3", c: 4 })),
    'a:\n  - b: 1\n    c: 2\n  - b: "3"\n    c: 4');
  t.equal(edit("a: [b]\n", set(["a", 1], "x")), "a: [b, x]\n");
  t.equal(edit("a: []\n", set(["a", 0], "x:y")), 'a: ["x:y"]\n');
  t.equal(edit("a:\n  -\n", set(["a", 1], "x")), "a:\n  -\n  - x\n");
});

test("removes entries of blocks", async (t) => {
  const text = "spec:\n  a: 1 # a\n  # of b\n"
    + "  b:\n    - x\n    - y # y\n    - z\n\n  c:\n    d: |\n      text\n\n  e:\n";
  t.equal(edit(text, remove(["spec", "a"])), text.replace("  a: 1 # a\n", ""));
  t.equal(edit(text, remove(["spec", "b", 1])), text.replace("    - y # y\n", ""));
  t.equal(edit(text, remove(["spec", "b"])), text.replace(/ {2}b:\n.*?z\n/s, ""));
  t.equal(edit(text, remove(["spec", "c"])), text.replace("  c:\n    d: |\n      text\n", ""));
  t.equal(edit(text, remove(["spec", "c", "d"])), text.replace("  c:\n    d: |\n      text\n", "  c: {}\n"));
  t.equal(edit(text, remove(["spec", "e"])), text.replace("  e:\n", ""));
  t.equal(edit(text, remove(["spec", "absent"]), remove(["spec", "b", 7]), remove(["spec", "a", "b"])), text);
  t.equal(edit("a: 1\nb: 2", remove(["b"])), "a: 1");
  t.equal(edit("a: 1", remove(["a"])), "{}");
  t.equal(edit("x: # c\n- a\ny: 1\n", remove(["x", 0])), "x: [] # c\ny: 1\n");
  t.equal(edit("x: # c\n- a\ny: 1\n", remove(["x", 0]), remove(["x"])), "y: 1\n");
  t.equal(edit("x:\n- a: 1\n  b: 2\n- c: 3\n", remove(["x", 0, "a"])), "x:\n- b: 2\n- c: 3\n");
  t.equal(edit("x:\n- a: 1\n  b: 2\n- c: 3\n", remove(["x", 1, "c"])), "x:\n- a: 1\n  b: 2\n- {}\n");
  t.equal(edit("x:\n- a: 1 # c\n  b: 2\n", remove(["x", 0, "a"])), null, "a comment that would be lost");
  t.equal(edit("x:\n-\n- b\n", remove(["x", 0])), "x:\n- b\n");
});

test("removes entries of flows", async (t) => {
  t.equal(edit("a: {b: 1, c: [x, y, z], d: }\n", remove(["a", "b"])), "a: {c: [x, y, z], d: }\n");
  t.equal(edit("a: {b: 1, c: [x, y, z]}\n", remove(["a", "c", 1])), "a: {b: 1, c: [x, z]}\n");
  t.equal(edit("a: {b: 1, c: [x]} # d\n", remove(["a", "c", 0])), "a: {b: 1, c: []} # d\n");
  t.equal(edit("a: [b, # c\n  d]\n", remove(["a", 1])), null, "a comment that would be lost");
});

test("renames a field in its place", async (t) => {
  const text = "spec:\n  'rol': 'x' # c\n  b: {rol: 1}\n";
  t.equal(edit(text, ...rename(["spec", "rol"], "arn", "x")), text.replace("'rol'", "'arn'"));
  t.equal(edit(text, ...rename(["spec", "b", "rol"], "arn", 1)), text.replace("rol: 1", "arn: 1"));
  t.equal(edit(text, ...rename(["spec", "rol"], "b", "x")), "spec:\n  b: x\n", "an existing field is replaced");
  t.equal(edit(text, ...rename(["spec", "rol"], "arn", "v")), "spec:\n  b: {rol: 1}\n  arn: v\n", "another value");
  const nested = "a:\n  b: # c\n    - d\n";
  t.equal(edit(nested, ...rename(["a", "b"], "e", ["d"])), nested.replace("b:", "e:"));
  t.equal(edit("l:\n- a\n- b\n", remove(["l", 0]), set(["l", 1], "a")), "l:\n- b\n- a\n");
});

test("changes only what differs between two lists or objects", async (t) => {
  const text = "a:\n  - b # 1\n  - c # 2\n  - d # 3\nm:\n  x: 1 # x\n  y: 2\n";
  t.equal(edit(text, set(["a"], ["b", "d"])), text.replace("  - c # 2\n", ""));
  t.equal(edit(text, set(["a"], ["b", "x", "d", "e"])), text.replace("- c", "- x").replace("# 3\n", "# 3\n  - e\n"));
  t.equal(edit(text, set(["a"], ["x", "v"])),
    text.replace("- b", "- x").replace("- c", "- v").replace("  - d # 3\n", ""));
  t.equal(edit(text, set(["a"], [])), text.replace(/:\n {2}- b.*?# 3\n/s, ": []\n"));
  t.equal(edit(text, set(["a"], "b")), text.replace(/:\n {2}- b.*?# 3\n/s, ": b\n"));
  t.equal(edit(text, set(["m"], { x: 1, z: 3 })), text.replace("  y: 2\n", "  z: 3\n"));
  t.equal(edit("a:\n- - b\n  - c\n- d\n", set(["a", 0], "x")), "a:\n- x\n- d\n");
  t.equal(edit("a: [b]\n", set(["a", "k"], 1)), "a: {k: 1}\n");
});

test("keeps CRLF and edits JSON", async (t) => {
  t.equal(edit("a:\r\n  b: 1 # c\r\n", set(["a", "c"], { d: "e" })), "a:\r\n  b: 1 # c\r\n  c:\r\n    d: e\r\n");
  t.equal(edit("a:\r\n  b: 1\r\n  c: 2", remove(["a", "c"])), "a:\r\n  b: 1");
  t.equal(edit("a:\r\n  b: 1\r\nc: 2\r\n", remove(["a", "b"])), "a: {}\r\nc: 2\r\n");
  const json = '{\n  "a": {\n    "b": "c"\n  },\n  "d": []\n}\n';
  t.equal(edit(json, set(["a", "x"], "y")), json.replace('"c"', '"c",\n    "x": "y"'));
  t.equal(edit(json, set(["a", "x"], { y: [1] })),
    json.replace('"c"', '"c",\n    "x": {\n      "y": [\n        1\n      ]\n    }'));
  t.equal(edit(json, set(["d", 0], "e")), json.replace("[]", '["e"]'));
  t.equal(edit(json, remove(["d"])), '{\n  "a": {\n    "b": "c"\n  }\n}\n');
  t.equal(edit(json, set(["a", "b"], "x")), json.replace('"c"', '"x"'));
  t.equal(edit(json, ...rename(["a", "b"], "x", "c")), json.replace('"b"', '"x"'));
  t.equal(edit('{"a": 1}', set(["b"], { c: ["d"] })), '{"a": 1, "b": {"c": ["d"]}}');
});

test("edits one of several documents, and the items of Lists", async (t) => {
  const text = "# 1\na: 1\n---\n# 2\na: 2\n...\n---\na: 3\n";
  const at = (document: number, ...edits: readonly Edit[]): string | null => editText(text, { document }, edits);
  t.equal(at(1, set(["a"], 9)), text.replace("1\n---", "9\n---"));
  t.equal(at(2, set(["a"], 9)), text.replace("a: 2", "a: 9"));
  t.equal(at(3, set(["b"], 9)), `${text}b: 9\n`);
  t.equal(at(2, remove([])), "# 1\na: 1\n---\na: 3\n");
  t.equal(at(4, remove([])), null);
  t.equal(at(2, remove(["a"]), remove([])), null);
  const list = "kind: List\nitems:\n- a: 1 # x\n  b: 2\n- a: 3\n";
  const item = (index: number, ...edits: readonly Edit[]): string | null =>
    editText(list, { document: 1, at: ["items", index] }, edits);
  t.equal(item(1, set(["a"], 9)), list.replace("3", "9"));
  t.equal(item(0, remove([])), list.replace("- a: 1 # x\n  b: 2\n", ""));
});

test("leaves a text that it cannot edit without a guess", async (t) => {
  const anchors = "a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 1\nf: !!str 1\n? g\n: 1\nh: |\n  text\ni: | # c\n  text\n";
  t.equal(edit(anchors, set(["a", "b"], 2)), null, "below an anchor");
  t.equal(edit(anchors, set(["a"], 2)), null);
  t.equal(edit(anchors, set(["c"], 2)), null, "an alias");
  t.equal(edit(anchors, set(["d", "e"], 2)), null, "beside a merge key");
  t.equal(edit(anchors, set(["d", "f"], 2)), null);
  t.equal(edit(anchors, set(["f"], 2)), null, "a tag");
  t.equal(edit(anchors, remove(["g"])), null, "an explicit key");
  t.equal(edit(anchors, set(["i"], "x")), null, "a comment in a block scalar");
  t.equal(edit(anchors, set(["h"], "x")), anchors.replace("|\n  text\n", "x\n"));
  t.equal(edit("a: 1\na: 2\n", set(["a"], 3)), null, "a duplicate field");
  t.equal(edit("%YAML 1.1\n---\na: 1\n", set(["a"], 3)), null, "a directive");
  t.equal(edit("- a\n", set([0], 3)), null, "not an object");
  t.equal(edit("a: [", set(["a"], 3)), null, "invalid YAML");
  t.equal(edit("a: |+\n  x\n\nb: 1\n", remove(["b"])), "a: |+\n  x\n\n");
  t.equal(edit("a: |+\n  x\n\n", set(["b"], 1)), null, "a block scalar that would change");
  t.equal(edit("&k a: 1\n", set(["b"], 1)), null);
});

test("adds an object in a document of its own", async (t) => {
  const added = (text: string, object: JsonObject): string | null => (
    EditableText.of(text).with(object)?.toString() ?? null
  );
  t.equal(added("a: 1", { b: { c: ["d"] } }), "a: 1\n---\nb:\n  c:\n    - d\n");
  t.equal(added("", { b: 1 }), "b: 1\n");
  t.equal(added('{"a": 1}', { b: 1 }), null);
});

test("edits the object that was read", async (t) => {
  const text = "kind: A\nmetadata: {name: x}\n---\nkind: B\n";
  const object = { kind: "A", metadata: { name: "x" } };
  const place = (document: number): ObjectPlace => ({ document, object });
  t.equal(editText(text, place(1), [set(["a"], 1)]), text.replace("\n---", "\na: 1\n---"));
  t.equal(editText(text, place(2), [set(["a"], 1)]), null, "another kind");
  t.equal(editText(text.replace("x", "z"), place(1), [set(["a"], 1)]), null, "another name");
  t.equal(editText("metadata: {name: x}\n", place(1), [set(["a"], 1)]), "metadata: {name: x}\na: 1\n");
  t.equal(EditableText.of(text).lengthOf(2), 12);
  t.equal(EditableText.of(text).lengthOf(3), 0);
});
