import * as fc from "fast-check";
import { test } from "tap";
import { statedExpirationMs } from "../../../sidecar/http/respond.ts";

const NOW = Date.parse("2026-08-01T12:00:00Z");
const MINUTE = 60_000;

test("states the expiration of a 1 h session 5 min early", async (t) =>
  t.equal(statedExpirationMs(NOW + 60 * MINUTE, NOW), NOW + 55 * MINUTE));

test("states 1 min for credentials that expire within 6 min", async (t) => {
  t.equal(statedExpirationMs(NOW + 6 * MINUTE, NOW), NOW + MINUTE);
  t.equal(statedExpirationMs(NOW + 6 * MINUTE + 1, NOW), NOW + MINUTE + 1);
  t.equal(statedExpirationMs(NOW + 2 * MINUTE, NOW), NOW + MINUTE);
});

test("never states an expiration after the true one", async (t) => {
  t.equal(statedExpirationMs(NOW + 30_000, NOW), NOW + 30_000);
  fc.assert(
    fc.property(
      fc.integer({ min: -86_400_000, max: 86_400_000 }),
      (lifeMs) => statedExpirationMs(NOW + lifeMs, NOW) <= NOW + lifeMs,
    ),
  );
});
