import type { RoleTarget } from "../../../shared/core/role-target.ts";
import { test } from "tap";
import type { NeededCallers } from "../../../shared/trust/needed-call.ts";
import { foreignRoles, policyPlan, type PolicyPlan, resourcesOf } from "../../../shared/trust/policy-plan.ts";
import { needsByRole, type RoleNamers } from "../../../shared/trust/role-needs.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { selectorOf } from "./needed-selector.ts";
import { identityTarget } from "./review.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";

const MAP: RoleTarget = { kind: "map", name: "ack-role-account-map/1", roleARN: ROLE };
const SIDECAR: NeededCallers = { callers: [APP], via: "sidecar", credentials: "irsa" };
const CAPA: NeededCallers = { ...SIDECAR, via: "capa" };

function planOf(namers: Partial<RoleNamers>, callers: NeededCallers = SIDECAR): PolicyPlan {
  const { needs, faults } = needsByRole({ selectors: [], others: [], ...namers }, callers.via);
  if (faults.length > 0) throw new Error(faults.join());
  return policyPlan(needs, callers, null);
}

/** Returns the statements of the trust policy of the only role, without the version. */
function statementsOf(namers: Partial<RoleNamers>, callers: NeededCallers = SIDECAR): readonly unknown[] {
  const [role, ...others] = planOf(namers, callers).roles;
  if (others.length > 0) throw new Error("one role");
  return role?.trustPolicy.Statement ?? [];
}

function named(fields: Fields = {}): Fields {
  return { Sid: "AssumeRole", ...allow({ AWS: APP }), ...fields };
}

const TAGS = [{ key: "team", value: "a" }];

test("a role of a CARM map needs its caller, and no settings of selectors", async (t) => {
  t.same(statementsOf({ others: [MAP] }), [named()]);
  t.same(statementsOf({ others: [MAP] }, { ...SIDECAR, via: "ack" }), [named()]);
  t.same(statementsOf({ others: [MAP] }, { ...SIDECAR, via: "eks-capability" }), [], "it reads no maps");
  t.match(statementsOf({ others: [MAP] }, { ...SIDECAR, credentials: "pod-identity" }), [named(), {
    Action: "sts:TagSession", Condition: { "ForAllValues:StringEquals": { "aws:TagKeys": /^eks-cluster-arn/ } },
  }]);
});

test("the role of an identity demands what the program sends", async (t) => {
  const identity = identityTarget({ externalID: "x1", sessionName: "capa", tags: TAGS });
  const demanded = { "sts:ExternalId": "x1", "sts:RoleSessionName": "capa" };
  t.same(statementsOf({ others: [identity] }, CAPA), [named({ Condition: { StringEquals: demanded } })]);
  t.match(statementsOf({ others: [identity] }), [
    named({ Condition: { StringEquals: { ...demanded, "aws:RequestTag/team": "a" } } }), { Action: "sts:TagSession" },
  ]);
  t.same(statementsOf({ others: [identityTarget({ externalID: "", sessionName: "" })] }, CAPA), [named()]);
  t.same(statementsOf({ others: [identity] }, { ...SIDECAR, via: "ack" }), [], "ACK reads no identities");
});

test("the role of an identity with a source trusts the source, which needs a policy of its own", async (t) => {
  const far = "arn:aws:iam::333333333333:role/base";
  const chained = identityTarget({}, { roleARN: far, tags: TAGS, hasOtherBase: false });
  t.same(statementsOf({ others: [chained] }, CAPA), [named({ Principal: { AWS: far } })]);
  t.match(planOf({ others: [chained] }, CAPA).callers, [
    { caller: APP, policy: null },
    { caller: far, policy: { Statement: [{ Action: "sts:AssumeRole", Resource: ROLE }] } },
  ]);
  const keysOf = (callers: NeededCallers, hasOtherBase = false): unknown => {
    const one = identityTarget({}, { roleARN: far, tags: TAGS, hasOtherBase });
    return JSON.stringify(statementsOf({ others: [one] }, callers)).match(/"aws:TagKeys":(\[[^\]]*\]|"[^"]*")/)?.[1];
  };
  const pods = { ...SIDECAR, credentials: "pod-identity" } as const;
  t.equal(keysOf(SIDECAR), '["team"]', "the source passes its tags on");
  t.match(keysOf(pods), /^\["eks-cluster-arn",.*"team"\]$/);
  t.equal(keysOf(pods, true), '["team"]', "a user starts the chain");
  t.equal(keysOf(CAPA), undefined, "CAPA sends no tags");
});

test("a role that several objects name has the statements of each once", async (t) => {
  const namers = { selectors: [selectorOf({ "external-id": "x1" })], others: [MAP, MAP, identityTarget()] };
  t.same(statementsOf(namers), [
    named({ Condition: { StringEquals: { "sts:ExternalId": "x1" } } }), named({ Sid: "AssumeRole2" }),
  ]);
  const plan = planOf(namers);
  t.match(plan.roles, [{ selectors: ["team-a"], identities: ["clusters"], maps: [MAP.name, MAP.name] }]);
  t.match(resourcesOf(plan)[0]?.remarks, [
    "selectors: team-a", "identities: clusters", `CARM maps: ${MAP.name}, ${MAP.name}`,
  ]);
  t.notMatch(planOf({ selectors: [selectorOf()] }).roles, [{ identities: [] }]);
});

test("a difference is as bad as the worst of the calls of a caller", async (t) => {
  const data = dataOf(
    exportOf({ RoleDetailList: [roleDetail(ROLE, document())] }),
    exportOf({ RoleDetailList: [roleDetail(APP, document(), { RolePolicyList: [
      { PolicyName: "sts", PolicyDocument: document(grant({ Action: "sts:AssumeRole" })) },
    ] })] }),
  );
  const allowed = (others: readonly RoleTarget[]): unknown => {
    const { needs } = needsByRole({ selectors: [], others }, "sidecar");
    return policyPlan(needs, SIDECAR, { data, nowSeconds: 1_795_000_000 }).roles[0]?.difference?.callers;
  };
  t.same(allowed([MAP]), [{ caller: APP, allowed: "yes" }]);
  t.same(allowed([MAP, identityTarget({ tags: TAGS })]), [{ caller: APP, allowed: "no" }], "sts:TagSession is missing");
  const elsewhere = identityTarget({}, { roleARN: "arn:aws:iam::333333333333:role/b", tags: [], hasOtherBase: false });
  t.match(allowed([elsewhere, MAP]), [{ allowed: "unknown" }, { caller: APP, allowed: "yes" }]);
});

test("names what has no policy, and roles of other partitions", async (t) => {
  const bad: RoleTarget = { kind: "map", name: "m/k", roleARN: "x" };
  const source = { roleARN: "y", tags: [], hasOtherBase: false };
  const { needs, faults } = needsByRole({ selectors: [], others: [bad, identityTarget({}, source), MAP] }, "sidecar");
  t.same([needs.map(({ role }) => role), faults], [[ROLE], [
    "ConfigMap m/k: the role, or that of its source, is not the ARN of an IAM role",
    "AWSClusterRoleIdentity clusters: the role, or that of its source, is not the ARN of an IAM role",
  ]]);
  t.same(foreignRoles(needs, SIDECAR), []);
  t.same(foreignRoles(needs, { ...SIDECAR, callers: [NEAR.replace("aws", "aws-cn")] }), [ROLE]);
});
