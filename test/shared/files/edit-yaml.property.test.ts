import { equal, ok } from "node:assert/strict";
import { array, assert, boolean, constantFrom, dictionary, integer, letrec, oneof, property, tuple } from "fast-check";
import { test } from "tap";
import { Document, visit } from "yaml";
import { applyEdits, type Edit, remove, set } from "../../../shared/core/repair.ts";
import { EditableText } from "../../../shared/files/edit-yaml.ts";
import { parseValues } from "../../../shared/files/manifest-reader.ts";
import { type FieldPath, isJsonObject, isSame, type JsonObject } from "../../../shared/formats/json.ts";

const KEY = constantFrom("a", "b", "c", "spec", "x-y/z", "111122223333", "0123", "y", "with space", "k:");
const SCALAR = oneof(
  constantFrom(
    "x", "true", "null", "1", "012345678901", "arn:aws:iam::111122223333:role/a", "it's", "a: b", "- a", "", " a ",
    "é\u2028", "two\nlines\n", "#c", "*", "~",
  ), integer(), boolean(), constantFrom(null, 1.5),
);
const { value: VALUE } = letrec<{ value: unknown }>((tie) => ({
  value: oneof({ depthSize: "small" }, SCALAR, array(tie("value"), { maxLength: 3 }), dictionary(KEY, tie("value"))),
}));
const OBJECT = dictionary(KEY, VALUE, { minKeys: 1 });
/** Numbers that choose the steps of a path, and whether the value is removed. */
const EDIT = tuple(array(integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 4 }), boolean(), KEY, VALUE);

/** Returns a path into the object; its last step may be a field or item that does not exist. */
function pathIn(object: unknown, steps: readonly number[], name: string): FieldPath {
  const [first = 0, ...rest] = steps;
  if (Array.isArray(object)) {
    const index = Math.min(first, object.length);
    return [index, ...(rest.length > 0 && index < object.length ? pathIn(object[index], rest, name) : [])];
  }
  if (!isJsonObject(object)) return [];
  const key = Object.keys(object)[first];
  return key === undefined ? [{ key: name }] : [key, ...(rest.length > 0 ? pathIn(object[key], rest, name) : [])];
}

function editsOf(object: JsonObject, all: readonly (readonly [number[], boolean, string, unknown])[]): Edit[] {
  return all.map(([steps, isRemoved, name, value]) => {
    const path = pathIn(object, steps, name);
    return isRemoved ? remove(path) : set(path, value);
  });
}

/** Returns the object as YAML in which some collections are in flow style, and with comments. */
function textOf(object: JsonObject, flows: number, options: { indentSeq: boolean; indent: number }): string {
  const document = new Document(object, { version: "1.1" });
  let number = 0;
  visit(document, {
    Collection(_, node) {
      number += 1;
      if (number > 1 && (number * 7) % 5 < flows) node.flow = true;
    },
    Scalar(key, node) {
      if (key === "value" && number % 3 === 0 && typeof node.value !== "object") node.comment = ` c${number}`;
    },
  });
  return document.toString({ ...options, lineWidth: 0 });
}

test("writes exactly what random edits mean, or nothing", async (t) => {
  let [edited, left] = [0, 0];
  const style = tuple(integer({ min: 0, max: 3 }), boolean(), constantFrom(2, 4), boolean());
  assert(property(OBJECT, array(EDIT, { minLength: 1, maxLength: 3 }), style, (object, all, options) => {
    const [flows, indentSeq, indent, isCRLF] = options;
    const yaml = textOf(object, flows, { indentSeq, indent });
    const text = isCRLF ? yaml.replaceAll("\n", "\r\n") : yaml;
    const [stored] = parseValues(text);
    if (!isJsonObject(stored)) return;
    const edits = editsOf(stored, all);
    const result = EditableText.of(`${text}---\nother: 1\n`).edited({ document: 1 }, edits)?.toString() ?? null;
    if (result === null) left += 1;
    else {
      edited += 1;
      const expected = applyEdits(stored, edits);
      const values = parseValues(result);
      ok(isSame(values[0], expected) && isSame(values[1], { other: 1 }), JSON.stringify({ text, edits, result }));
      equal(/[^\r]\n/.test(result.replace("---\nother: 1\n", "")) && isCRLF, false, "the line ends stay");
    }
  }), { numRuns: 200 });
  t.comment(`${edited} edited, ${left} left`);
  t.ok(left * 4 < edited, `${left} of ${edited + left} are left`);
});
