import { test } from "tap";
import { nextStep, type PlanInput, type Step } from "../../../certs/rotation/plan.ts";
import { authority, DAY_MS, leaf, NOW_MS, stored, TIMING } from "./stored.ts";

const INPUT: PlanInput = {
  nowMs: NOW_MS + DAY_MS, timing: TIMING, stored: stored(), canRestore: true, inForceMs: 3_600_000,
  unchangedMs: 3_600_000,
};

function typeOf(input: Partial<PlanInput>): Step["type"] | null {
  return nextStep({ ...INPUT, ...input })?.type ?? null;
}

test("changes nothing while the certificates are valid and not due", (t) => {
  t.equal(nextStep(INPUT), null);
  t.equal(typeOf({ inForceMs: null }), null, "the caBundle is not in force yet");
  t.end();
});

test("issues a certificate at two thirds of its lifetime, and a CA at two thirds of its lifetime", (t) => {
  t.equal(typeOf({ nowMs: NOW_MS + 20 * DAY_MS - 1 }), null);
  t.same(nextStep({ ...INPUT, nowMs: NOW_MS + 20 * DAY_MS }), {
    type: "issue", reason: "two thirds of the certificate's lifetime are over",
  });
  const dueMs = NOW_MS + (365 * DAY_MS * 2) / 3;
  const fresh = leaf({ notBeforeMs: dueMs - DAY_MS, notAfterMs: dueMs + 29 * DAY_MS });
  t.equal(typeOf({ nowMs: dueMs - 1, stored: stored({ leaf: fresh }) }), null);
  t.same(nextStep({ ...INPUT, nowMs: dueMs, stored: stored({ leaf: fresh }) }), {
    type: "stage", reason: "two thirds of the CA's lifetime are over",
  });
  t.end();
});

test("does not issue a certificate that would end at the same time as the current one", (t) => {
  const capped = leaf({ notAfterMs: authority().notAfterMs });
  const nowMs = capped.notAfterMs - 1;
  const next = authority({ notAfterMs: nowMs + DAY_MS });
  t.equal(typeOf({ nowMs, stored: stored({ leaf: capped, next }), inForceMs: null }), null);
  t.end();
});

test("signs with the next CA only after both configurations contained it for the whole time", (t) => {
  const rotating = stored({ next: authority({ cert: "next" }) });
  t.equal(typeOf({ stored: rotating, inForceMs: null }), null);
  t.equal(typeOf({ stored: rotating, inForceMs: TIMING.publishMs - 1 }), null);
  t.equal(typeOf({ stored: rotating, inForceMs: TIMING.publishMs }), "switch");
  const nowMs = NOW_MS + 20 * DAY_MS;
  t.equal(typeOf({ stored: rotating, inForceMs: null, nowMs }), "issue", "the certificate is still renewed");
  t.end();
});

test("removes the previous CA only after the replicas had time to load the new certificate", (t) => {
  const rotated = stored({ previous: ["old"] });
  t.equal(typeOf({ stored: rotated, unchangedMs: TIMING.retireMs - 1 }), null);
  t.equal(typeOf({ stored: rotated, inForceMs: null }), null);
  t.equal(typeOf({ stored: rotated }), "retire");
  t.end();
});

test("starts no rotation during a rotation", (t) => {
  for (const during of [{ next: authority() }, { previous: ["old"] }]) {
    t.equal(typeOf({ stored: stored({ ...during, rotate: "ca" }), inForceMs: null }), null);
  }
  t.equal(typeOf({ stored: stored({ rotate: "ca" }) }), "stage");
  t.equal(typeOf({ stored: stored({ rotate: "leaf" }) }), "issue");
  t.equal(typeOf({ stored: stored({ rotate: "typo" }) }), null);
  t.end();
});

test("after a clock jump of 400 days, creates everything again, because nothing is trusted", (t) => {
  const nowMs = NOW_MS + 400 * DAY_MS;
  t.same(nextStep({ ...INPUT, nowMs, canRestore: false }), {
    type: "create", reason: "the CA is valid only from 2026-01-01T00:00:00.000Z to 2027-01-01T00:00:00.000Z",
  });
  const next = authority({ notAfterMs: NOW_MS + 500 * DAY_MS });
  t.equal(typeOf({ nowMs, stored: stored({ next }), inForceMs: null }), "switch", "the next CA is still valid");
  const renewed = authority({ notAfterMs: NOW_MS + 500 * DAY_MS });
  t.equal(typeOf({ nowMs, stored: stored({ ca: renewed }), canRestore: false }), "issue", "only the leaf expired");
  t.end();
});

test("replaces a certificate that is not valid yet", (t) => {
  t.equal(typeOf({ nowMs: NOW_MS - 1 }), "create");
  t.equal(typeOf({ stored: stored({ leaf: leaf({ notBeforeMs: INPUT.nowMs + 1 }) }) }), "issue");
  t.end();
});

test("repairs an invalid Secret with the remembered certificates, else with what is left", (t) => {
  const faults = ["tls.crt: not a PEM certificate"];
  const noLeaf = stored({ leaf: null, faults });
  t.same(nextStep({ ...INPUT, stored: noLeaf }), { type: "restore", reason: "tls.crt: not a PEM certificate" });
  t.equal(typeOf({ stored: noLeaf, canRestore: false }), "issue");
  t.equal(typeOf({ stored: stored({ ca: null, faults }), canRestore: false }), "create");
  const otherNames = authority({ permitsHosts: false });
  t.equal(typeOf({ stored: stored({ ca: otherNames, leaf: null, faults }), canRestore: false }), "create");
  t.equal(typeOf({ stored: stored({ faults: ["next-ca.crt: not a PEM certificate"] }), canRestore: false }), "issue");
  t.end();
});

test("follows a change of the names", (t) => {
  const missing = leaf({ missingHosts: ["new.ns.svc"] });
  t.same(nextStep({ ...INPUT, stored: stored({ leaf: missing }) }), {
    type: "issue", reason: "the certificate is not valid for new.ns.svc",
  });
  const constrained = authority({ permitsHosts: false });
  t.equal(typeOf({ stored: stored({ leaf: missing, ca: constrained }) }), "stage", "the CA does not permit the name");
  const staged = stored({ leaf: missing, ca: constrained, next: authority() });
  t.equal(typeOf({ stored: staged, inForceMs: 0 }), null);
  t.equal(typeOf({ stored: staged }), "switch");
  t.same(nextStep({ ...INPUT, stored: stored({ next: constrained }) }), {
    type: "stage", reason: "the next CA does not permit the names",
  });
  t.equal(typeOf({ stored: stored({ next: authority({ notAfterMs: NOW_MS }) }) }), "stage", "the next CA expired");
  t.end();
});
