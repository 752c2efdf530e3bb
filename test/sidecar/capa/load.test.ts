import { test } from "tap";
import { MINUTE } from "../fake-sts.ts";
import { simulateClusters } from "./simulate-clusters.ts";

test("calls STS at most 2.2 times per hour and session for 200 clusters, at any request rate", async (t) => {
  const [few, many] = [await simulateClusters(10 * MINUTE), await simulateClusters(MINUTE)];
  t.match([few.sessions, many.sessions], [205, 205]);
  t.match([few.requests, many.requests], [3_600, 36_000]);
  t.ok(few.perHour <= 2.2, `${few.perHour.toFixed(3)} calls per hour and session`);
  t.ok(few.perHour > 1.5, "the sessions are refreshed");
  t.equal(many.calls, few.calls, "ten times the requests cause no additional call");
});
