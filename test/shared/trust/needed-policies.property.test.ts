import * as fc from "fast-check";
import { test } from "tap";
import { type NeededCall, neededCall, type NeededTag } from "../../../shared/trust/needed-call.ts";
import { neededCallerPolicy, neededTrustPolicy } from "../../../shared/trust/needed-policies.ts";
import { isAllowed } from "../../../shared/trust/policy-plan.ts";
import { answer } from "../../../shared/trust/trust-question.ts";
import { trustedBy } from "../../../shared/trust/trusted.ts";
import { parsePolicy } from "../../../shared/trust/policy-document.ts";
import { parameters } from "../property.ts";
import { dataOf, exportOf, roleDetail } from "./iam-export.ts";
import { selectorOf } from "./needed-selector.ts";
import { APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";

const NOW = 1_795_000_000;
/** A role that no policy names, and that may assume every role. */
const STRANGERS = ["arn:aws:iam::222222222222:role/stranger", "arn:aws:iam::111122223333:role/stranger"];

const settings = fc.record({
  "external-id": fc.constantFrom("team-a", "a:b/c.d@e=f,g+h"), "session-name": fc.constantFrom("team-a", "a=b,c"),
  "source-identity": fc.constantFrom("alice", "a.b@c"),
  "session-tags": fc.constantFrom(
    "team=a", "team={namespace},cost=1 000", "group={group}", "team={namespace}/{group},Owner=me@example.com", "empty=",
  ),
}, { requiredKeys: [] });
const spec = fc.constantFrom<Fields>(
  {}, { namespaceSelector: { names: ["team-b", "team-a"] } },
  { namespaceSelector: { names: [], labelSelector: { matchLabels: { tier: "gold" } } } },
);
const callers = fc.subarray([APP, NEAR], { minLength: 1 });
const call: fc.Arbitrary<NeededCall> = fc.tuple(
  settings, spec, callers, fc.constantFrom("ack", "sidecar", "sidecar", "eks-capability"),
  fc.constantFrom("irsa", "pod-identity", "keys", null),
).map(([own, fields, all, via, credentials]) => (
  neededCall([selectorOf(own, fields)], { callers: all, via, credentials })
));

function inline(document: unknown): Fields {
  return { RolePolicyList: [{ PolicyName: "in", PolicyDocument: document }] };
}

/** Returns exports in which the role and its callers have the generated policies, and strangers may do everything. */
function exportsOf(needed: NeededCall): ReturnType<typeof dataOf> {
  const callerRoles = needed.callers.map((arn) => {
    const policy = neededCallerPolicy(arn, [needed]);
    return roleDetail(arn, { Statement: [] }, policy === null ? {} : inline(policy));
  });
  const strangers = STRANGERS.map((arn) => roleDetail(arn, { Statement: [] }, inline({ Statement: [grant()] })));
  const roles = [roleDetail(ROLE, neededTrustPolicy(needed)), ...callerRoles, ...strangers];
  const of = (account: string): Fields => exportOf({
    RoleDetailList: roles.filter(({ Arn: arn }) => String(arn).includes(`:${account}:`)),
  });
  return dataOf(of("222222222222"), of("111122223333"));
}

function firstValue({ key, values: [value = ""] }: NeededTag): [string, string] {
  return [key, value.replaceAll("*", "x")];
}

test("the generated policies let each caller assume the role, and nobody else", async (t) => {
  fc.assert(fc.property(call, (needed) => {
    const data = exportsOf(needed);
    const existing = { data, nowSeconds: NOW };
    const trust = neededTrustPolicy(needed);
    const { policy } = parsePolicy(JSON.stringify(trust), "trust");
    const trusted = policy === null ? [] : trustedBy(policy).map(({ name }) => name);
    return needed.callers.every((one) => isAllowed(one, needed, trust, existing) === "yes")
      && STRANGERS.every((one) => isAllowed(one, needed, trust, existing) === "no")
      && JSON.stringify(trusted) === JSON.stringify(needed.callers.toSorted());
  }), parameters(t, 1_000));
});

test("trust check says yes to the generated policies, and no to a call without one of the settings", async (t) => {
  fc.assert(fc.property(call.filter(({ addedTagKeys }) => addedTagKeys.length === 0), (needed) => {
    const data = exportsOf(needed);
    const { externalID, sessionName, sourceIdentity } = needed;
    const tags = new Map(needed.tags.map(firstValue));
    const sent = { externalID, sessionName, sourceIdentity, tags, transitiveTagKeys: [], durationSeconds: null };
    const less = [
      ...externalID === null ? [] : [{ ...sent, externalID: null }, { ...sent, externalID: "another" }],
      ...sourceIdentity === null ? [] : [{ ...sent, sourceIdentity: null }],
      ...sessionName === null ? [] : [{ ...sent, sessionName: "another" }],
      ...tags.size === 0 ? [] : [{ ...sent, tags: new Map() }],
      { ...sent, tags: new Map([...tags, ["other", "x"]]) },
    ];
    const verdict = (principalARN: string, parts: typeof sent): string => (
      answer({ principalARN, roleARN: ROLE, parameters: parts }, data, NOW).verdict
    );
    return needed.callers.every((one) => (
      verdict(one, sent) === "yes" && less.every((parts) => verdict(one, parts) === "no")
    )) && STRANGERS.every((one) => verdict(one, sent) === "no");
  }), parameters(t, 300));
});
