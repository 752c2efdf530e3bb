import { test } from "tap";
import { isRestorable } from "../../../certs/rotation/secret-state.ts";
import { DAY_MS, NOW_MS, stored } from "./stored.ts";

const nowMs = NOW_MS + DAY_MS;

test("only complete and valid certificates can be restored", (t) => {
  t.equal(isRestorable(stored(), nowMs), true);
  t.equal(isRestorable(null, nowMs), false);
  t.equal(isRestorable(stored({ leaf: null }), nowMs), false);
  t.equal(isRestorable(stored({ faults: ["previous-ca.crt: not a PEM certificate of a CA"] }), nowMs), false);
  t.equal(isRestorable(stored(), NOW_MS + 400 * DAY_MS), false);
  t.end();
});
