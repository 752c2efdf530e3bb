import { test } from "tap";
import { grantInNamespace, grantSelector } from "../../../../shared/decisions/grants/decide.ts";
import type { Grant, NamespaceQuery, RoleGrant } from "../../../../shared/decisions/grants/grant.ts";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { parseKindArgument } from "../../../../shared/decisions/kubernetes/kinds.ts";
import { kindObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const S3 = "s3.services.k8s.aws";
const RDS = "rds.services.k8s.aws";
const A = "arn:aws:iam::111111111111:role/a";
const B = "arn:aws:iam::222222222222:role/b";

function inventoryOf(objects: readonly JsonObject[], runtime: "ack" | "extended" = "ack"): Inventory {
  const inventory = new Inventory({ runtime, origin: "file" });
  inventory.apply([namespaceObject("team-a", { env: "prod" }), namespaceObject("team-b"), ...objects].map(put));
  return inventory;
}

const ANYWHERE = { groups: [S3], kinds: [], scope: null, settings: SETTINGS_BY_DEFAULT };

/** A selector of team-a. */
function selector(name: string, arn: string, rest: JsonObject = {}): JsonObject {
  return selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] }, ...rest });
}

interface Asked extends Partial<Omit<NamespaceQuery, "kinds">> {
  readonly kinds?: readonly string[];
}

function ask(objects: readonly JsonObject[], { kinds = [], ...rest }: Asked = {}): Told {
  return told(grantInNamespace(inventoryOf(objects), {
    namespace: "team-a", groups: [S3], labels: null, unmatched: "deny", settings: SETTINGS_BY_DEFAULT, ...rest, kinds: kinds.flatMap((text) => parseKindArgument(text) ?? []),
  }));
}

type Told = Exclude<Grant, RoleGrant> | Pick<RoleGrant, "verdict" | "roleARN" | "selectors">;

/** The grant without what its session is to be like. */
function told(grant: Grant): Told {
  return grant.verdict === "role" ? role(grant.roleARN, ...grant.selectors) : grant;
}

function role(arn: string, ...selectors: string[]): Told {
  return { verdict: "role", roleARN: arn, selectors };
}

test("one selector for every kind of the group: its role", async (t) => {
  t.same(ask([selector("a", A)]), role(A, "a"));
  t.same(ask([selector("a", A, { resourceTypeSelector: [{ group: S3 }] })]), role(A, "a"));
  t.same(ask([selector("a", A), selector("b", B, { resourceTypeSelector: [{ group: RDS, kind: "DBInstance" }] })]), role(A, "a"), "another group's selector does not matter");
  t.same(ask([selectorObject("everywhere", { arn: A, resourceTypeSelector: [{ group: S3 }] })]), role(A, "everywhere"));
  t.same(
    ask([selector("a", A, { resourceTypeSelector: [{ kind: "Bucket" }] }), selector("b", B, { resourceTypeSelector: [{ kind: "Other" }] })], { kinds: ["Bucket"] }),
    role(A, "a"),
    "--kind narrows it",
  );
});

test("two selectors with one role, for kinds apart, are one answer", async (t) => {
  const objects = [
    selector("a", A, { resourceTypeSelector: [{ group: S3, kind: "Bucket", version: "v1alpha1" }] }),
    selector("b", A, { resourceTypeSelector: [{ group: S3, kind: "AccessPoint" }] }),
  ];
  t.same(ask(objects, { kinds: ["AccessPoint.s3.services.k8s.aws", "Bucket.v1alpha1.s3.services.k8s.aws"] }), role(A, "b"));
});

test("kinds that differ are refused, naming them", async (t) => {
  t.same(ask([selector("a", A, { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] })]), {
    verdict: "refused", code: "ERR_SELECTOR_AMBIGUOUS", selectors: ["a"],
    message: `In namespace team-a the role depends on the kind (Bucket.${S3}: ${A}; any other kind of ${S3}: no role). Name one kind, with its version where that differs: kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/team-a, or --kind of the sidecar.`,
  });
  t.match(ask([selector("a", A, { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] })], { unmatched: "base" }), {
    message: `In namespace team-a the role depends on the kind (Bucket.${S3}: ${A}; any other kind of ${S3}: the base identity). Name one kind, with its version where that differs: kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/team-a, or --kind of the sidecar.`,
  });
  t.match(ask([selector("a", A), selector("b", B, { resourceTypeSelector: [{ kind: "Bucket" }] })]), {
    message: `In namespace team-a the role depends on the kind (Bucket.${S3}: a conflict of [a, b]; any other kind of ${S3}: ${A}). Name one kind, with its version where that differs: kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/team-a, or --kind of the sidecar.`,
  });
  t.match(ask([selector("a", A, { resourceTypeSelector: [{ kind: "Bucket" }] }), selector("user", "arn:aws:iam::111111111111:user/u", { resourceTypeSelector: [{ kind: "Queue" }] })]), {
    code: "ERR_SELECTOR_AMBIGUOUS", message: /Queue\.s3\.services\.k8s\.aws: a refusal of user/,
  });
  t.match(ask([selector("a", A), selector("b", B, { resourceTypeSelector: [{ group: RDS }] })], { groups: [S3, RDS] }), { code: "ERR_SELECTOR_AMBIGUOUS" }, "groups that differ as well");
});

test("versions differ unless the kind's CustomResourceDefinition says which is stored", async (t) => {
  const objects = [selector("a", A, { resourceTypeSelector: [{ group: S3, version: "v1alpha1", kind: "Bucket" }] })];
  const open = ask(objects, { kinds: ["Bucket.s3.services.k8s.aws"] });
  t.match(open, { code: "ERR_SELECTOR_AMBIGUOUS", message: /\(Bucket\.v1alpha1\.s3\.services\.k8s\.aws: \S+; any other version of Bucket\.s3\.services\.k8s\.aws: no role\)/ });
  t.same(ask(objects, { kinds: ["Bucket.v1alpha1.s3.services.k8s.aws"] }), role(A, "a"));
  const stored = kindObject("Bucket", S3, [{ name: "v1alpha1", storage: true, served: true }]);
  t.same(ask([...objects, stored], { kinds: ["Bucket.s3.services.k8s.aws"] }), role(A, "a"));
  t.same(ask([...objects, stored], { kinds: ["Bucket.v1.s3.services.k8s.aws"] }), role(A, "a"), "controllers compare the stored version");
});

test("labels that decide must be given", async (t) => {
  const objects = [selector("gold", B, { resourceLabelSelector: { matchLabels: { tier: "gold" } } }), selector("a", A, { resourceTypeSelector: [{ kind: "Topic" }] })];
  t.same(ask(objects, { kinds: ["Bucket"] }), {
    verdict: "refused", code: "ERR_SELECTOR_AMBIGUOUS", selectors: ["gold"],
    message: "In namespace team-a the labels of the resource decide, and none were given. IAMRoleSelectors that look at them: [gold]. Ask at /v1/credentials/namespaces/team-a with the resource's labels: label=KEY=VALUE for each.",
  });
  t.same(ask(objects, { kinds: ["Bucket"], labels: new Map([["tier", "gold"]]) }), role(B, "gold"));
  t.match(ask(objects, { kinds: ["Bucket"], labels: new Map() }), { code: "ERR_SELECTOR_UNMATCHED" }, "said to have none");
  const elsewhere = selector("gold", B, { resourceTypeSelector: [{ kind: "Topic" }], resourceLabelSelector: { matchLabels: { tier: "gold" } } });
  t.same(ask([selector("a", A), elsewhere], { kinds: ["Bucket"] }), role(A, "a"), "labels of another kind do not matter");
  const both = ["a", "b"].map((name) => selector(name, A));
  t.match(ask([...both, objects[0] ?? {}], { kinds: ["Bucket"] }), { code: "ERR_SELECTOR_CONFLICT", selectors: ["a", "b"] }, "a conflict stays one");
});

test("a conflict names every selector", async (t) => {
  t.same(ask([selector("b", B), selector("a", A)]), {
    verdict: "refused", code: "ERR_SELECTOR_CONFLICT", selectors: ["a", "b"],
    message: "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [a, b]",
  });
});

test("unmatched is the base identity or a refusal", async (t) => {
  t.same(ask([], { unmatched: "base" }), { verdict: "base" });
  t.same(ask([]), {
    verdict: "refused", code: "ERR_SELECTOR_UNMATCHED", selectors: [],
    message: `No IAMRoleSelector selects ${S3} in namespace team-a, and the base identity is not given instead (--unmatched deny).`,
  });
  t.match(ask([selector("a", A)], { namespace: "team-b", kinds: ["Bucket.v1.s3.services.k8s.aws"] }), {
    message: `No IAMRoleSelector selects Bucket.v1.${S3} in namespace team-b, and the base identity is not given instead (--unmatched deny).`,
  });
});

test("unknown namespaces and foreign groups are refused", async (t) => {
  t.same(ask([selector("a", A)], { namespace: "team-c" }), {
    verdict: "refused", code: "ERR_NAMESPACE_UNKNOWN", selectors: [], message: 'The inventory holds no Namespace "team-c". Create it, or correct the name.',
  });
  t.same(ask([selector("a", A)], { kinds: ["DBInstance.rds.services.k8s.aws"] }), {
    verdict: "refused", code: "ERR_SELECTOR_NOT_GRANTED", selectors: [], message: `Group ${RDS} is not served here; --group allows ${S3}.`,
  });
  t.match(ask([selector("a", A)], { groups: [] }), { verdict: "refused", code: "ERR_SELECTOR_NOT_GRANTED", message: "No --group is served here." });
});

test("nothing is granted on a selector with a fault, whether it takes part or not", async (t) => {
  const user = selector("user", "arn:aws:iam::111111111111:user/u");
  t.match(ask([user]), { verdict: "refused", code: "ERR_SELECTOR_MALFORMED", selectors: ["user"], message: /^Nothing is granted on IAMRoleSelector user until it is mended: IRS-03 spec\.arn: .*user\/u.*\.$/ });
  t.match(grantSelector(inventoryOf([user]), "user", ANYWHERE), { code: "ERR_SELECTOR_MALFORMED" });
  const typo = selector("typo", "not-an-arn");
  t.match(grantSelector(inventoryOf([typo]), "typo", ANYWHERE), { code: "ERR_SELECTOR_MALFORMED", message: /IRS-02 spec\.arn/ });
  t.match(ask([typo]), { code: "ERR_SELECTOR_UNMATCHED" }, "a malformed one takes no part");
  const wide = selectorObject("wide", { arn: "arn:aws:iam::111111111111:user/u" });
  const { message } = { message: "", ...grantSelector(inventoryOf([wide]), "wide", ANYWHERE) };
  t.match(message, "IRS-03");
  t.notMatch(message, "IRS-15", "a waivable fault withholds nothing, so it is not named");
  t.same(told(grantSelector(inventoryOf([selectorObject("wide", { arn: A })]), "wide", ANYWHERE)), role(A, "wide"));
});

test("a selector is granted by name to the groups that it may select", async (t) => {
  const inventory = inventoryOf([
    selector("any", A), selector("s3", A, { resourceTypeSelector: [{ group: RDS }, { group: S3, version: "v1alpha1", kind: "Bucket" }] }),
    selector("rds", B, { resourceTypeSelector: [{ group: RDS }] }),
  ]);
  const grant = (name: string): Told => told(grantSelector(inventory, name, ANYWHERE));
  t.same(grant("any"), role(A, "any"));
  t.same(grant("s3"), role(A, "s3"));
  t.same(grant("rds"), {
    verdict: "refused", code: "ERR_SELECTOR_NOT_GRANTED", selectors: ["rds"], message: `IAMRoleSelector rds selects no kind of ${S3}, which is what this sidecar grants for.`,
  });
  t.same(grant("x"), {
    verdict: "refused", code: "ERR_SELECTOR_UNKNOWN", selectors: [], message: 'There is no IAMRoleSelector "x". Correct the name, or create it.',
  });
});

test("within a scope only what resolves there is granted by name", async (t) => {
  const objects = [
    selector("bucket", A, { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] }), selectorObject("b-only", { arn: B, namespaceSelector: { names: ["team-b"] } }),
    selector("gold", B, { resourceTypeSelector: [{ group: S3, kind: "Topic" }], resourceLabelSelector: { matchLabels: { tier: "gold" } } }),
  ];
  const grant = (name: string, more: readonly JsonObject[] = []): Told =>
    told(grantSelector(inventoryOf([...objects, ...more]), name, { ...ANYWHERE, scope: "team-a" }));
  t.same(grant("bucket"), role(A, "bucket"));
  t.same(grant("gold"), role(B, "gold"), "for a resource with its labels");
  t.same(grant("b-only"), {
    verdict: "refused", code: "ERR_SELECTOR_NOT_GRANTED", selectors: ["b-only"],
    message: "IAMRoleSelector b-only is not what resolves in namespace team-a, the scope of this sidecar.",
  });
  t.match(grant("bucket", [selector("rival", B)]), { code: "ERR_SELECTOR_NOT_GRANTED" }, "one in conflict does not resolve");
});

function expressions(...matchExpressions: readonly JsonObject[]): JsonObject {
  return { resourceLabelSelector: { matchExpressions } };
}

test("under extended the labels of an example satisfy expressions too", async (t) => {
  const inventory = inventoryOf(
    [
      selector("in", A, expressions({ key: "tier", operator: "In", values: ["gold", "silver"] })),
      selector("exists", B, expressions({ key: "team", operator: "Exists" }, { key: "tier", operator: "DoesNotExist" })),
    ],
    "extended",
  );
  t.same(told(grantSelector(inventory, "in", { ...ANYWHERE, scope: "team-a" })), role(A, "in"));
  t.same(told(grantSelector(inventory, "exists", { ...ANYWHERE, scope: "team-a" })), role(B, "exists"));
});

test("a scope that the inventory does not hold grants nothing by name: its labels may select another one", async (t) => {
  const named = selectorObject("named", { arn: A, namespaceSelector: { names: ["team-c"] } });
  const labelled = selectorObject("labelled", { arn: B, namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } } });
  const grant = (more: readonly JsonObject[]): Told => told(grantSelector(inventoryOf([named, labelled, ...more]), "named", { ...ANYWHERE, scope: "team-c" }));
  t.same(grant([]), {
    verdict: "refused", code: "ERR_NAMESPACE_UNKNOWN", message: 'The inventory holds no Namespace "team-c". Create it, or correct the name.', selectors: [],
  });
  t.match(grant([namespaceObject("team-c", { env: "prod" })]), { code: "ERR_SELECTOR_NOT_GRANTED" });
  t.same(grant([namespaceObject("team-c")]), role(A, "named"));
});
