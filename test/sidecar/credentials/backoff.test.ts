import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
import {
  backoffFor, CircuitOpenError, DeniedCallerError, UpstreamSTSError,
} from "../../../sidecar/sts-upstream/errors.ts";
import { THROTTLED } from "../fake-sts.ts";

test("caches a role error for 60 s and an invalid request for 300 s, and evicts a session on AccessDenied", (t) => {
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

test("delays the next call by 0 to 200 ms after one outage error, and by up to 30 s after many errors", (t) => {
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

test("does not cache an error if STS was not called", (t) => {
  const none = { delayMs: 0, isCounted: false, evictsSession: false, isRejection: false };
  t.same(backoffFor(new CircuitOpenError("open"), 3, 0.5), none);
  t.end();
});

test("evicts a session whose caller is denied: by STS, or by the API server that issues its token", (t) => {
  const evicts = (error: ResolverError): boolean => backoffFor(error, 0, 0.5).evictsSession;
  t.equal(evicts(new DeniedCallerError("ERR_IDENTITY_SECRET", "denied")), true);
  t.equal(evicts(new ResolverError("ERR_CLUSTER_UNREADABLE", "unknown")), false);
  t.end();
});
