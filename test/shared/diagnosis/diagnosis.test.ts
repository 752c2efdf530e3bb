import { test } from "tap";
import { queryOf } from "../../../shared/core/ack-resource.ts";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { ALL_CLOSED } from "../../../shared/core/closures.ts";
import { describeRepairs } from "../../../shared/core/repair.ts";
import { diagnose, type Diagnosis } from "../../../shared/diagnosis/diagnosis.ts";
import type { Located } from "../../../shared/diagnosis/object-changes.ts";
import { RelatedObjects } from "../../../shared/diagnosis/related.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { objectReference } from "../../../shared/formats/object-meta.ts";
import { roleObjectOf } from "../../../shared/kinds.ts";
import { gatedDeployment } from "../../fixtures/controllers.ts";
import { readControllers } from "../../../shared/controllers/controller-deployment.ts";
import {
  bucketObject, existingBucket, FIRST, inventoryWith, kindObject, mapObject, namespaceObject, ROLE, roleIn, SECOND,
  selectorFor, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";

function diagnosed(
  object: JsonObject, others: readonly JsonObject[], settings: Partial<DecisionSettings> = {},
): Diagnosis<Located> {
  const found = { object };
  const all = [found, ...others.map((one) => ({ object: one }))];
  const objects = all.map((one) => one.object);
  const related = new RelatedObjects(all, readControllers(objects, "ack-system"));
  return diagnose(roleObjectOf(object) ?? queryOf(object, "default"), found, {
    inventory: inventoryWith(objects), settings: { ...SETTINGS_BY_DEFAULT, ...settings }, origin: "cluster", related,
    isWhole: true,
  });
}

/** Returns `CODE KIND: REPAIRS` for each cause. */
function causes({ causes: all }: Diagnosis<Located>): string[] {
  return all.map(({ found, finding: { code, repairs = [], path } }) => (
    [`${code} ${objectReference(found.object).kind}`, describeRepairs(repairs, path)].filter((one) => one !== null)
      .join(": ")
  ));
}

const TEAM_A = namespaceObject("team-a");

test("tells the role, its session, and nothing more of a healthy resource", (t) => {
  const { outcome, roleARN, session, existsIn, explained, causes: none } = diagnosed(
    existingBucket("b1", FIRST), [TEAM_A, selectorFor("mine", FIRST, ["team-a"])],
  );
  t.match({ outcome, roleARN, session, existsIn }, {
    outcome: "selected", roleARN: roleIn(FIRST, "mine"), session: { defaultName: "default name" }, existsIn: FIRST,
  });
  t.same([explained?.nearest.length, explained?.omitted, none], [1, 0, []]);
  t.end();
});

test("the malformed selector comes before the resource that it should select", (t) => {
  const malformed = selectorObject("mine", { arn: ROLE, namespaceSelector: { names: ["team-a", "team-a"] } });
  t.same(causes(diagnosed(bucketObject(), [TEAM_A, malformed])), ["IRS-08 IAMRoleSelector: remove this entry"]);
  t.end();
});

test("the typo comes before the label, and both are offered", (t) => {
  const typo = selectorFor("typo", FIRST, ["taem-a"]);
  const ofLabel = { names: [], labelSelector: { matchLabels: { tier: "gold" } } };
  const gold = selectorObject("gold", { arn: ROLE, namespaceSelector: ofLabel });
  t.same(causes(diagnosed(bucketObject(), [TEAM_A, typo])), [
    'ACK-05 Bucket: set spec.namespaceSelector.names[0] of IAMRoleSelector typo to "team-a"',
  ]);
  t.same(causes(diagnosed(bucketObject(), [TEAM_A, gold])), [
    'ACK-05 Bucket: if the role of gold is meant, set metadata.labels[tier] of Namespace team-a to "gold"',
  ]);
  const ofBucket = selectorObject("gold", { arn: ROLE, resourceLabelSelector: { matchLabels: { tier: "gold" } } });
  t.same(causes(diagnosed(bucketObject(), [TEAM_A, ofBucket])), ["ACK-05 Bucket"], "ACK-06 denies the label");
  const elsewhere = { ...existingBucket("b1", SECOND), kind: "Bucket" };
  t.same(causes(diagnosed(elsewhere, [TEAM_A, gold])), ["ACK-05 Bucket"], "a role of another account helps nothing");
  t.same(causes(diagnosed(bucketObject(), [TEAM_A, selectorFor("other", FIRST, ["payments"])])), ["ACK-05 Bucket"]);
  t.same(causes(diagnosed(bucketObject(), [TEAM_A])), ["ACK-05 Bucket"]);
  t.end();
});

test("what denies comes alone, and what warns about the role before other warnings", (t) => {
  const selectors = [selectorFor("one", FIRST, ["team-a"]), selectorFor("two", SECOND, ["team-a"])];
  t.match(causes(diagnosed(bucketObject(), [TEAM_A, ...selectors])).map((one) => one.split(":")[0]), ["ACK-03 Bucket"]);
  const exits = gatedDeployment("IAMRoleSelector=true");
  const mine = selectorFor("mine", FIRST, ["team-a"]);
  t.match(causes(diagnosed(bucketObject(), [TEAM_A, mine, exits]))[0], /^AUD-15 Deployment/);
  const crd = kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1alpha1", storage: true, served: true }]);
  t.same(causes(diagnosed(bucketObject(), [TEAM_A, mine, crd])), []);
  t.match(causes(diagnosed(bucketObject(), [TEAM_A, mine], { controllerAccount: FIRST })), [/^IRS-05 IAMRoleSelector/]);
  t.end();
});

test("a conflict is solved by the deletion of what no resource needs, or by a change of the selectors", (t) => {
  const two = [selectorFor("one", FIRST, ["team-a"]), selectorFor("two", SECOND, ["team-a"])];
  t.same(causes(diagnosed(bucketObject(), [TEAM_A, ...two])), [
    "ACK-03 Bucket: to keep one, delete IAMRoleSelector two; or to keep two, delete IAMRoleSelector one",
  ]);
  const four = ["a", "b", "c", "d"].map((name) => selectorFor(name, FIRST, ["team-a"]));
  const { causes: [many] } = diagnosed(bucketObject(), [TEAM_A, ...four]);
  t.same([many?.finding.repairs, many?.toChange.length], [[], 4]);
  t.end();
});

test("a label that the namespace lacks is a repair, but not another value of a label that it has", (t) => {
  const byLabel = (name: string, labels: Readonly<Record<string, string>>): JsonObject => selectorObject(name, {
    arn: ROLE, namespaceSelector: { names: [], labelSelector: { matchLabels: labels } },
  });
  const others = [selectorFor("another", FIRST, ["team-b"]), byLabel("gold", { tier: "gold" })];
  t.match(causes(diagnosed(bucketObject(), [TEAM_A, ...others])), [
    /^ACK-05 Bucket: if the role of gold is meant, set metadata\.labels\[tier\] of Namespace team-a to "gold"$/,
  ]);
  const silver = namespaceObject("team-a", { tier: "silver" });
  t.same(causes(diagnosed(bucketObject(), [silver, ...others])), ["ACK-05 Bucket"]);
  t.end();
});

test("the fix does not recommend a repair that is not offered", (t) => {
  const role = roleIn(SECOND, "gone");
  const annotations = { "ack-role-resolver.io/selector": "gone", "ack-role-resolver.io/role-arn": role };
  const [cause] = diagnosed(bucketObject({ annotations }), [TEAM_A], { allowedAccounts: [FIRST] }).causes;
  t.match(cause?.finding, { code: "ACK-05", repairs: [], fix: /^label the resource or its namespace / });
  t.match(diagnosed(bucketObject({ annotations }), [TEAM_A]).causes[0]?.finding.fix, / is still its role, create /);
  t.end();
});

const LIMITED = selectorObject("mine", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }, {
  annotations: { "ack-role-resolver.io/session-policy-arns": "arn:aws:iam::aws:policy/ReadOnlyAccess" },
});
const DENIED = "AccessDenied: User: arn:aws:sts::111122223333:assumed-role/r/s is not authorized to perform: "
  + "s3:CreateBucket because no session policy allows the s3:CreateBucket action";
const denied = (text: string): JsonObject => bucketObject({}, {
  status: { conditions: [{ type: "ACK.Recoverable", status: "True", message: text }] },
});

test("the session policy of the selector is why AWS denies an action", (t) => {
  const [cause] = diagnosed(denied(DENIED), [TEAM_A, LIMITED]).causes;
  t.match(cause?.finding, { code: "ACK.Recoverable", severity: "deny", fix: /^allow s3:CreateBucket in the / });
  t.equal(objectReference(cause?.found.object ?? {}).name, "mine");
  t.match(diagnosed(denied("with an explicit deny in a session policy"), [TEAM_A, LIMITED]).causes[0]?.finding.fix,
    /^allow the action in /);
  t.same(diagnosed(denied("because no identity-based policy allows it"), [TEAM_A, LIMITED]).causes, []);
  t.end();
});

test("the session scope is why AWS denies an action", (t) => {
  const own = selectorFor("mine", FIRST, ["team-a"]);
  const unscoped = selectorObject("mine", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }, {
    annotations: { "ack-role-resolver.io/session-scope": "none" },
  });
  t.same(diagnosed(denied(DENIED), [TEAM_A, unscoped]).causes, [], "of somebody else");
  const strict = { injection: { ...SETTINGS_BY_DEFAULT.injection, closures: ALL_CLOSED } };
  const fixOf = (text: string, selector = own): string | undefined => (
    diagnosed(denied(text), [TEAM_A, selector], strict).causes[0]?.finding.fix
  );
  t.match(fixOf(DENIED), /^the session scope of \S+ allows s3:CreateBucket: look for another session policy/);
  const annotated = selectorObject("mine", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }, {
    annotations: { "ack-role-resolver.io/session-scope": "service" },
  });
  t.match(fixOf(DENIED, annotated), /^the session scope of \S+ allows/);
  const creates = DENIED.replaceAll("s3:CreateBucket", "iam:CreateUser");
  t.match(fixOf(creates, annotated), /^the session scope of s3\S+ does not allow iam:CreateUser; /);
  const created = fixOf(creates);
  t.match(created, /^the session scope of \S+ \(the default of .*\) does not allow iam:CreateUser; .* \(IRS-57\)/);
  const passed = fixOf(DENIED.replaceAll("s3:CreateBucket", "iam:PassRole"));
  t.match(passed, /allows iam:PassRole only for what `ack-role-resolver trust policy --group s3\S+` shows/);
  const [ofForeign] = diagnosed(denied(creates), [TEAM_A, LIMITED], strict).causes;
  t.match(ofForeign?.finding.fix, /does not allow iam:CreateUser;/);
  t.match(diagnosed(denied(DENIED), [TEAM_A, LIMITED], strict).causes[0]?.finding.fix, /^allow s3:CreateBucket in/);
  const nameless = denied("with an explicit deny in a session policy");
  t.match(diagnosed(nameless, [TEAM_A, own]).causes[0]?.finding.fix, /does not allow the action;/);
  t.match(diagnosed(nameless, [TEAM_A, LIMITED], strict).causes[0]?.finding.fix, /^allow the action in /);
  const ofLambda = {
    ...denied(DENIED.replaceAll("s3:CreateBucket", "kms:DescribeKey")), apiVersion: "lambda.services.k8s.aws/v1alpha1",
    kind: "Function",
  };
  t.match(diagnosed(ofLambda, [TEAM_A, own], strict).causes[0]?.finding.fix, /allows kms:DescribeKey: look for/);
  const ofNew = { ...denied(DENIED), apiVersion: "new.services.k8s.aws/v1alpha1", kind: "Thing" };
  t.match(diagnosed(ofNew, [TEAM_A, LIMITED], strict).causes[0]?.finding.fix, /^allow s3:CreateBucket in/);
  t.end();
});

test("with CARM maps, the namespace or the map says why a resource is refused", (t) => {
  const namespace = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": SECOND });
  const known = [namespace, mapObject("ack-role-account-map", { [FIRST]: ROLE })];
  const { explained, outcome, ...rest } = diagnosed(bucketObject(), known, { mode: "carm" });
  t.same([explained, outcome], [null, "refused"]);
  t.match(causes({ explained, outcome, ...rest }), [/^NS-03 Namespace/]);
  const { causes: [byDefault] } = diagnosed(bucketObject(), [TEAM_A], { mode: "carm", controllerAccount: SECOND });
  t.match(byDefault?.toChange.map(({ object }) => objectReference(object).kind), ["Namespace", "Bucket"]);
  t.match(diagnosed(bucketObject(), known, { mode: "carm" }).causes[0]?.toChange.map((one) => (
    objectReference(one.object).kind
  )), ["ConfigMap", "Namespace"]);
  const exits = diagnosed(bucketObject(), [...known, gatedDeployment("IAMRoleSelector=true")], { mode: "carm" });
  t.match(exits.causes.map(({ toChange }) => toChange.map(({ object }) => objectReference(object).kind)), [
    ["ConfigMap", "Namespace"], ["Deployment"],
  ]);
  const ofOwnRole = diagnosed(bucketObject(), [TEAM_A, gatedDeployment("IAMRoleSelector=true")], { mode: "carm" });
  t.match(ofOwnRole.causes.map(({ toChange }) => toChange.map(({ object }) => objectReference(object).kind)), [
    ["Deployment"],
  ]);
  const team = namespaceObject("team-a", {}, { "services.k8s.aws/team-id": "a" });
  const maps = [team, mapObject("ack-role-team-map", { a: roleIn(FIRST) })];
  t.equal(diagnosed(bucketObject(), maps, { mode: "carm", teamLevelCARM: true }).via, "team-map");
  t.end();
});

test("an object of CAPA has the identities of its chain as causes", (t) => {
  const apiVersion = "infrastructure.cluster.x-k8s.io/v1beta2";
  const cluster = {
    apiVersion, kind: "AWSCluster", metadata: { name: "c1", namespace: "team-a" },
    spec: { identityRef: { kind: "AWSClusterRoleIdentity", name: "platform" } },
  };
  const identity = {
    apiVersion, kind: "AWSClusterRoleIdentity", metadata: { name: "platform" },
    spec: {
      roleARN: ROLE, allowedNamespaces: { list: ["team-a"] },
      sourceIdentityRef: { kind: "AWSClusterControllerIdentity", name: "default" },
    },
  };
  const codes = causes(diagnosed(cluster, [TEAM_A, identity])).map((one) => one.slice(0, 5));
  t.ok(codes.includes("CI-26"), codes.join());
  t.equal(diagnosed(cluster, [TEAM_A, identity]).explained, null);
  const other = { ...identity, spec: { ...identity.spec, allowedNamespaces: { list: ["team-b"] } } };
  const refused = diagnosed(cluster, [TEAM_A, other]).causes.find(({ finding }) => finding.code === "AC-02");
  t.same(refused?.toChange.map(({ object }) => objectReference(object).kind), ["AWSClusterRoleIdentity", "AWSCluster"]);
  t.end();
});

test("finds the objects that an edit names", (t) => {
  const related = new RelatedObjects([TEAM_A, bucketObject()].map((object) => ({ object })), {
    controllers: [], others: [], unread: null,
  });
  const bucket = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", name: "b1" };
  t.ok(related.find({ ...bucket, namespace: "team-a" }));
  t.equal(related.find({ ...bucket, namespace: "team-b" }), null);
  t.equal(related.find({ ...bucket, apiVersion: "sqs.services.k8s.aws/v1alpha1", namespace: "team-a" }), null);
  t.ok(related.find({ apiVersion: "v1", kind: "Namespace", namespace: null, name: "team-a" }));
  t.end();
});
