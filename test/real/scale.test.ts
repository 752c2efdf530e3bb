import { type Test, test } from "tap";
import { measureRow } from "../../bench/results.ts";
import type { Row } from "../../bench/row.ts";
import { FLEET_ROW } from "../../bench/rows/fleet.ts";
import { MASS_CHANGE_ROW } from "../../bench/rows/mass-change.ts";
import { Stage } from "../../bench/stage.ts";
import { KUBERNETES } from "../programs/kubernetes.ts";
import { findPrograms } from "./find-programs.ts";

test("the simulations of bench/scale, with few objects", async (t) => {
  if ((await findPrograms(t, KUBERNETES)) === null) return;
  await t.test("the webhook makes all annotations true again, at its limited rate", async (tt) => {
    const medianOf = await measured(tt, MASS_CHANGE_ROW);
    // A busy machine can read the counter only once while the few annotations are written, and then has no rate.
    tt.notOk(medianOf("annotations written") > 35, `${medianOf("annotations written")} writes per second`);
    tt.ok(medianOf("after the change back, until all are true again") > 0);
    tt.ok(medianOf("requests of the webhook") >= 1, "the webhook is in the default flow schema of service accounts");
    tt.equal(medianOf("requests rejected by priority and fairness"), 0);
  });
  await t.test("each sidecar loads the cluster and receives each new selector", async (tt) => {
    const medianOf = await measured(tt, FLEET_ROW);
    tt.ok(medianOf("requests per start") >= 6, "each sidecar lists and watches three kinds");
    tt.equal(medianOf("requests rejected by priority and fairness, all starts"), 0);
  });
});

/** Runs a row in its quick size. Returns a function that returns the median of a figure. */
async function measured(t: Test, row: Row): Promise<(figure: string) => number> {
  const stage = await Stage.open(true);
  t.teardown(() => stage.close());
  const { error, figures } = await measureRow(stage, row);
  t.equal(error, null);
  return (name) => figures.find((figure) => figure.name === name)?.ours.median ?? Number.NaN;
}
