import { test } from "tap";
import { VALUE_TYPES } from "../../../shared/core/value-types.ts";

test("each type admits its valid texts, and states what is wrong with the others", (t) => {
  for (const [name, { cel, faults, valid, invalid }] of Object.entries(VALUE_TYPES)) {
    t.match(cel("variables.a"), "variables.a", name);
    for (const text of valid) t.same(faults(text), [], `${name}: ${JSON.stringify(text)}`);
    for (const text of invalid) t.ok(faults(text).length > 0, `${name}: ${JSON.stringify(text)}`);
  }
  t.end();
});
