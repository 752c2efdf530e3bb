import { test } from "tap";
import { decideWithTrust } from "../../../shared/trust/decide-with-trust.ts";
import { isOpen, policyPlan, resourcesOf } from "../../../shared/trust/policy-plan.ts";
import { credentialsOf } from "../../../shared/trust/role-caller.ts";
import type { RoleNeeds } from "../../../shared/trust/role-needs.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { selectorOf } from "./needed-selector.ts";
import { allow, APP, NEAR, ROLE } from "./trust-cases.ts";

const NOW = 1_795_000_000;
const BOB = "arn:aws:iam::222222222222:user/bob";

function needsOf(role: string = ROLE): RoleNeeds {
  return { role, selectors: [selectorOf({}, { arn: role })], others: [] };
}

test("a plan is open if a policy fits no quota, and not because it needs a higher one", async (t) => {
  const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `${NEAR}${i}`);
  const plan = (count: number): ReturnType<typeof policyPlan> => (
    policyPlan([needsOf()], { callers: many(count), via: "sidecar", credentials: null }, null)
  );
  t.notOk(isOpen(plan(60)));
  t.match(plan(60).roles[0]?.warnings, [/request a higher quota/]);
  t.ok(isOpen(plan(300)));
  const roles = Array.from({ length: 300 }, (_, i) => needsOf(`${ROLE}${i}`));
  t.ok(isOpen(policyPlan(roles, { callers: [APP], via: "sidecar", credentials: null }, null)));
});

test("a caller that needs no policy is no resource", async (t) => {
  const plan = policyPlan([needsOf()], { callers: [NEAR, APP], via: "ack", credentials: "irsa" }, null);
  t.same(resourcesOf(plan).map(({ kind, arn }) => [kind, arn]), [["role", ROLE], ["caller", APP]]);
});

test("reads the credentials of callers from their own trust policies", async (t) => {
  const web = allow({ Federated: "accounts.google.com" }, { Action: "sts:AssumeRoleWithWebIdentity" });
  const data = dataOf(exportOf({ RoleDetailList: [
    roleDetail(NEAR, document(web)), roleDetail(ROLE, document(allow({ Service: "pods.eks.amazonaws.com" }))),
  ] }));
  t.equal(credentialsOf([NEAR], data), "irsa");
  t.equal(credentialsOf([NEAR, ROLE], data), "pod-identity");
  t.equal(credentialsOf([NEAR, APP], data), null, "no export contains the caller");
});

test("a user passes on no tags", async (t) => {
  const data = dataOf(exportOf({
    RoleDetailList: [roleDetail(NEAR, document())], UserDetailList: [{ Arn: BOB, UserId: "AIDAEXAMPLEBOB" }],
  }));
  const call = { role: ROLE, trustPolicy: document(allow({ AWS: [BOB, NEAR] })), addedTagKeys: ["team"] };
  t.equal(decideWithTrust(BOB, call, { data, nowSeconds: NOW }), "yes");
  t.equal(decideWithTrust(NEAR, call, { data, nowSeconds: NOW }), "no", "sts:TagSession is missing");
  t.equal(decideWithTrust(`${NEAR}2`, call, { data, nowSeconds: NOW }), "no", "the caller does not exist");
});
