import { type Test, test } from "tap";
import { YAMLError } from "yaml";
import { LIMITS } from "../../../shared/core/limits.ts";
import { formatInputFault, readManifests } from "../../../shared/files/manifest-reader.ts";

const HEAD = "apiVersion: v1\nkind: ConfigMap\n";
const { value: DEPTH } = LIMITS.objectDepth;
const TOO_DEEP = `nested deeper than ${DEPTH} levels`;

const faultsOf = (text: string): string[] => readManifests(text, "a.yaml").faults.map(formatInputFault);

test("accepts an object with 100 levels, and reports the line of level 101", (t) => {
  // The object itself is level 1.
  const flow = (levels: number): string => `${HEAD}a:\n ${"[".repeat(levels - 1)}1${"]".repeat(levels - 1)}\n`;
  const block = (levels: number): string =>
    HEAD + Array.from({ length: levels }, (_, i) => `${" ".repeat(i)}a:`).join("\n");
  const json = (levels: number): string =>
    `{"apiVersion": "v1", "kind": "ConfigMap", "a":\n${'{"a":'.repeat(levels - 1)}1${"}".repeat(levels)}`;
  for (const [form, line] of [[flow, 4], [block, 2 + DEPTH + 1], [json, 2]] as const) {
    t.same(faultsOf(form(DEPTH)), []);
    t.same(faultsOf(form(DEPTH + 1)), [`a.yaml:${line}: ${TOO_DEEP}`]);
  }
  const empty = `${HEAD}a: ${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}`;
  t.same(faultsOf(empty), [`a.yaml:3: ${TOO_DEEP}`]);
  t.end();
});

test("reports deep nesting in each form of YAML and JSON", (t) => {
  for (const nested of ["[", "{a: ", "- ", "? ", '{"a":', "[? ", "&a [", "!!seq ["]) {
    t.same(faultsOf(`${HEAD}---\n\n${nested.repeat(100_000)}`), [`a.yaml:5: ${TOO_DEEP}`], nested);
  }
  t.end();
});

test("reports the alias through which an object exceeds the depth limit", (t) => {
  const chain = (prefix: string, from: string): string =>
    Array.from({ length: 60 }, (_, i) => `${prefix}${i}: &${prefix}${i} [*${i === 0 ? from : `${prefix}${i - 1}`}]`)
      .join("\n");
  t.same(faultsOf(`${HEAD}x: &x []\n${chain("a", "x")}\n`), []);
  t.same(faultsOf(`${HEAD}x: &x []\n${chain("a", "x")}\n${chain("b", "a59")}\n`), [`a.yaml:102: ${TOO_DEEP}`]);
  t.end();
});

test("limits the values that the aliases of all documents in a file expand to", (t) => {
  const values = `x: &x [${"a,".repeat(9_999)}]`;
  const document = `---\n${HEAD}${values}\ny: [*x, *x, *x, *x]\n`;
  t.same(faultsOf(document.repeat(2)), []);
  t.same(faultsOf(document.repeat(4)), [
    `a.yaml:15: aliases expand to more than ${LIMITS.aliasedValues.value} values; use several files`,
    `a.yaml:20: aliases expand to more than ${LIMITS.aliasedValues.value} values; use several files`,
  ]);
  t.end();
});

test("limits the number of documents and of faults of a file", (t) => {
  const { value: documents } = LIMITS.manifestDocuments;
  t.same(faultsOf("---\n".repeat(documents + 1)), [
    `a.yaml:${documents + 1}: more than ${documents} YAML documents; use several files`,
  ]);
  const { value: limit } = LIMITS.faultsPerFile;
  const faults = faultsOf("---\nx: 1\n".repeat(limit + 5));
  t.equal(faults.length, limit + 1);
  t.equal(faults.at(-1), "a.yaml: and 5 more faults");
  t.end();
});

test("limits the size of a text from standard input", (t) => {
  const { value: limit } = LIMITS.manifestBytes;
  t.same(faultsOf(" ".repeat(limit + 1)), [`a.yaml:1: larger than ${limit} bytes; use several files`]);
  t.end();
});

test("parses a long number in linear time", (t) => {
  for (const prefix of ["", "0x", "0b", "0", "-"]) {
    const digits = "1".repeat(5_000_000);
    const { manifests, faults } = readManifests(`${HEAD}a: ${prefix}${digits}\n`, "a.yaml");
    t.same(faults, []);
    t.equal(manifests[0]?.object["a"], `${prefix}${digits}`, "kubectl parses a number out of range as a string");
  }
  t.end();
});

test("creates and reports one error for each invalid document, regardless of its number of faults", (t) => {
  const created = countErrors(t);
  const flowMap = 'invalid YAML: Unexpected flow-map-end token in YAML document: "}"';
  for (const [text, faults] of [
    ["}".repeat(1_000), [`a.yaml:1: ${flowMap}`]],
    [`{${",".repeat(1_000)}}`, ["a.yaml:1: invalid YAML: Unexpected , in flow map"]],
    ["%UNKNOWN\n".repeat(1_000) + `---\n${HEAD}`, []],
    [`}\n}\n---\na: 1\n---\n}\n...\n%YAML 1.1\n}\n---\n${HEAD}`, [`a.yaml:1: ${flowMap}`, `a.yaml:9: ${flowMap}`]],
  ] as const) {
    const before = created();
    t.same(faultsOf(text), faults);
    t.ok(created() - before <= 3, `${created() - before} errors`);
  }
  t.end();
});

/** Counts the errors that the yaml package creates from now on. The returned function returns the count. */
function countErrors(t: Test): () => number {
  let created = 0;
  Object.defineProperty(YAMLError.prototype, "pos", {
    configurable: true,
    set(value) {
      created++;
      Object.defineProperty(this, "pos", { value });
    },
  });
  t.teardown(() => Reflect.deleteProperty(YAMLError.prototype, "pos"));
  return () => created;
}
