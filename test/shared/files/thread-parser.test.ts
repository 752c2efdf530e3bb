import { test } from "tap";
import { LIMITS } from "../../../shared/core/limits.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { manifestsOf, ThreadParser } from "../../../shared/files/thread-parser.ts";

const HEAD = "apiVersion: v1\nkind: ConfigMap\n";

test("parses texts in order, and the event loop runs in the meantime", async (t) => {
  const parser = new ThreadParser();
  let turns = 0;
  setImmediate(() => void turns++);
  const texts = [`${HEAD}metadata: {name: a}\n---\n\n${HEAD}`, "x: 1"];
  const parsed = await Promise.all(texts.map((text) => parser.parse({ text, file: "a.yaml" })));
  t.equal(turns, 1);
  const [result] = parsed.map((one) => drain(manifestsOf(one, "a.yaml")));
  t.match(result?.manifests, [
    { object: { kind: "ConfigMap", metadata: { name: "a" } }, file: "a.yaml", document: 1 },
    { object: { kind: "ConfigMap" }, file: "a.yaml", document: 2 },
  ]);
  t.same(result?.manifests.map(({ lineOf }) => lineOf(["metadata", "name"])), [1, 6], "the line of the object");
  t.match(parsed[1], { objects: [], faults: [{ file: "a.yaml", line: 1, message: /^not a Kubernetes object/ }] });
  await parser.close();
});

test("rejects a text that contains an object with more than 50,000 values", async (t) => {
  const parser = new ThreadParser();
  // The object has 3 more values: apiVersion, kind and the list itself.
  const text = (values: number): string => `${HEAD}a: [${"1,".repeat(values - 3)}]\n`;
  const { value: limit } = LIMITS.manifestValues;
  const accepted = await parser.parse({ text: text(limit), file: "a.yaml" });
  t.same([accepted.objects.length, accepted.faults], [1, []]);
  const rejected = await parser.parse({ text: `${HEAD}---\n${text(limit + 1)}`, file: "a.yaml" });
  t.equal(rejected.objects.length, 0);
  t.same(rejected.faults, [
    { file: "a.yaml", line: 4, message: `the object has more than ${limit} values; split the object` },
  ]);
  await parser.close();
});

test("reports a fault if the thread fails, and starts a new thread for the next text", async (t) => {
  const parser = new ThreadParser();
  // @ts-expect-error: the reader throws if the text is null.
  const failed = await parser.parse({ text: null, file: "a.yaml" });
  const message = /^cannot be parsed: .*several files$/;
  t.match(failed, { objects: [], faults: [{ file: "a.yaml", line: null, message }] });
  t.match(await parser.parse({ text: HEAD, file: "b.yaml" }), { objects: [String], faults: [] });
  await parser.close();
});

test("reports a fault for each text that is not parsed when the parser is closed", async (t) => {
  const parser = new ThreadParser();
  const parsing = ["a.yaml", "b.yaml"].map((file) => parser.parse({ text: HEAD, file }));
  await parser.close();
  t.match(await Promise.all(parsing), [
    { objects: [], faults: [{ file: "a.yaml" }] }, { objects: [], faults: [{ file: "b.yaml" }] },
  ]);
});
