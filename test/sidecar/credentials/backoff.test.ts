import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import { judgeFailure } from "../../../sidecar/credentials/backoff.ts";
import { CircuitOpen } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { THROTTLED } from "../fake-sts.ts";

test("what STS says of a role is remembered for a minute, what it says of a request for five, and only a denial ends what is kept", (t) => {
  const table = [
    ["AccessDenied", 60_000, true], ["AccessDeniedException", 60_000, true], ["RegionDisabledException", 60_000, false],
    ["ValidationError", 300_000, false], ["MalformedPolicyDocument", 300_000, false], ["PackedPolicyTooLarge", 300_000, false],
    ["SomethingNew", 60_000, false],
  ] as const;
  for (const [stsCode, forMs, endsKept] of table) {
    t.same(judgeFailure(new UpstreamSTSError("said", { stsCode, stsStatus: 403 }), 3, 0.5), { forMs, counts: true, endsKept, refused: true }, stsCode);
  }
  t.end();
});

test("trouble is backed off from with full jitter, from 200 ms to 30 s", (t) => {
  const mostMs = Array.from({ length: 12 }, (_, failures) => judgeFailure(THROTTLED, failures, 1).forMs);
  t.same(mostMs, [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000, 30_000]);
  t.equal(judgeFailure(THROTTLED, 5, 0).forMs, 0);
  t.equal(judgeFailure(THROTTLED, 5, 0.25).forMs, 1_600);
  t.same(judgeFailure(new ResolverError("ERR_BASE_UNAVAILABLE", "none"), 0, 0.5), { forMs: 100, counts: true, endsKept: false, refused: false });
  t.same(judgeFailure(new TypeError("a fault of ours"), 5_000, 0.5), { forMs: 15_000, counts: true, endsKept: false, refused: false });
  t.end();
});

test("where STS was not asked nothing is remembered", (t) => {
  t.same(judgeFailure(new CircuitOpen("open"), 3, 0.5), { forMs: 0, counts: false, endsKept: false, refused: false });
  t.end();
});
