import * as fc from "fast-check";
import { test } from "tap";
import { statedExpirationMs } from "../../../sidecar/http/respond.ts";

const NOW = Date.parse("2026-08-01T12:00:00Z");
const MINUTE = 60_000;

test("returns an expiration 5 min before the true expiration of a 1 h session", async (t) =>
  t.equal(statedExpirationMs(NOW + 60 * MINUTE, NOW), NOW + 55 * MINUTE));

test("returns an expiration 1 min from now for credentials that expire within 6 min", async (t) => {
  t.equal(statedExpirationMs(NOW + 6 * MINUTE, NOW), NOW + MINUTE);
  t.equal(statedExpirationMs(NOW + 6 * MINUTE + 1, NOW), NOW + MINUTE + 1);
  t.equal(statedExpirationMs(NOW + 2 * MINUTE, NOW), NOW + MINUTE);
});

test("returns no expiration that is later than the true expiration", async (t) => {
  t.equal(statedExpirationMs(NOW + 30_000, NOW), NOW + 30_000);
  fc.assert(
    fc.property(
      fc.integer({ min: -86_400_000, max: 86_400_000 }),
      (lifeMs) => statedExpirationMs(NOW + lifeMs, NOW) <= NOW + lifeMs,
    ),
  );
});
