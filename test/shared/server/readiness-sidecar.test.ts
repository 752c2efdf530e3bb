import { test } from "tap";
import { type ReadinessView, sidecarReadiness } from "../../../shared/server/readiness.ts";

const GOOD: ReadinessView = {
  inventory: { loaded: true, lastSyncMs: 0, fault: null }, maxStalenessMs: 300_000, base: { usable: true, fault: null }, nowMs: 300_000,
};

test("loaded, fresh and with a base identity: ready, to the millisecond, whatever else goes wrong", (t) => {
  t.same(sidecarReadiness(GOOD), { ready: true, reasons: [] });
  const troubled = { ...GOOD, inventory: { loaded: true, lastSyncMs: 0, fault: "a blip" }, base: { usable: true, fault: "STS cannot be reached" } };
  t.same(sidecarReadiness(troubled), { ready: true, reasons: [] }, "the base in hand is good, though it could not be renewed");
  t.same(sidecarReadiness({ ...GOOD, nowMs: 300_001 }), { ready: false, reasons: ["the inventory is older than --max-staleness"] });
  t.equal(sidecarReadiness({ ...GOOD, inventory: { loaded: true, lastSyncMs: null, fault: null } }).ready, false);
  t.end();
});

test("every reason is said, a line each", (t) => {
  const inventory = { loaded: false, lastSyncMs: null, fault: "a.yaml:1: bad\nb.yaml:2: bad" };
  t.same(sidecarReadiness({ ...GOOD, inventory, base: { usable: false, fault: "no credentials" } }).reasons, [
    "the inventory is not loaded: a.yaml:1: bad; b.yaml:2: bad", "no credentials",
  ]);
  t.same(sidecarReadiness({ ...GOOD, base: { usable: false, fault: null } }).reasons, ["the sidecar's own identity is not proved with STS yet"]);
  t.end();
});
