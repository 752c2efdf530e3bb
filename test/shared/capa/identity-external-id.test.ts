import { test } from "tap";
import { roleIdentity } from "../capa-objects.ts";
import { capaLines } from "../core/capa-lines.ts";

// An external ID is confidential, so no message quotes it.
const CASES = [
  ["CI-00", "a number", 123_456, ": expected a string, not a number. Write the field"],
  ["CI-00", "a boolean", true, ": expected a string, not a boolean. Write the field"],
  ["CI-00", "a list", ["s3cret"], ": expected a string, not a list. Write the field"],
  ["CI-21", "a text with a space", "s3 cret", ": the external ID contains characters other than letters"],
  ["CI-21", "a short text", "s", ": the external ID has 1 character, not 2 to 1224. Use"],
] as const;

for (const [id, what, externalID, expected] of CASES) {
  test(`${id} does not quote an external ID that is ${what}`, (t) => {
    const [line = "", ...others] = capaLines(id, roleIdentity("r", "controller", {}, { externalID }));
    t.same(others, []);
    t.ok(line.startsWith(`deny ${id} spec.externalID${expected}`), line);
    t.end();
  });
}
