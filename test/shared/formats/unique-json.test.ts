import * as fc from "fast-check";
import { test } from "tap";
import { parseUniqueJSON, RepeatedKey } from "../../../shared/formats/unique-json.ts";
import { parameters } from "../property.ts";

test("has the value of JSON.parse", async (t) => {
  const text = fc.json({ maxDepth: 4 });
  fc.assert(fc.property(text, (json) => JSON.stringify(parseUniqueJSON(json)) === JSON.stringify(JSON.parse(json))),
    parameters(t, 500));
  t.same(parseUniqueJSON('{"a": {"b": ":"}, "c": [{"b": "\\\\"}, {"b": "\\"}:"}]}'), {
    a: { b: ":" }, c: [{ b: "\\" }, { b: '"}:' }],
  });
  const deep = 100_000;
  t.ok(Array.isArray(parseUniqueJSON(`${"[".repeat(deep)}${"]".repeat(deep)}`)));
  t.throws(() => parseUniqueJSON("{"), SyntaxError);
});

test("keeps the text of a number that is not written as its value is", async (t) => {
  t.same(parseUniqueJSON('{"a": 1.0, "b": [1e2, -0, 1.5E3, 12345678901234567890], "c": [-0.50]}'), {
    a: "1.0", b: ["1e2", "-0", "1.5E3", "12345678901234567890"], c: ["-0.50"],
  });
  t.same(parseUniqueJSON('{"a": [1, -2, 0, 1.5, 111122223333], "b": "c: 1.0", "d": 3}'), {
    a: [1, -2, 0, 1.5, 111_122_223_333], b: "c: 1.0", d: 3,
  });
});

test("names the key that an object has twice", async (t) => {
  const cases = {
    '{"a": 1, "a": 1}': "a", '{"a": {"a": 1}, "b": [{"c": "a", "c": "a"}]}': "c",
    '{"Effect":1,"\\u0045ffect":2}': "Effect", '{"":1,"":2}': "",
    '{"__proto__": 1, "b": {}, "__proto__": 2}': "__proto__", '{"\\"}": 1, "\\"}": 2}': String.raw`\"}`,
  };
  for (const [text, key] of Object.entries(cases)) {
    t.throws(() => parseUniqueJSON(text), new RepeatedKey(`the key "${key}" is stated twice; remove one`), text);
  }
});

test("finds a key that is inserted into an object that has it", async (t) => {
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 });
  fc.assert(fc.property(object, fc.jsonValue(), (value, other) => {
    const [key = ""] = Object.keys(value);
    const text = `[${JSON.stringify(other)}, {${JSON.stringify(key)}: 1, ${JSON.stringify(value).slice(1)}]`;
    try {
      parseUniqueJSON(text);
    } catch (error) {
      return error instanceof RepeatedKey;
    }
    return false;
  }), parameters(t, 500));
});
