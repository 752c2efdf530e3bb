import { test } from "tap";
import type { Program } from "../../../shared/trust/role-caller.ts";
import type { Credentials } from "../../../shared/trust/added-tags.ts";
import { neededCall, type NeededCall } from "../../../shared/trust/needed-call.ts";
import {
  callerSizeWarnings, neededCallerPolicy, neededTrustPolicy, sizeOf, trustSizeWarnings,
} from "../../../shared/trust/needed-policies.ts";
import { selectorOf } from "./needed-selector.ts";
import { APP, NEAR, ROLE } from "./trust-cases.ts";

const CALL: NeededCall = {
  role: ROLE, callers: [APP], externalID: null, sessionName: null, sourceIdentity: null, tags: [], addedTagKeys: [],
};

test("a call without session settings needs one statement, whose principal is the ARN of the caller", async (t) => {
  t.same(neededTrustPolicy(CALL).Statement, [
    { Sid: "AssumeRole", Effect: "Allow", Principal: { AWS: APP }, Action: "sts:AssumeRole" },
  ]);
  t.same(neededCallerPolicy(APP, [CALL])?.Statement, [
    { Sid: "AssumeRoles1", Effect: "Allow", Action: "sts:AssumeRole", Resource: ROLE },
  ]);
  t.equal(neededCallerPolicy(NEAR, [CALL]), null, "in one account, the trust policy is enough");
  const other = { ...CALL, role: `${ROLE}2`, sourceIdentity: "alice" };
  t.same(neededCallerPolicy(APP, [other, CALL, { ...CALL, role: `${ROLE}1` }])?.Statement.map((one) => one.Resource), [
    [ROLE, `${ROLE}1`], `${ROLE}2`,
  ]);
  t.same(neededCallerPolicy(NEAR, [other, CALL])?.Statement, [
    { Sid: "AssumeRoles1", Effect: "Allow", Action: "sts:SetSourceIdentity", Resource: `${ROLE}2` },
  ]);
});

test("session settings need a statement for each action, with the conditions that its request has", async (t) => {
  const selector = selectorOf({
    "external-id": "x1", "session-name": "team-a", "source-identity": "alice",
    "session-tags": "team={namespace},group={group}",
  }, { namespaceSelector: { names: ["b", "a"] } });
  const call = neededCall([selector], { callers: [NEAR, APP], via: "sidecar", credentials: "irsa" });
  const tags = {
    StringEquals: { "aws:RequestTag/team": ["a", "b"] }, StringLike: { "aws:RequestTag/group": "*" },
  };
  t.same(neededTrustPolicy(call).Statement.map(({ Action, Condition }) => [Action, Condition]), [
    ["sts:AssumeRole", { ...tags, StringEquals: {
      "sts:ExternalId": "x1", "sts:RoleSessionName": "team-a", "sts:SourceIdentity": "alice", ...tags.StringEquals,
    } }],
    ["sts:TagSession", { ...tags, "ForAllValues:StringEquals": { "aws:TagKeys": ["group", "team"] } }],
    ["sts:SetSourceIdentity", { StringEquals: { "sts:SourceIdentity": "alice" } }],
  ]);
  t.same(neededTrustPolicy(call).Statement[0]?.Principal, { AWS: [APP, NEAR] });
});

test("tags that AWS adds need sts:TagSession too, and only for their keys", async (t) => {
  const selector = selectorOf({ "external-id": "x1" });
  const of = (via: Program, credentials: Credentials): unknown => (
    neededTrustPolicy(neededCall([selector], { callers: [APP], via, credentials })).Statement
      .map(({ Action, Condition }) => [Action, Object.values(Condition ?? {}).flatMap((keys) => Object.keys(keys))])
  );
  t.same(of("ack", "irsa"), [["sts:AssumeRole", []]], "ACK sends no external ID");
  t.same(of("sidecar", "irsa"), [["sts:AssumeRole", ["sts:ExternalId"]]]);
  t.same(of("sidecar", "pod-identity"), [
    ["sts:AssumeRole", ["sts:ExternalId"]], ["sts:TagSession", ["aws:TagKeys"]],
  ]);
  t.same(of("eks-capability", "irsa"), [["sts:AssumeRole", []], ["sts:TagSession", ["aws:TagKeys"]]]);
});

test("a tag with the namespace has the namespaces of all selectors of the role, or any", async (t) => {
  const named = selectorOf({ "session-tags": "team={namespace}" }, { namespaceSelector: { names: ["a", "b"] } });
  const open = selectorOf({ "session-tags": "team={namespace}" }, { namespaceSelector: undefined });
  const callers = { callers: [APP], via: "sidecar", credentials: null } as const;
  t.same(neededCall([named, named], callers).tags, [{ key: "team", values: ["a", "b"], isPattern: false }]);
  t.same(neededCall([named, open], callers).tags, [{ key: "team", values: ["*"], isPattern: true }]);
});

test("says when a policy does not fit, in characters without white space", async (t) => {
  const call = (count: number, role = ROLE): NeededCall => (
    { ...CALL, role, callers: Array.from({ length: count }, (_, i) => `${APP}${i}`) }
  );
  t.same(trustSizeWarnings(neededTrustPolicy(call(30))), []);
  const large = neededTrustPolicy(call(60));
  t.match(trustSizeWarnings(large), [new RegExp(`has ${sizeOf(large)} characters, .* 2048 .*; request a higher`)]);
  t.match(trustSizeWarnings(neededTrustPolicy(call(300))), [/no account has more than 8192/]);
  const calls = (count: number): NeededCall[] => Array.from({ length: count }, (_, i) => call(1, `${ROLE}${i}`));
  const warnings = (count: number): string[] | null => {
    const policy = neededCallerPolicy(APP, calls(count));
    return policy === null ? null : callerSizeWarnings(policy);
  };
  t.same(warnings(100), []);
  t.match(warnings(180), [/than the 6144 of a managed policy; use inline policies, which have 10240/]);
  t.match(warnings(400), [/of a managed policy; give the roles a common path/]);
});
