import { readdirSync, readFileSync } from "node:fs";
import { array, assert, constantFrom, nat, oneof, property, tuple } from "fast-check";
import { test } from "tap";
import { readManifests } from "../../../shared/files/manifest-reader.ts";
import { documentsFromEvents } from "../../../shared/files/yaml-events.ts";
import { differenceOf } from "./reference-parser.ts";

const HEAD = "apiVersion: v1\nkind: ConfigMap\n";
const BUCKET = `# A Bucket
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata:
  name: logs
  labels: {team: a, "cost center": '7'}
  annotations: {} # none
spec:
  name: a b
  encryption:
    rules:
    - bucketKeyEnabled: on
      applyServerSideEncryptionByDefault:
        sseAlgorithm: "aws:kms" # not AES

    -   count: 0123
        size: 1.5
  tagging:
    tagSet: [{key: team, value: é}, {key: x, value: []}]
  "quoted": "a \\"b\\"
    c"
  policy: |
    {"Version": "2012-10-17"}

  folded: >-
    a
    b

    c
  empty:
---
---
${HEAD}data: {}
`;

test("reads objects, lists and scalars like the yaml package", (t) => {
  const documents = documentsFromEvents(BUCKET);
  t.equal(documents?.length, 3);
  t.equal(differenceOf(BUCKET), null);
  t.same([documents?.[0]?.line, documents?.[2]?.line], [3, 34]);
  t.match(documents?.[0]?.value, { spec: { encryption: { rules: [{ bucketKeyEnabled: true }, { count: 83 }] } } });
  t.end();
});

test("leaves rare and invalid syntax to the yaml package", (t) => {
  const texts = [
    "a: &x 1", "a: &x {}", "a: &x\n  b: 1\n", "a: &x 1\nb: *x", "a: !!str 1", "a: !!map {}", "a: !t\n  b: 1\n",
    "<<: {a: 1}", "__proto__: 1", "1: a", '"12": a', "1.5: a", "yes: a", "null: a", "? [a]\n: b", "[a]: b",
    ": a", "a: 1\na: 2", "- \n- a", "-", "- |\n  a\n", "- >\n  a\n", "a: |+\n  b\n\n", "a: |2\n  b\n", "a: >1-\n  b\n",
    "a: .inf", "a: .nan", "%YAML 1.2\n---\na: 1", " %a", "a: 1\n...\n", "...\na: 1", "  ---\na: 1", "a:\tb",
    "a: b\r\n", "a: \u2028", "\uFEFFa: 1", "a: \u0085", 'a: "b\\\n  c"', "a: [b,\n  c]", "a: [b # c\n  ]", "- [] a: 1",
    "a: {b: 1}#c", 'a: "\\U00110000"', `${"a".repeat(1_025)}: b`, `a${" ".repeat(1_025)}: b`, "a: [", "a: 'b",
    "a: b: c", "a: @b", "a:\n  b: 1\n c: 1", `a: ${"x".repeat(1_000_000)}`,
    `${"\n".repeat(65_535)}a: 1`, `${"a: {".repeat(51)}${"}".repeat(51)}`, "---\n".repeat(20_001),
  ];
  t.same(texts.filter((text) => documentsFromEvents(text) !== null), []);
  t.end();
});

test("returns lines after line 255", (t) => {
  const text = `${HEAD}data:\n${"\n".repeat(300)}  a: x\n  b: y\n`;
  t.equal(differenceOf(text), null);
  t.same(readManifests(text, "a.yaml").manifests.map(({ lineOf }) => lineOf(["data", "b"])), [305]);
  t.end();
});

test("returns the values and lines of the yaml package, or null, for random lines", (t) => {
  const indent = constantFrom("", "", "  ", "  ", "    ", " ");
  const word = constantFrom("a", "b", "spec", "on", "kind", "a.b/c", "x y", "12", "0x1f", "1e3", "-1", "~", "", "é");
  const more = constantFrom(
    "", "", " ", ": ", ":", "- ", "- ", " #", "[]", "{}", '"q"', "'q'", '"', "'", ",", "*", "$A", "<a>", "{{x}}", "a://b:1",
    "|", ">-", "|+", "|1", "[a, b]", "{a: b}", "[", "]", "{", "}", "&a ", "!t ", "? ", "\\", "%", "---", "...", "\t",
  );
  const other = tuple(indent, constantFrom("", "", "- ", "- - ", "---", "#"), word, more, word, more)
    .map((parts) => parts.join(""));
  const entry = tuple(indent, word, constantFrom(": x", ": 1", ":", ": |", ": [a]")).map((parts) => parts.join(""));
  const counts = { read: 0 };
  assert(property(array(oneof(other, entry, entry), { maxLength: 6 }), (lines) => {
    const text = lines.join("\n");
    if (documentsFromEvents(text) !== null) counts.read += 1;
    const difference = differenceOf(text);
    if (difference !== null) throw new Error(difference);
  }), { numRuns: 5_000, seed: 11 });
  t.ok(counts.read > 500, `the events parser reads ${counts.read} of 5,000 texts`);
  t.end();
});

test("returns the values and lines of the yaml package, or null, for a changed manifest", (t) => {
  const folder = new URL("../../../manifests/examples/", import.meta.url);
  const examples = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yaml"));
  const texts = [BUCKET, ...examples.map((name) => readFileSync(new URL(name, folder), "utf8"))];
  const insertion = constantFrom(
    "", " ", "  ", "\n", "- ", "-", ":", ": ", "#", " #", "'", '"', "|", ">", "[", "]", "{", "}", ",", "a", "0", "~",
    "\\", "---", "\n---\n", "%", "@", "`", "''", "a: b", ".", "!", "&a ", "*a", "<<: ", "? ", "\n\n", "key:\n",
  );
  const edit = tuple(nat(), nat(3), insertion);
  const counts = { read: 0 };
  assert(property(constantFrom(...texts), array(edit, { minLength: 1, maxLength: 4 }), (text, edits) => {
    const changed = edits.reduce((all, [place, removed, added]) => {
      const at = place % (all.length + 1);
      return all.slice(0, at) + added + all.slice(at + removed);
    }, text);
    if (documentsFromEvents(changed) !== null) counts.read += 1;
    const difference = differenceOf(changed);
    if (difference !== null) throw new Error(`${difference}\n${changed}`);
  }), { numRuns: 3_000, seed: 12 });
  t.ok(counts.read > 500, `the events parser reads ${counts.read} of 3,000 texts`);
  t.end();
});
