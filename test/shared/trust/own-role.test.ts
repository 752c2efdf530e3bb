import { test } from "tap";
import { type OwnRoleRow, ownRoleRow, type RoleOwner } from "../../../shared/trust/own-role.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { allow, APP, type Fields } from "./trust-cases.ts";

const ISSUER = "oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF";
const PROVIDER = `arn:aws:iam::111122223333:oidc-provider/${ISSUER}`;
const SUBJECT = "system:serviceaccount:ack-system:ack-s3";
const OWNER: RoleOwner = {
  name: "ack-system/ack-s3-controller", roleARN: APP, through: "irsa", account: "ack-system/ack-s3",
};

function row(statements: readonly Fields[] | null, owner: Partial<RoleOwner> = {}): OwnRoleRow {
  const roles = statements === null ? [] : [roleDetail(APP, document(...statements))];
  const data = dataOf(exportOf({ RoleDetailList: roles }));
  return ownRoleRow({ ...OWNER, ...owner }, data, 1_795_000_000);
}

function verdict(statements: readonly Fields[] | null, owner: Partial<RoleOwner> = {}): string {
  const { decision } = row(statements, owner);
  return [decision.verdict, ...decision.actions.filter((one) => one.verdict !== "yes").map(({ reason }) => reason)]
    .join(": ");
}

function web(conditions: Fields, fields: Fields = {}): Fields {
  return allow({ Federated: PROVIDER }, {
    Action: "sts:AssumeRoleWithWebIdentity", Condition: conditions, ...fields,
  });
}

const SUB = `${ISSUER}:sub`;
const AUD = `${ISSUER}:aud`;

test("a controller with IRSA gets its role if the trust policy accepts its service account", async (t) => {
  for (const accepted of [
    { StringEquals: { [SUB]: SUBJECT, [AUD]: "sts.amazonaws.com" } }, { StringLike: { [SUB]: "system:*:ack-*" } },
    { StringEquals: { [SUB.toUpperCase()]: ["system:serviceaccount:a:b", SUBJECT] } }, {},
  ]) t.equal(verdict([web(accepted)]), "yes", JSON.stringify(accepted));
  for (const [conditions, reason] of [
    [{ StringEquals: { [SUB]: "system:serviceaccount:ack-system:ack-*" } }, /add it to the values, because String/],
    [{ StringEquals: { [SUB]: "system:serviceaccount:ack-system:ack-sqs" } }, /and the call has "system:.*:ack-s3"/],
    [{ StringEquals: { [AUD]: "other" } }, /:aud demands "other", and the call has "sts\.amazonaws\.com"/],
    [{ StringNotLike: { [SUB]: "system:serviceaccount:ack-system:*" } }, /remove what matches it from the values$/],
    [{ StringEquals: { "sts:ExternalId": "x" } }, /no such call has sts:ExternalId; remove the condition/],
  ] as const) t.match(verdict([web(conditions)]), new RegExp(`^no: .*${reason.source}`));
  t.match(verdict([web({ StringEquals: { [`${ISSUER}:amr`]: "x" } })]), /^unknown/, "other claims are not known");
  t.match(verdict([web({ StringEquals: { "aws:userid": SUBJECT } })]), /^unknown/);
});

test("a token is accepted only from a provider that the trust policy names, in the account of the role", async (t) => {
  const added = /^no: no statement .* add a statement that allows the principal \{"Federated": "arn:\S+"\} sts:/;
  t.match(verdict([allow({ Service: "pods.eks.amazonaws.com" })]), added);
  const other = PROVIDER.replace("111122223333", "444455556666");
  t.match(verdict([web({}, { Principal: { Federated: other } })]), /oidc-provider\/ISSUER"/);
  t.match(verdict([web({}, { Action: "sts:AssumeRole" })]), /^no: .* but it names the caller in a statement/);
  const saml = "arn:aws:iam::111122223333:saml-provider/x";
  t.equal(verdict([web({}, { Principal: { Federated: [saml, `${PROVIDER}0`, PROVIDER] } })]), "yes");
  const ofOther = { StringEquals: { [SUB]: "system:serviceaccount:a:b" } };
  const first = web(ofOther, { Principal: { Federated: `${PROVIDER}0` } });
  t.equal(verdict([first, web({})]), "yes", "the second provider issues the token");
  t.match(verdict([web({}, { Principal: "*" })]), /^unknown: .* whether Principal \* contains identity providers/);
  t.match(verdict([web({}, { Principal: { Federated: "*" } })]), /^unknown/);
  t.match(verdict([web({}), { ...web({}), Effect: "Deny" }]), /^no: denied by a statement of the trust policy/);
  const denied = { Effect: "Deny", NotPrincipal: { AWS: APP }, Action: "sts:AssumeRoleWithWebIdentity" };
  t.match(verdict([web({}), denied]), /^unknown: .* whether NotPrincipal contains services and identity providers/);
  t.match(verdict(null), /^unknown: .* trust policy/);
  t.match(verdict([]), /^no/);
});

test("the fix of an own role is tried", async (t) => {
  t.match(verdict([]), /, on condition that ISSUER:sub is system:serviceaccount:ack-system:ack-s3$/);
  t.equal(verdict([web({ StringEquals: { [SUB]: SUBJECT } })]), "yes");
  const untagged = verdict([allow({ Service: "pods.eks.amazonaws.com" })], { through: "pod-identity" });
  t.match(untagged, /add a statement that allows the principal \{"Service": "pods\.eks\.\S+"\} sts:TagSession/);
  const tagged = allow({ Service: "pods.eks.amazonaws.com" }, { Action: "sts:TagSession" });
  t.equal(verdict([allow({ Service: "pods.eks.amazonaws.com" }), tagged], { through: "pod-identity" }), "yes");
});

const BOTH = { Action: ["sts:AssumeRole", "sts:TagSession"] };

function pods(conditions: Fields): Fields {
  return allow({ Service: "pods.eks.amazonaws.com" }, { ...BOTH, Condition: conditions });
}

test("EKS Pod Identity gets the role for the tags of the service account", async (t) => {
  const ask = (conditions: Fields, account: string | null = OWNER.account): string => (
    verdict([pods(conditions)], { through: "pod-identity", account })
  );
  const tag = (key: string, value: unknown): Fields => ({ StringEquals: { [`aws:RequestTag/${key}`]: value } });
  t.equal(ask({}), "yes");
  t.equal(ask(tag("kubernetes-namespace", "ack-system")), "yes");
  t.match(ask(tag("kubernetes-namespace", "other")), /^no: .* and the call has "ack-system", which the caller cannot/);
  t.match(ask(tag("Kubernetes-Service-Account", "other")), /^no/);
  t.match(ask(tag("team", "a")), /^no: .*no such call has aws:RequestTag\/team; remove the condition/);
  t.equal(ask(tag("eks-cluster-name", "prod")), "yes", "the cluster is not known, and one has this name");
  t.equal(ask(tag("kubernetes-namespace", "other"), null), "yes", "of some Pod");
  const key = "aws:RequestTag/kubernetes-namespace";
  const twice = { ...tag("kubernetes-namespace", "a"), StringNotEquals: { [key]: "a" } };
  t.match(ask(twice, null), /^(no|unknown)/, "of no Pod");
  t.match(ask(tag("kubernetes-namespace", "a*"), null), /^unknown/);
  t.match(ask({ StringLike: { "aws:RequestTag/kubernetes-namespace": "a*" } }, null), /^yes/);
  t.match(ask({ StringMagic: { "aws:RequestTag/kubernetes-namespace": "a*" } }, null), /^unknown/);
  t.match(row([pods(tag("kubernetes-namespace", "a"))], { through: "pod-identity", account: null, name: null }), {
    target: { kind: "role", roleARN: APP }, caller: { arn: "pods.eks.amazonaws.com", via: "pod-identity" },
    decision: { actions: [{ reason: /^allowed to a call whose aws:RequestTag\/kubernetes-namespace is as / }, {}] },
  });
  const deny = { ...pods(tag("kubernetes-namespace", "a")), Effect: "Deny" };
  t.match(verdict([pods({}), deny], { through: "pod-identity", account: null }), /^unknown/);
});

test("the EKS Capability gets the role with its own service", async (t) => {
  const through = "eks-capability";
  t.match(verdict([pods({})], { through }), /^no: .*capabilities\.eks\.amazonaws\.com/);
  t.equal(verdict([allow({ Service: "capabilities.eks.amazonaws.com" }, BOTH)], { through }), "yes");
});

test("of an unknown service account, only a subject that one can have is accepted", async (t) => {
  const some = (conditions: Fields): string => verdict([web(conditions)], { account: null, name: null });
  t.equal(some({ StringEquals: { [SUB]: SUBJECT } }), "yes");
  t.equal(some({ StringLike: { [SUB]: "system:serviceaccount:*:*" } }), "yes");
  t.match(some({ StringEquals: { [SUB]: "system:serviceaccount:ack-system:*" } }), /^unknown/);
  t.match(some({ StringEquals: { [SUB]: "repo:team/app" } }), /^no/);
  const { caller } = row([web({})], { account: null });
  t.match(caller, { arn: "system:serviceaccount:*", via: "irsa" });
});
