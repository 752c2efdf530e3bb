import { test } from "tap";
import { grantInNamespace } from "../../../shared/core/grant-decision.ts";
import type { KindArgument } from "../../../shared/core/ack-groups.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { kindObject, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";
import { A, B, inNamespace, inventoryOf, RDS, S3, selector, TEAM_A } from "../core/comparable-grant.ts";

// grant-by-selector.property.test.ts compares the verdicts with the roles of resources. These rows show the messages.
const type = (kind: string, version: string | null = null, group: string | null = S3): KindArgument =>
  ({ kind, version, group });
const ofKind = (kind: string, more: JsonObject = {}): JsonObject => ({ resourceTypeSelector: [{ kind, ...more }] });
const ofTier = { resourceLabelSelector: { matchLabels: { tier: "gold" } } };
const ONE_KIND = "Request one kind with kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/team-a, "
  + "or set --kind of the sidecar.";
const depends = (selectors: string, kinds: string): string =>
  `ERR_SELECTOR_AMBIGUOUS [${selectors}] In namespace team-a the role depends on the kind (${kinds}). ${ONE_KIND}`;
const USER = "arn:aws:iam::111111111111:user/u";
const BUCKET = [type("Bucket")];
const V1ALPHA1 = selector("a", A, ofKind("Bucket", { group: S3, version: "v1alpha1" }));
const STORED = kindObject("Bucket", S3, [{ name: "v1alpha1", storage: true, served: true }]);

testRows("grants the role of the only selector, or denies if the role depends on the kind", inNamespace, [
  ["one selector", [[selector("a", A)]], `${A} of a`],
  ["a selector of another group", [[selector("a", A), selector("b", B, ofKind("DBInstance", { group: RDS }))]],
    `${A} of a`],
  ["--kind", [[selector("a", A, ofKind("Bucket")), selector("b", B, ofKind("Other"))], { kinds: BUCKET }],
    `${A} of a`],
  ["two selectors of one role for different kinds",
    [[V1ALPHA1, selector("b", A, ofKind("AccessPoint"))],
      { kinds: [type("AccessPoint"), type("Bucket", "v1alpha1")] }], `${A} of b`],
  ["another kind has no role", [[selector("a", A, ofKind("Bucket"))]],
    depends("a", `Bucket.${S3}: ${A}; any other kind of ${S3}: no role`)],
  ["another kind uses the base identity", [[selector("a", A, ofKind("Bucket"))], { unmatched: "base" }],
    depends("a", `Bucket.${S3}: ${A}; any other kind of ${S3}: the base identity`)],
  ["a conflict of one kind", [[selector("a", A), selector("b", B, ofKind("Bucket"))]],
    depends("a, b", `Bucket.${S3}: a conflict of [a, b]; any other kind of ${S3}: ${A}`)],
  ["a faulty selector of one kind", [[selector("a", A, ofKind("Bucket")), selector("user", USER, ofKind("Queue"))]],
    /^ERR_SELECTOR_AMBIGUOUS .*Queue\.s3\.services\.k8s\.aws: denied because of user/],
  ["two groups",
    [[selector("a", A), selector("b", B, { resourceTypeSelector: [{ group: RDS }] })], { groups: [S3, RDS] }],
    /^ERR_SELECTOR_AMBIGUOUS /],
  ["an unknown version", [[V1ALPHA1], { kinds: BUCKET }],
    depends("a", `Bucket.v1alpha1.${S3}: ${A}; any other version of Bucket.${S3}: no role`)],
  ["the version", [[V1ALPHA1], { kinds: [type("Bucket", "v1alpha1")] }], `${A} of a`],
  ["the storage version", [[V1ALPHA1, STORED], { kinds: BUCKET }], `${A} of a`],
  ["controllers compare the storage version", [[V1ALPHA1, STORED], { kinds: [type("Bucket", "v1")] }], `${A} of a`],
]);

const gold = selector("gold", B, ofTier);
const [a, b] = [selector("a", A), selector("b", B)];
const topic = selector("a", A, ofKind("Topic"));
testRows("requires labels in the request if a selector depends on labels", inNamespace, [
  ["no labels in the request", [[gold, topic], { kinds: BUCKET }],
    "ERR_SELECTOR_AMBIGUOUS [gold] In namespace team-a the role depends on the labels of the resource, but the request "
      + "has no labels. IAMRoleSelectors that read labels: [gold]. Request /v1/credentials/namespaces/team-a with "
      + "label=KEY=VALUE for each label of the resource."],
  ["the labels", [[gold, topic], { kinds: BUCKET, labels: new Map([["tier", "gold"]]) }], `${B} of gold`],
  ["a resource without labels", [[gold, topic], { kinds: BUCKET, labels: new Map() }], /^ERR_SELECTOR_UNMATCHED /],
  ["the labels of another kind", [[a, selector("gold", B, { ...ofKind("Topic"), ...ofTier })], { kinds: BUCKET }],
    `${A} of a`],
  ["the conflict does not depend on labels", [[a, selector("b", A), gold], { kinds: BUCKET }],
    /^ERR_SELECTOR_CONFLICT \[a, b\]/],
]);

testRows("denies or returns the base identity if no role can be granted", inNamespace, [
  ["a conflict", [[b, a]], "ERR_SELECTOR_CONFLICT [a, b] Cannot determine which IAMRoleSelector to use. Conflicting "
    + "IAMRoleSelectors: [a, b]"],
  ["--unmatched base", [[], { unmatched: "base" }], "base"],
  ["--unmatched deny", [[]], `ERR_SELECTOR_UNMATCHED [] No IAMRoleSelector selects ${S3} in namespace team-a, and the `
    + "sidecar runs with --unmatched deny."],
  ["one kind", [[a], { namespace: "team-b", kinds: [type("Bucket", "v1")] }],
    `ERR_SELECTOR_UNMATCHED [] No IAMRoleSelector selects Bucket.v1.${S3} in namespace team-b, and the sidecar runs `
      + `with `
      + "--unmatched deny."],
  ["an unknown namespace", [[a], { namespace: "team-c" }],
    'ERR_NAMESPACE_UNKNOWN [] Namespace "team-c" is not in the inventory. Create the Namespace, or correct the name.'],
  ["another group", [[a], { kinds: [type("DBInstance", null, RDS)] }],
    `ERR_SELECTOR_NOT_GRANTED [] This sidecar does not serve group ${RDS}; --group allows ${S3}.`],
  ["no group", [[a], { groups: [] }], "ERR_SELECTOR_NOT_GRANTED [] This sidecar serves no API group."],
  ["a faulty selector", [[selector("user", USER)]],
    /^ERR_SELECTOR_MALFORMED \[user\] .* grants no role until its faults are corrected: IRS-03 spec\.arn/],
  ["a malformed selector is ignored", [[selector("typo", "not-an-arn")]], /^ERR_SELECTOR_UNMATCHED /],
  ["session tags that differ between groups", [[
    selector("a", A, { resourceTypeSelector: [{ group: S3 }] }, { "session-tags": "for={group}" }),
    selector("b", A, { resourceTypeSelector: [{ group: RDS }] }, { "session-tags": "for={group}" }),
  ], { groups: [S3, RDS] }],
    depends("a, b", `any other kind of ${RDS}: ${A} with the session tags of b; any other kind of ${S3}: ${A} with the `
      + "session tags of a")],
]);

test("lists at most 20 faults of a malformed selector", (t) => {
  const fields = Object.fromEntries(Array.from({ length: 203 }, (_, i) => [`x${i}`, 1]));
  const grant = grantInNamespace(inventoryOf([selectorObject("a", { arn: A, resourceLabelSelector: fields })]), TEAM_A);
  t.match(grant, { code: "ERR_SELECTOR_MALFORMED", message: /x0: .*; and 183 more faults\.$/ });
  t.equal("message" in grant ? grant.message.split("; IRS-00 ").length : 0, 20);
  t.end();
});

const KEY = "ack-role-resolver.io/use-selector";
const settings = { ...SETTINGS_BY_DEFAULT, runtime: "extended" } as const;
const choosing = (name: string): JsonObject => namespaceObject("team-a", {}, { [KEY]: name });
const CHOICE = { kinds: BUCKET, unmatched: "base", settings } as const;
const buckets = selector("buckets", B, ofKind("Bucket", { group: S3 }));
const labeled = selector("gold", A, ofTier);

testRows("grants only the role of the selector that the annotation of the namespace names", inNamespace, [
  ["b", [[a, b, choosing("b")], CHOICE], `${B} of b`],
  ["every kind resolves to the same selector", [[a, b, choosing("b")], { ...CHOICE, kinds: [] }], `${B} of b`],
  ["a selector of one kind", [[a, buckets, choosing("buckets")], CHOICE], `${B} of buckets`],
  ["other kinds", [[a, buckets, choosing("buckets")], { ...CHOICE, kinds: [] }], /^ERR_SELECTOR_AMBIGUOUS /],
  ["a missing selector", [[a, choosing("missing")], CHOICE],
    `ERR_SELECTOR_CHOICE [a] The annotation ${KEY} of the namespace names IAMRoleSelector "missing", which does not `
      + "exist. a selects the resource."],
  ["no selector", [[choosing("missing")], CHOICE], /^ERR_SELECTOR_CHOICE \[\] /],
  ["an empty name", [[a, b, choosing("")], CHOICE], /^ERR_SELECTOR_CHOICE /],
  ["a malformed selector", [[a, b, selectorObject("user", { arn: USER }), choosing("user")], CHOICE],
    /^ERR_SELECTOR_CHOICE .*which is malformed/],
  ["no labels in the request", [[labeled, b, choosing("gold")], CHOICE], /^ERR_SELECTOR_AMBIGUOUS \[gold\]/],
  ["labels", [[labeled, b, choosing("gold")], { ...CHOICE, labels: new Map([["tier", "gold"]]) }], `${A} of gold`],
  ["other labels", [[labeled, b, choosing("gold")], { ...CHOICE, labels: new Map() }], /^ERR_SELECTOR_CHOICE /],
  ["b selects whatever the labels are", [[labeled, b, choosing("b")], CHOICE], `${B} of b`],
]);
