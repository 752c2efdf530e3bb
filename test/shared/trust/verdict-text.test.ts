import { test } from "tap";
import { decideAssumeRole } from "../../../shared/trust/assume-role.ts";
import type { Caller } from "../../../shared/trust/assume-role-call.ts";
import { type DecisionJSON, decisionJSON } from "../../../shared/trust/verdict-text.ts";
import { allow, APP, type Documents, grant, NEAR, policiesOf, requestOf, sessionOf } from "./trust-cases.ts";

function json(caller: Caller, documents: Documents, durationSeconds: number | null = null): DecisionJSON {
  const request = requestOf(caller, { durationSeconds });
  return decisionJSON(decideAssumeRole(request, policiesOf(documents)), request);
}

test("prints the verdict, the deciding statements and the reason", async (t) => {
  t.same(json(sessionOf(NEAR), { trust: [{ ...allow({ AWS: NEAR }), Sid: "Near" }] }), {
    verdict: "yes",
    actions: [{
      action: "sts:AssumeRole", verdict: "yes",
      statements: [{ side: "trust", policy: "trust", statement: "Near", effect: "Allow" }],
      reason: "allowed, unless an SCP, RCP or VPC endpoint policy denies it",
    }],
    missing: [],
  });
});

test("gives a reason and a fix for each verdict", async (t) => {
  const reason = (caller: Caller, documents: Documents, seconds: number | null = null): string | undefined => (
    json(caller, documents, seconds).actions[0]?.reason
  );
  const [app, near] = [sessionOf(APP), sessionOf(NEAR)];
  const trust = [allow({ AWS: [APP, NEAR] })];
  t.equal(reason(app, { trust: [] }), "no statement of the trust policy allows the caller sts:AssumeRole; add a "
    + "statement that allows the ARN of the caller sts:AssumeRole; the identity policy of the caller must allow it "
    + "too");
  t.equal(reason(near, { trust, identity: [{ ...grant(), Effect: "Deny" }] }), "denied by a statement of the identity "
    + "policy; remove or narrow this statement");
  t.equal(reason(app, { trust }), "no identity policy of the caller allows the call; allow sts:AssumeRole on the role "
    + "there");
  const condition = { Condition: { StringEquals: { "sts:ExternalId": "secret" } } };
  t.equal(reason(near, { trust: [allow({ AWS: NEAR }, condition)] }), "the trust policy names the caller, but its "
    + "conditions on sts:ExternalId do not allow the call; the call sends no external ID; ACK can send one only with "
    + "the sidecar and the annotation external-id");
  const byService = { Condition: { StringEquals: { "aws:SourceAccount": "1", "saml:aud": "x" } } };
  t.equal(reason(near, { trust: [allow({ AWS: NEAR }, byService)] }), "the trust policy names the caller, but its "
    + "conditions on aws:SourceAccount and saml:aud do not allow the call; no such call has aws:SourceAccount; remove "
    + "the condition StringEquals aws:SourceAccount; no such call has saml:aud; remove the condition StringEquals "
    + "saml:aud");
  t.equal(
    reason(app, { trust, identity: null }), "depends on what the input does not contain: identity policy identity",
  );
  t.match(reason(near, { trust }, 7200), /^the duration of 7200 seconds exceeds/);
});
