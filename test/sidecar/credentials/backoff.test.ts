import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import { backoffFor } from "../../../sidecar/credentials/backoff.ts";
import { CircuitOpenError } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { THROTTLED } from "../fake-sts.ts";

test("caches role errors for 60 s and invalid requests for 300 s, and evicts the session on AccessDenied only", (t) => {
  const table = [
    ["AccessDenied", 60_000, true], ["AccessDeniedException", 60_000, true], ["RegionDisabledException", 60_000, false],
    ["ValidationError", 300_000, false], ["MalformedPolicyDocument", 300_000, false],
    ["PackedPolicyTooLarge", 300_000, false], ["SomethingNew", 60_000, false],
  ] as const;
  for (const [stsCode, delayMs, evictsSession] of table) {
    const backoff = backoffFor(new UpstreamSTSError("message", { stsCode, stsStatus: 403 }), 3, 0.5);
    t.same(backoff, { delayMs, isCounted: true, evictsSession, isRejection: true }, stsCode);
  }
  t.end();
});

test("backs off from unavailability with full jitter, from 200 ms to 30 s", (t) => {
  const maxMs = Array.from({ length: 12 }, (_, failures) => backoffFor(THROTTLED, failures, 1).delayMs);
  t.same(maxMs, [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000, 30_000]);
  t.equal(backoffFor(THROTTLED, 5, 0).delayMs, 0);
  t.equal(backoffFor(THROTTLED, 5, 0.25).delayMs, 1_600);
  const unavailable = { isCounted: true, evictsSession: false, isRejection: false };
  const noIdentity = new ResolverError("ERR_BASE_UNAVAILABLE", "no identity");
  t.same(backoffFor(noIdentity, 0, 0.5), { ...unavailable, delayMs: 100 });
  t.same(backoffFor(new TypeError("internal error"), 5_000, 0.5), { ...unavailable, delayMs: 15_000 });
  t.end();
});

test("caches nothing if STS was not called", (t) => {
  const none = { delayMs: 0, isCounted: false, evictsSession: false, isRejection: false };
  t.same(backoffFor(new CircuitOpenError("open"), 3, 0.5), none);
  t.end();
});
