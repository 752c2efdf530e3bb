import { test } from "tap";
import { type ReadinessInput, webhookReadiness } from "../../../shared/server/readiness.ts";

const GOOD: ReadinessInput = {
  draining: false,
  inventory: { loaded: true, lastSyncMs: 0, fault: null },
  maxStalenessMs: 300_000,
  certificateNotAfter: new Date(1_000_000),
  nowMs: 300_000,
};

test("loaded, current, with a valid certificate: ready, to the millisecond", (t) => {
  t.same(webhookReadiness(GOOD), { ready: true, reasons: [] });
  t.same(webhookReadiness({ ...GOOD, inventory: { loaded: true, lastSyncMs: 0, fault: "a blip" } }).ready, true, "a fault alone is not staleness");
  t.equal(webhookReadiness({ ...GOOD, nowMs: 300_001 }).ready, false);
  t.end();
});

test("every reason is said, a line each", (t) => {
  t.same(webhookReadiness({ ...GOOD, draining: true, inventory: { loaded: false, lastSyncMs: null, fault: "a.yaml:1: bad\nb.yaml:2: bad" }, nowMs: 1_000_000 }), {
    ready: false,
    reasons: [
      "stopping",
      "the inventory has not been loaded yet: a.yaml:1: bad; b.yaml:2: bad",
      "the serving certificate expired at 1970-01-01T00:16:40.000Z",
    ],
  });
  t.same(webhookReadiness({ ...GOOD, inventory: { loaded: true, lastSyncMs: 0, fault: "the API server refuses" }, nowMs: 400_000 }).reasons, [
    "the inventory was last current 400 s ago, more than --max-staleness 300 s: the API server refuses",
  ]);
  t.end();
});
