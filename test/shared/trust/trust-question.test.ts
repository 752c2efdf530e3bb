import { test } from "tap";
import { IAMData } from "../../../shared/trust/iam-data.ts";
import { IAMFile } from "../../../shared/trust/iam-inputs.ts";
import { answer } from "../../../shared/trust/trust-question.ts";
import { ask, question } from "./ask.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";

const BOB = "arn:aws:iam::222222222222:user/bob";
const POLICY = "arn:aws:iam::111122223333:policy/sts";
const MANAGED = "arn:aws:iam::aws:policy/AdministratorAccess";

const TRUST = roleDetail(ROLE, document(allow({ AWS: [APP, NEAR, BOB] })));

function policy(arn: string, statement: Fields): Fields {
  return {
    Arn: arn, DefaultVersionId: "v2",
    PolicyVersionList: [
      { VersionId: "v1", IsDefaultVersion: false, Document: document(grant({ Effect: "Deny" })) },
      { VersionId: "v2", IsDefaultVersion: true, Document: encodeURIComponent(JSON.stringify(document(statement))) },
    ],
  };
}

function callers(fields: Fields, lists: Fields = {}): Fields {
  return exportOf({ RoleDetailList: [roleDetail(APP, document(), fields)], ...lists });
}

const ATTACHED = { AttachedManagedPolicies: [{ PolicyName: "sts", PolicyArn: POLICY }] };
const TARGET = exportOf({ RoleDetailList: [TRUST] });
const NO_ROLE = "no: the role does not exist in the export of its account";
const NO_CALLER = "no: the caller does not exist in the export of its account";

test("reads inline and attached policies of a role, and the default version", async (t) => {
  const inline = { RolePolicyList: [{ PolicyName: "in", PolicyDocument: document(grant()) }] };
  t.equal(ask(APP, dataOf(TARGET, callers(inline))), "yes");
  t.equal(ask(APP, dataOf(TARGET, callers(ATTACHED, { Policies: [policy(POLICY, grant())] }))), "yes");
  t.match(ask(APP, dataOf(TARGET, callers({}))), /^no: no identity policy of the caller allows the call/);
  const { actions } = answer(question(APP), dataOf(TARGET, callers(inline)), 0);
  t.same(actions[0]?.statements, [
    { side: "trust", policy: ROLE, statement: 1, effect: "Allow" },
    { side: "identity", policy: "in", statement: 1, effect: "Allow" },
  ]);
});

test("a document that the export lacks may allow or deny", async (t) => {
  const attached = { AttachedManagedPolicies: [{ PolicyName: "a", PolicyArn: MANAGED }] };
  t.equal(ask(APP, dataOf(TARGET, callers(attached))), `unknown: identity policy ${MANAGED}`);
  const versionOf = (statement: Fields): Fields => ({ PolicyVersion: { Document: document(statement) } });
  const [one, other] = [versionOf(grant()), versionOf(grant({ Resource: ROLE }))];
  t.equal(ask(APP, dataOf(TARGET, callers(attached), [MANAGED, one])), "yes");
  const both = dataOf(TARGET, callers(attached), [MANAGED, one], [MANAGED, other]);
  t.match(ask(APP, both), /^unknown: .*, which differs in /);
  t.equal(
    ask(APP, dataOf(TARGET, callers({ AttachedManagedPolicies: [{}] }))), "unknown: identity policy without an ARN",
  );
  const unnamed = callers({ RolePolicyList: [{ PolicyDocument: document(grant()) }] });
  t.equal(ask(APP, dataOf(TARGET, unnamed)), "yes");
  const broken = callers({ RolePolicyList: [{ PolicyName: "in" }] });
  t.equal(ask(APP, dataOf(TARGET, broken)), "unknown: valid identity policy in (the policy is not an object)");
  const versions = [{ VersionId: "v1", Document: document(grant()) }];
  const versionless = { Arn: POLICY, DefaultVersionId: "v1", PolicyVersionList: versions };
  t.equal(
    ask(APP, dataOf(TARGET, callers(ATTACHED, { Policies: [versionless] }))), "yes", "IsDefaultVersion is missing",
  );
});

test("reads groups and boundaries", async (t) => {
  const group = { GroupName: "g", Arn: "arn:aws:iam::222222222222:group/x/g", GroupPolicyList: [
    { PolicyName: "in", PolicyDocument: document({ ...grant(), Effect: "Deny" }) },
  ] };
  const bob = { UserName: "bob", UserId: "AIDAEXAMPLEBOB", Arn: BOB, GroupList: ["g"], Tags: [{ Key: "k" }, {}] };
  const near = (boundary: unknown): string => ask(NEAR, dataOf(exportOf({
    RoleDetailList: [TRUST, roleDetail(NEAR, document(), { PermissionsBoundary: boundary })],
    Policies: [policy(POLICY, grant({ Action: "s3:*" }))],
  })));
  const lists = { RoleDetailList: [TRUST], UserDetailList: [bob] };
  t.match(ask(BOB, dataOf(exportOf({ ...lists, GroupDetailList: [group] }))), /^no: denied/);
  t.equal(
    ask(BOB, dataOf(exportOf(lists))),
    "unknown: identity policy of the group g",
  );
  t.equal(near(null), "yes");
  const boundary = { PermissionsBoundaryType: "Policy", PermissionsBoundaryArn: POLICY };
  t.match(near(boundary), /^no: no permissions boundary of the caller allows the call/);
  t.equal(near({}), "unknown: permissions boundary without an ARN");
});

test("finds the role of a session by its name", async (t) => {
  const session = "arn:aws:sts::111122223333:assumed-role/app/s";
  const inline = { RolePolicyList: [{ PolicyName: "in", PolicyDocument: document(grant()) }] };
  t.equal(ask(session, dataOf(TARGET, callers(inline))), "yes");
  t.equal(ask("arn:aws:sts::111122223333:assumed-role/App/s", dataOf(TARGET, callers(inline))), NO_CALLER);
  t.match(ask(session, dataOf(TARGET)), /^unknown: path of the role app: identity policy of arn:aws:sts/);
});

test("knows what does not exist only from a complete export", async (t) => {
  const attached = roleDetail(NEAR, document(), { AttachedManagedPolicies: [{ PolicyArn: MANAGED }] });
  const incomplete: readonly Fields[] = [
    { ...TARGET, IsTruncated: true }, { ...TARGET, NextToken: "x" }, { ...TARGET, Marker: "x" },
    { RoleDetailList: [TRUST], Policies: [], UserDetailList: [] }, exportOf({ RoleDetailList: [TRUST, attached] }),
    exportOf({ UserDetailList: [{ Arn: BOB }] }),
  ];
  const OTHER = `${ROLE}2`;
  t.equal(ask(APP, dataOf(TARGET, callers({})), OTHER), NO_ROLE);
  t.equal(ask(`${APP}2`, dataOf(TARGET, callers({}))), NO_CALLER);
  const eve = "arn:aws:iam::222222222222:user/eve";
  const bob = { UserDetailList: [{ Arn: BOB }] };
  t.equal(ask(eve, dataOf({ ...TARGET, ...bob, IsTruncated: false })), NO_CALLER);
  t.match(ask(BOB, dataOf(TARGET)), /^unknown: .*identity policy of arn/, "perhaps an export with the filter Role");
  t.match(ask(eve, dataOf(TARGET)), /^no: no statement of the trust policy/);
  for (const file of incomplete) t.match(ask(NEAR.replace("near", "new"), dataOf(file), OTHER), /^unknown: /);
  t.match(
    ask(APP, dataOf(TARGET)), /^unknown: identity policy of arn.*: permissions boundary of/, "no export of the caller",
  );
  t.match(ask("arn:aws:iam::333333333333:role/x", dataOf(TARGET)), /^no: no statement of the trust policy/);
});

test("refuses callers that cannot assume roles, and accepts services", async (t) => {
  const data = dataOf(TARGET, exportOf({
    RoleDetailList: [roleDetail(APP, document(allow({ Service: ["pods.eks.amazonaws.com", "ec2.amazonaws.com"] })))],
  }));
  t.match(ask("arn:aws:iam::222222222222:root", data), /^no: the root user/);
  t.match(ask("arn:aws:sts::222222222222:federated-user/x", data), /^no: a federated user/);
  t.match(ask("pods.eks.amazonaws.com", data, APP), /^no/, "it sends session tags");
  t.equal(ask("ec2.amazonaws.com", data, APP), "yes");
  t.match(ask("pods.eks.amazonaws.com", data), /^no: no statement/);
});

test("rejects a question without ARNs", async (t) => {
  const data = dataOf(TARGET);
  const texts = [
    "app", "arn:aws:iam::1:role/a", "arn:aws:iam::222222222222:role/a b", "arn:aws:s3:::b",
    "arn:aws:iam:eu-west-1:222222222222:user/a", "arn:aws:iam::222222222222:group/a",
  ];
  for (const text of texts) {
    t.throws(
      () => ask(text, data), { message: `principalArn "${text}" is not the ARN of a role, a session or a user` },
    );
  }
  t.throws(() => ask(APP, data, BOB), { message: `roleArn "${BOB}" is not the ARN of a role` });
});

test("rejects lists of other things", async (t) => {
  const file = new IAMFile({ data: new IAMData(), file: "iam.json", subject: null });
  file.add({ key: "Reservations", index: 0, value: {} });
  t.throws(() => file.finish(), /^not a known kind of file; pass one of: aws iam get-account-authorization-details, /);
  const add = (value: unknown): (() => void) => () => file.add({ key: "RoleDetailList", index: 3, value });
  const message = "RoleDetailList[3] does not have an Arn";
  for (const value of ["x", {}, { Arn: "x" }]) t.throws(add(value), { message });
  t.throws(add({ Arn: ROLE, RolePolicyList: {} }), { message: "RolePolicyList is not a list" });
});

test("parses each document once, and forgets parsed documents beyond a limit", async (t) => {
  const data = dataOf(TARGET);
  const text = data.textOf(document(grant()));
  t.equal(data.textOf(document(grant())), text);
  const first = data.parse(text, "identity");
  t.equal(data.parse(text, "identity"), first);
  t.not(data.parse(text, "trust").fault, null);
  for (let i = 0; i < 20_000; i++) data.parse(String(i), "identity");
  t.not(data.parse(text, "identity"), first);
});
