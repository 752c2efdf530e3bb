import { test } from "tap";
import { grantInNamespace, grantSelector } from "../../../../shared/resolution/grant-decision.ts";
import type { NamespaceQuery } from "../../../../shared/resolution/grant.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { parseKindArgument } from "../../../../shared/contract/ack-groups.ts";
import { kindObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { A, B, comparable, type ComparableGrant, inventoryOf, RDS, role, S3, selector } from "./comparable-grant.ts";


const REQUEST_ONE_KIND = "Request one kind with kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/team-a, "
  + "or set --kind of the sidecar.";
const ANYWHERE = { groups: [S3], kinds: [], scope: null, settings: SETTINGS_BY_DEFAULT };

interface Request extends Partial<Omit<NamespaceQuery, "kinds">> {
  readonly kinds?: readonly string[];
}

function grantFor(objects: readonly JsonObject[], { kinds = [], ...rest }: Request = {}): ComparableGrant {
  return comparable(
    grantInNamespace(inventoryOf(objects), {
      namespace: "team-a",
      groups: [S3],
      labels: null,
      unmatched: "deny",
      settings: SETTINGS_BY_DEFAULT,
      ...rest,
      kinds: kinds.flatMap((text) => parseKindArgument(text) ?? []),
    }),
  );
}

test("grants the role of the only selector for every kind of the group", async (t) => {
  t.same(grantFor([selector("a", A)]), role(A, "a"));
  t.same(grantFor([selector("a", A, { resourceTypeSelector: [{ group: S3 }] })]), role(A, "a"));
  t.same(
    grantFor([selector("a", A), selector("b", B, { resourceTypeSelector: [{ group: RDS, kind: "DBInstance" }] })]),
    role(A, "a"),
    "a selector of another group has no effect",
  );
  t.same(
    grantFor([selectorObject("everywhere", { arn: A, resourceTypeSelector: [{ group: S3 }] })]),
    role(A, "everywhere"),
  );
  t.same(
    grantFor(
      [
        selector("a", A, { resourceTypeSelector: [{ kind: "Bucket" }] }),
        selector("b", B, { resourceTypeSelector: [{ kind: "Other" }] }),
      ],
      { kinds: ["Bucket"] },
    ),
    role(A, "a"),
    "--kind restricts the kinds",
  );
});

test("grants a role if the selectors for different kinds all have the same role", async (t) => {
  const objects = [
    selector("a", A, { resourceTypeSelector: [{ group: S3, kind: "Bucket", version: "v1alpha1" }] }),
    selector("b", A, { resourceTypeSelector: [{ group: S3, kind: "AccessPoint" }] }),
  ];
  t.same(
    grantFor(objects, { kinds: ["AccessPoint.s3.services.k8s.aws", "Bucket.v1alpha1.s3.services.k8s.aws"] }),
    role(A, "b"),
  );
});

test("denies a namespace if its kinds have different roles, and lists the roles", async (t) => {
  t.same(grantFor([selector("a", A, { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] })]), {
    verdict: "denied",
    code: "ERR_SELECTOR_AMBIGUOUS",
    selectors: ["a"],
    message: `In namespace team-a the role depends on the kind (Bucket.${S3}: ${A}; any other kind of ${S3}: no `
      + `role). ${REQUEST_ONE_KIND}`,
  });
  t.match(
    grantFor([selector("a", A, { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] })], { unmatched: "base" }),
    {
      message: `In namespace team-a the role depends on the kind (Bucket.${S3}: ${A}; any other kind of ${S3}: the `
        + `base identity). ${REQUEST_ONE_KIND}`,
    },
  );
  t.match(grantFor([selector("a", A), selector("b", B, { resourceTypeSelector: [{ kind: "Bucket" }] })]), {
    message: `In namespace team-a the role depends on the kind (Bucket.${S3}: a conflict of [a, b]; any other kind of `
      + `${S3}: ${A}). ${REQUEST_ONE_KIND}`,
  });
  t.match(
    grantFor([
      selector("a", A, { resourceTypeSelector: [{ kind: "Bucket" }] }),
      selector("user", "arn:aws:iam::111111111111:user/u", { resourceTypeSelector: [{ kind: "Queue" }] }),
    ]),
    {
      code: "ERR_SELECTOR_AMBIGUOUS",
      message: /Queue\.s3\.services\.k8s\.aws: denied because of user/,
    },
  );
  t.match(
    grantFor([selector("a", A), selector("b", B, { resourceTypeSelector: [{ group: RDS }] })], { groups: [S3, RDS] }),
    { code: "ERR_SELECTOR_AMBIGUOUS" },
    "the roles of two groups can differ too",
  );
});

test("compares the requested version if the CustomResourceDefinition of the kind is unknown", async (t) => {
  const objects = [selector("a", A, { resourceTypeSelector: [{ group: S3, version: "v1alpha1", kind: "Bucket" }] })];
  const open = grantFor(objects, { kinds: ["Bucket.s3.services.k8s.aws"] });
  t.match(open, {
    code: "ERR_SELECTOR_AMBIGUOUS",
    message:
      /\(Bucket\.v1alpha1\.s3\.services\.k8s\.aws: \S+; any other version of Bucket\.s3\.services\.k8s\.aws: no role\)/,
  });
  t.same(grantFor(objects, { kinds: ["Bucket.v1alpha1.s3.services.k8s.aws"] }), role(A, "a"));
  const stored = kindObject("Bucket", S3, [{ name: "v1alpha1", storage: true, served: true }]);
  t.same(grantFor([...objects, stored], { kinds: ["Bucket.s3.services.k8s.aws"] }), role(A, "a"));
  t.same(
    grantFor([...objects, stored], { kinds: ["Bucket.v1.s3.services.k8s.aws"] }),
    role(A, "a"),
    "controllers compare the storage version",
  );
});

test("requires labels in the request if a selector depends on labels", async (t) => {
  const objects = [
    selector("gold", B, { resourceLabelSelector: { matchLabels: { tier: "gold" } } }),
    selector("a", A, { resourceTypeSelector: [{ kind: "Topic" }] }),
  ];
  t.same(grantFor(objects, { kinds: ["Bucket"] }), {
    verdict: "denied", code: "ERR_SELECTOR_AMBIGUOUS", selectors: ["gold"],
    message: "In namespace team-a the role depends on the labels of the resource, but the request has no labels. "
      + "IAMRoleSelectors that read labels: [gold]. "
      + "Request /v1/credentials/namespaces/team-a with label=KEY=VALUE for each label of the resource.",
  });
  t.same(grantFor(objects, { kinds: ["Bucket"], labels: new Map([["tier", "gold"]]) }), role(B, "gold"));
  t.match(
    grantFor(objects, { kinds: ["Bucket"], labels: new Map() }),
    { code: "ERR_SELECTOR_UNMATCHED" },
    "a resource without labels",
  );
  const elsewhere = selector("gold", B, {
    resourceTypeSelector: [{ kind: "Topic" }],
    resourceLabelSelector: { matchLabels: { tier: "gold" } },
  });
  t.same(
    grantFor([selector("a", A), elsewhere], { kinds: ["Bucket"] }),
    role(A, "a"),
    "the labels of another kind have no effect",
  );
  const both = ["a", "b"].map((name) => selector(name, A));
  t.match(
    grantFor([...both, objects[0] ?? {}], { kinds: ["Bucket"] }),
    { code: "ERR_SELECTOR_CONFLICT", selectors: ["a", "b"] },
    "the conflict does not depend on labels",
  );
});

test("the denial for a conflict lists every conflicting selector", async (t) => {
  t.same(grantFor([selector("b", B), selector("a", A)]), {
    verdict: "denied", code: "ERR_SELECTOR_CONFLICT", selectors: ["a", "b"],
    message: "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [a, b]",
  });
});

test("returns the base identity or a denial if no selector selects a resource", async (t) => {
  t.same(grantFor([], { unmatched: "base" }), { verdict: "base" });
  t.same(grantFor([]), {
    verdict: "denied", code: "ERR_SELECTOR_UNMATCHED", selectors: [],
    message: `No IAMRoleSelector selects ${S3} in namespace team-a, and the sidecar runs with --unmatched deny.`,
  });
  t.match(grantFor([selector("a", A)], { namespace: "team-b", kinds: ["Bucket.v1.s3.services.k8s.aws"] }), {
    message: `No IAMRoleSelector selects Bucket.v1.${S3} in namespace team-b, and the sidecar runs with --unmatched `
      + "deny.",
  });
});

test("denies unknown namespaces, and groups that the sidecar does not serve", async (t) => {
  t.same(grantFor([selector("a", A)], { namespace: "team-c" }), {
    verdict: "denied",
    code: "ERR_NAMESPACE_UNKNOWN",
    selectors: [],
    message: 'Namespace "team-c" is not in the inventory. Create the Namespace, or correct the name.',
  });
  t.same(grantFor([selector("a", A)], { kinds: ["DBInstance.rds.services.k8s.aws"] }), {
    verdict: "denied",
    code: "ERR_SELECTOR_NOT_GRANTED",
    selectors: [],
    message: `This sidecar does not serve group ${RDS}; --group allows ${S3}.`,
  });
  t.match(grantFor([selector("a", A)], { groups: [] }), {
    verdict: "denied",
    code: "ERR_SELECTOR_NOT_GRANTED",
    message: "This sidecar serves no API group.",
  });
});

test("lists at most 20 faults of a malformed selector", async (t) => {
  const fields = Object.fromEntries(Array.from({ length: 203 }, (_, i) => [`x${i}`, 1]));
  const spec = { arn: "arn:aws:iam::111111111111:role/a", resourceLabelSelector: fields };
  const grant = grantFor([selectorObject("a", spec)]);
  t.match(grant, { code: "ERR_SELECTOR_MALFORMED", message: /x0: .*; and 183 more faults\.$/ });
  t.equal("message" in grant ? grant.message.split("; IRS-00 ").length : 0, 20);
});

test("denies the role of a faulty or malformed selector", async (t) => {
  const user = selector("user", "arn:aws:iam::111111111111:user/u");
  t.match(grantFor([user]), {
    verdict: "denied",
    code: "ERR_SELECTOR_MALFORMED",
    selectors: ["user"],
    message: /^IAMRoleSelector user grants no role until its faults are corrected: IRS-03 spec\.arn: .*user\/u.*\.$/,
  });
  t.match(grantSelector(inventoryOf([user]), "user", ANYWHERE), { code: "ERR_SELECTOR_MALFORMED" });
  const typo = selector("typo", "not-an-arn");
  t.match(grantSelector(inventoryOf([typo]), "typo", ANYWHERE), {
    code: "ERR_SELECTOR_MALFORMED",
    message: /IRS-02 spec\.arn/,
  });
  t.match(grantFor([typo]), { code: "ERR_SELECTOR_UNMATCHED" }, "a malformed selector is ignored");
  const wide = selectorObject("wide", { arn: "arn:aws:iam::111111111111:user/u" });
  const { message } = { message: "", ...grantSelector(inventoryOf([wide]), "wide", ANYWHERE) };
  t.match(message, "IRS-03");
  t.notMatch(message, "IRS-15", "a waivable fault does not deny the role, so it is not listed");
  t.same(
    comparable(grantSelector(inventoryOf([selectorObject("wide", { arn: A })]), "wide", ANYWHERE)),
    role(A, "wide"),
  );
});
