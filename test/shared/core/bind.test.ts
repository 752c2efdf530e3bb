import { test } from "tap";
import { bindIn, type BoundChecks } from "../../../shared/core/bind.ts";
import type { Fault } from "../../../shared/core/check.ts";
import { drain, type MaybePaced, type Paced } from "../../../shared/formats/paced.ts";

const FOUND: readonly Fault[] = [{ path: ["metadata", "labels"], message: "wrong" }];

function* inSteps(): Paced<readonly Fault[]> {
  yield 1;
  return FOUND;
}

function moved(faults: () => MaybePaced<readonly Fault[]>): BoundChecks {
  return bindIn((path) => ["spec", ...path], { checks: [], faults, oldFaults: null });
}

test("moves the paths of the faults of a contained object, also of those that are found in steps", async (t) => {
  const expected = [{ path: ["spec", "metadata", "labels"], message: "wrong" }];
  t.same(moved(() => FOUND).faults(0), expected);
  const steps = moved(inSteps).faults(0);
  t.same("next" in steps ? drain(steps) : null, expected);
  t.equal(moved(inSteps).oldFaults, null);
});
