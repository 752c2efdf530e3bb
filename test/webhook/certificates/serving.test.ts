import { test } from "tap";
import { isRestorable, servingFault } from "../../../webhook/certificates/serving.ts";
import { authority, DAY_MS, leaf, makeCA, makeLeaf, NOW_MS, stored } from "./stored.ts";

const nowMs = NOW_MS + DAY_MS;
const served = leaf({ cert: "served" });

test("a valid certificate replaces the served certificate", (t) => {
  t.equal(servingFault(stored(), null, nowMs), null);
  t.equal(servingFault(stored(), served, nowMs), null);
  t.end();
});

test("an invalid, expired or future certificate never replaces the served certificate, or none", (t) => {
  const garbled = stored({ leaf: null, faults: ["tls.crt: not a PEM certificate", "ca.key: missing"] });
  const future = stored({ leaf: leaf({ notBeforeMs: nowMs + 1 }) });
  const expired = stored({ leaf: leaf({ notAfterMs: nowMs }) });
  for (const current of [null, served]) {
    t.equal(servingFault(garbled, current, nowMs), "tls.crt: not a PEM certificate; ca.key: missing");
    t.match(servingFault(future, current, nowMs), /^tls.crt: is valid only from /);
    t.match(servingFault(expired, current, nowMs), /^tls.crt: is valid only from /);
  }
  t.end();
});

test("a certificate for other names replaces no certificate for the names that is still trusted", async (t) => {
  const ca = await makeCA();
  const current = leaf({ ...(await makeLeaf(ca)) });
  const others = leaf({ missingHosts: ["hook.ns.svc"] });
  const trusted = stored({ leaf: others, ca: authority(ca) });
  t.equal(servingFault(trusted, current, nowMs), "tls.crt: not valid for hook.ns.svc");
  const rotated = stored({ leaf: others, previous: [ca.cert] });
  t.equal(servingFault(rotated, current, nowMs), "tls.crt: not valid for hook.ns.svc");
  t.equal(servingFault(stored({ leaf: others }), current, nowMs), null, "the API server does not trust the served one");
  t.equal(servingFault(trusted, null, nowMs), null, "a certificate for other names is better than none");
  t.equal(servingFault(trusted, leaf({ missingHosts: ["a"] }), nowMs), null);
  t.equal(servingFault(trusted, leaf({ notAfterMs: nowMs }), nowMs), null, "the served certificate expired");
});

test("a certificate of an unknown CA replaces no good certificate", (t) => {
  const untrusted = stored({ leaf: leaf({ isTrusted: false }), faults: ["tls.crt: not signed by the CA in ca.crt"] });
  t.equal(servingFault(untrusted, served, nowMs), "tls.crt: not signed by the CA in ca.crt");
  t.equal(servingFault(untrusted, null, nowMs), null);
  t.end();
});

test("only complete and valid certificates can be restored", (t) => {
  t.equal(isRestorable(stored(), nowMs), true);
  t.equal(isRestorable(null, nowMs), false);
  t.equal(isRestorable(stored({ leaf: null }), nowMs), false);
  t.equal(isRestorable(stored({ faults: ["previous-ca.crt: not a PEM certificate of a CA"] }), nowMs), false);
  t.equal(isRestorable(stored(), NOW_MS + 400 * DAY_MS), false);
  t.end();
});
