import * as fc from "fast-check";
import { test } from "tap";
import { ElementReader, type JSONElement } from "../../../shared/trust/json-elements.ts";
import { parameters } from "../property.ts";

/** Reads a text in chunks of some bytes. */
function read(text: string, size = 7): JSONElement[] {
  const bytes = new TextEncoder().encode(text);
  const reader = new ElementReader();
  const elements: JSONElement[] = [];
  for (let at = 0; at < bytes.length; at += size) elements.push(...reader.read(bytes.subarray(at, at + size)));
  reader.finish();
  return elements;
}

test("splits an object into the elements of its lists", async (t) => {
  t.same(read('{"a": [{"b": [1, 2]}, "]", []], "c": {"d": [3]}, "e": true, "f": []}'), [
    { key: "a", index: 0, value: { b: [1, 2] } }, { key: "a", index: 1, value: "]" }, { key: "a", index: 2, value: [] },
    { key: "a", index: null, value: [] }, { key: "c", index: null, value: { d: [3] } },
    { key: "e", index: null, value: true }, { key: "f", index: null, value: [] },
  ]);
  t.same(read('{"a":[1]}\n{"a":[2]}').map(({ value }) => value), [1, [], 2, []], "pages follow each other");
  t.same(read("\uFEFF{}"), [], "a byte order mark");
});

test("has the values of JSON.parse, in chunks of any size", async (t) => {
  const object = fc.dictionary(fc.string(), fc.oneof(fc.array(fc.jsonValue(), { maxLength: 4 }), fc.jsonValue()));
  fc.assert(fc.property(object, fc.integer({ min: 1, max: 20 }), fc.constantFrom(0, 2), (value, size, indent) => {
    const expected = Object.entries(value).flatMap(([key, member]): JSONElement[] => (
      Array.isArray(member)
        ? [...member.map((item, index) => ({ key, index, value: item })), { key, index: null, value: [] }]
        : [{ key, index: null, value: member }]
    ));
    return JSON.stringify(read(JSON.stringify(value, null, indent), size)) === JSON.stringify(expected);
  }), parameters(t, 500));
});

test("rejects a text that is cut, or not an object", async (t) => {
  const cases: Readonly<Record<string, RegExp>> = {
    '{"a": [1': /cut off/, '{"a": "': /cut off/, "": /empty/, "[1]": /not a JSON object/, "{}x": /follows/,
    "{}}": /closes nothing/, '{"a": [x]}': /an element of a is not JSON/, '{"a": [1}': /wrong bracket/,
    'x{"a":1}': /not a JSON object/, '{"a" 1}': /an element of the object is not JSON/, '{"a":1]': /not a JSON object/,
    '{1 [2]}': /is not JSON/, "1,{}": /not a JSON object/,
  };
  for (const [text, expected] of Object.entries(cases)) t.throws(() => read(text), expected, text);
  t.throws(() => [...new ElementReader().read(new Uint8Array([0x7B, 0xFF, 0x7D]))], /the text is not UTF-8/);
});

test("rejects an object that states a key twice", async (t) => {
  const cases: Readonly<Record<string, RegExp>> = {
    '{"a": [{"b": {"c": 1, "c": 2}}]}': /an element of a: the key "c" is stated twice; remove one/,
    '{"a": {"c": 1, "c": 2}}': /an element of the object: the key "c" is stated twice/,
    '{"a": [], "b": 1, "a": []}': /^the key "a" is stated twice/, '{"a": 1, "a": 2}': /key "a" is stated twice/,
  };
  for (const [text, expected] of Object.entries(cases)) t.throws(() => read(text), expected, text);
});

test("bounds the size and the depth of an element", async (t) => {
  t.throws(() => read(`{"a": [1, ${"[".repeat(4_000)}`), /a\[1\] is nested deeper than 1000 levels/);
  t.throws(() => read(`{"a": ${'{"b":'.repeat(4_000)}`), /a member is nested deeper than 1000 levels/);
  const reader = new ElementReader();
  const chunk = new Uint8Array(1024 * 1024).fill(0x20);
  t.throws(() => {
    for (let i = 0; i < 70; i++) for (const one of reader.read(chunk)) t.fail(one.key);
  }, /more than 67108864 bytes/);
});
