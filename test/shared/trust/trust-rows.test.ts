import type { IdentitySession, IdentitySource, RoleTarget } from "../../../shared/core/role-target.ts";
import { test } from "tap";
import { type SessionExtras, NO_EXTRAS } from "../../../shared/core/session.ts";
import type { RoleCaller } from "../../../shared/trust/role-caller.ts";
import { TrustCallers } from "../../../shared/trust/trust-rows.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";

const NOW = 1_795_000_000;
const BOB = "arn:aws:iam::111122223333:user/bob";
const INLINE = { RolePolicyList: [{ PolicyName: "sts", PolicyDocument: document(grant()) }] };
const SIDECAR = { sessionName: "ack-role-resolver", defaults: NO_EXTRAS };

function caller(fields: Partial<RoleCaller> = {}): RoleCaller {
  return { arn: APP, via: "ack", credentials: "irsa", sidecar: SIDECAR, ...fields };
}

function selector(extras: Partial<SessionExtras> = {}, namespace: string | null = "a"): RoleTarget {
  return { kind: "selector", name: "team-a", roleARN: ROLE, extras: { ...NO_EXTRAS, ...extras }, namespace };
}

function identity(session: Partial<IdentitySession> = {}, source: IdentitySource | null = null): RoleTarget {
  const none = { externalID: null, sessionName: null, durationSeconds: null, tags: [], transitiveTags: [] };
  return { kind: "identity", name: "clusters", roleARN: ROLE, session: { ...none, ...session }, source };
}

/** Returns `VERDICT`, and for each action that is not a yes `ACTION REASON`, and the missing input. */
function rowOf(statements: readonly Fields[], from: RoleCaller, target: RoleTarget): string {
  const user = { Arn: BOB, UserId: "AIDAEXAMPLEEXAMPLEID1", UserPolicyList: [{ ...INLINE.RolePolicyList[0] }] };
  const data = dataOf(
    exportOf({ RoleDetailList: [roleDetail(ROLE, document(...statements)), roleDetail(NEAR, document(), INLINE)] }),
    exportOf({ RoleDetailList: [roleDetail(APP, document(), INLINE)], UserDetailList: [user] }),
  );
  const [row, ...others] = new TrustCallers({ callers: [from], data, nowSeconds: NOW }).rowsOf(target);
  if (row === undefined) return "none";
  if (others.length > 0) throw new Error("one row for a role and a caller");
  const { verdict, actions, missing } = row.decision;
  const failed = actions.filter((one) => one.verdict !== "yes").map(({ action }) => action);
  return [verdict, ...failed, ...missing].join(" ");
}

const NAMED = [allow({ AWS: [APP, BOB] })];
const TAGGED = allow({ AWS: [APP, BOB] }, { Action: "sts:TagSession" });

function where(operator: string, key: string, value: unknown): Fields[] {
  return [allow({ AWS: [APP, NEAR, BOB] }, { Condition: { [operator]: { [key]: value } } })];
}

test("ACK sends a name of its SDK, 900 seconds, and nothing else", async (t) => {
  t.equal(rowOf(NAMED, caller(), selector()), "yes");
  t.equal(rowOf(where("StringLike", "sts:RoleSessionName", "aws-go-sdk-*"), caller(), selector()), "yes");
  t.equal(rowOf(where("StringLike", "sts:RoleSessionName", "ack-*"), caller(), selector()), "no sts:AssumeRole");
  const extras = { externalID: "x1", tags: [{ key: "team", value: "a" }], sourceIdentity: "ack",
    durationSeconds: 7200 };
  t.equal(rowOf(NAMED, caller(), selector(extras)), "yes", "only the sidecar reads annotations");
  t.equal(rowOf(where("StringEquals", "sts:ExternalId", "x1"), caller(), selector(extras)), "no sts:AssumeRole");
  t.equal(rowOf(NAMED, caller(), { kind: "map", name: "ack-role-account-map/1", roleARN: ROLE }), "yes");
  t.equal(rowOf(NAMED, caller(), identity()), "none");
});

test("EKS Pod Identity adds transitive tags, which each role must allow", async (t) => {
  const pods = caller({ credentials: "pod-identity" });
  t.equal(rowOf(NAMED, pods, selector()), "no sts:TagSession");
  t.equal(rowOf([...NAMED, TAGGED], pods, selector()), "yes");
  const byTag = where("StringLike", "aws:PrincipalTag/kubernetes-namespace", "*");
  t.equal(rowOf([...byTag, TAGGED], pods, selector()), "yes");
  t.match(rowOf([...where("StringEquals", "aws:PrincipalTag/eks-cluster-name", "c"), TAGGED], pods, selector()),
    /^unknown/);
  t.equal(rowOf(byTag, caller(), selector()), "no sts:AssumeRole", "IRSA adds none");
  const stranger = "arn:aws:iam::444455556666:role/x";
  const byTeam = allow({ AWS: [APP, stranger] }, {
    Action: ["sts:AssumeRole", "sts:TagSession"], Condition: { StringEquals: { "aws:PrincipalTag/team": "a" } },
  });
  t.equal(rowOf([byTeam], pods, selector()), "no sts:AssumeRole sts:TagSession", "the role has no such tag");
  t.match(rowOf([byTeam], { ...pods, arn: stranger }, selector()), /^unknown .*aws:PrincipalTag\/team/,
    "no export has the tags of the role");
  const open = caller({ credentials: null });
  t.match(rowOf(NAMED, open, selector()), /^unknown sts:TagSession the credentials of the caller, /);
  t.equal(rowOf([...NAMED, TAGGED], open, selector()), "yes");
  t.equal(rowOf([], open, selector()), "no sts:AssumeRole");
});

test("the sidecar sends the settings of the selector and its own", async (t) => {
  const tags = [{ key: "account", value: "{account}" }, { key: "ns", value: "{namespace}" }];
  const defaults = { ...NO_EXTRAS, externalID: "x0", tags };
  const sidecar = caller({ via: "sidecar", sidecar: { sessionName: "ctl", defaults } });
  const both = (...conditions: readonly Fields[][]): Fields[] => [...conditions.flat(), TAGGED];
  t.equal(rowOf(both(where("StringEquals", "sts:ExternalId", "x0")), sidecar, selector()), "yes");
  t.equal(rowOf(both(where("StringEquals", "sts:ExternalId", "x1")), sidecar, selector({ externalID: "x1" })), "yes");
  t.equal(rowOf(both(where("StringEquals", "sts:RoleSessionName", "ctl")), sidecar, selector()), "yes");
  t.equal(rowOf(both(where("StringEquals", "aws:RequestTag/ns", "a")), sidecar, selector()), "yes");
  t.equal(rowOf(both(where("StringEquals", "aws:RequestTag/account", "222222222222")), sidecar, selector()), "yes");
  t.match(rowOf(both(where("StringEquals", "aws:RequestTag/ns", "a")), sidecar, selector({}, null)),
    /^unknown .*aws:Request/);
  t.equal(rowOf(NAMED, sidecar, selector()), "no sts:TagSession");
  t.equal(rowOf(NAMED, caller({ via: "sidecar" }), selector({ durationSeconds: 7200 })), "yes",
    "it shortens the session");
  t.equal(rowOf(NAMED, caller({ via: "sidecar" }), selector({ sourceIdentity: "ack" })), "no sts:SetSourceIdentity");
  const tagged = identity({ tags: [{ key: "team", value: "b" }], transitiveTags: ["team"], externalID: "x2" });
  t.equal(rowOf(both(where("StringEquals", "sts:TransitiveTagKeys", "team")), sidecar, tagged), "yes");
  t.equal(rowOf(NAMED, sidecar, { kind: "map", name: "m/k", roleARN: ROLE }), "yes", "defaults are for selectors");
});

test("the EKS Capability tags every session with values of which only the namespace is known", async (t) => {
  const capability = caller({ via: "eks-capability", credentials: null });
  t.equal(rowOf(NAMED, capability, selector()), "no sts:TagSession");
  t.equal(rowOf([...where("StringEquals", "aws:RequestTag/eks:kubernetes-namespace", "a"), TAGGED], capability,
    selector()), "yes");
  t.match(rowOf([...where("StringEquals", "aws:RequestTag/eks:kubernetes-api-group", "x"), TAGGED], capability,
    selector()), /^unk/);
  t.match(rowOf([...where("StringEquals", "aws:RequestTag/eks:kubernetes-namespace", "a"), TAGGED], capability,
    { kind: "role", name: ROLE, roleARN: ROLE }), /^unknown .*aws:RequestTag\/eks:kubernetes-namespace/);
  t.equal(rowOf(NAMED, capability, { kind: "map", name: "m/k", roleARN: ROLE }), "none");
});

test("CAPA sends the external ID, the name and the duration of an identity, and no tags", async (t) => {
  const capa = caller({ via: "capa" });
  const session = { externalID: "x1", sessionName: "capa", tags: [{ key: "team", value: "a" }] };
  t.equal(rowOf(where("StringEquals", "sts:ExternalId", "x1"), capa, identity(session)), "yes");
  t.equal(rowOf(where("StringEquals", "sts:RoleSessionName", "capa"), capa, identity(session)), "yes");
  t.equal(rowOf(where("StringLike", "sts:RoleSessionName", "aws-go-sdk-*"), capa, identity({ sessionName: "" })),
    "yes");
  t.equal(rowOf(where("Null", "sts:ExternalId", "true"), capa, identity({ externalID: "" })), "yes");
  t.equal(rowOf(NAMED, capa, identity({ durationSeconds: 0 })), "yes");
  t.equal(rowOf(NAMED, capa, identity({ durationSeconds: 7200 })), "no sts:AssumeRole");
  t.equal(rowOf(NAMED, capa, selector()), "none");
});

test("the role of a source assumes the role of an identity, with the tags that it inherits", async (t) => {
  const source = { roleARN: NEAR, tags: [{ key: "team", value: "a" }], hasOtherBase: false };
  const near = [allow({ AWS: NEAR })];
  t.equal(rowOf(near, caller({ via: "capa" }), identity({}, source)), "yes");
  t.equal(rowOf(NAMED, caller({ via: "capa" }), identity({}, source)), "no sts:AssumeRole");
  t.equal(rowOf(near, caller({ via: "sidecar" }), identity({}, source)), "no sts:TagSession");
  const pods = caller({ via: "capa", credentials: "pod-identity" });
  t.equal(rowOf(near, pods, identity({}, source)), "no sts:TagSession");
  t.equal(rowOf(near, pods, identity({}, { ...source, hasOtherBase: true })), "yes", "another user starts the chain");
  t.equal(rowOf(near, caller({ via: "capa" }), identity({}, { ...source, roleARN: "x" })), "no sts:AssumeRole");
});

test("a user calls without session tags", async (t) => {
  t.equal(rowOf(NAMED, caller({ arn: BOB, credentials: "keys" }), selector()), "yes");
  t.equal(rowOf(NAMED, caller({ arn: BOB, credentials: null }), selector()), "yes");
  t.throws(
    () => rowOf(NAMED, caller({ arn: BOB }), selector()),
      { message: /user\/bob is a user: pass --caller-credentials keys/ },
  );
  t.throws(() => rowOf(NAMED, caller({ arn: "pods.eks.amazonaws.com" }), selector()), { message: /is a service/ });
});

test("a role without an ARN is a no, and a role is not asked about itself", async (t) => {
  t.equal(rowOf(NAMED, caller(), { kind: "map", name: "m/k", roleARN: "team a" }), "no sts:AssumeRole");
  t.equal(rowOf(NAMED, caller(), { kind: "role", name: APP, roleARN: APP }), "none");
  t.equal(rowOf(NAMED, caller(), { kind: "role", name: ROLE, roleARN: ROLE }), "yes");
});
