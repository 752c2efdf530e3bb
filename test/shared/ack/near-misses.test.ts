import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { nearMisses } from "../../../shared/ack/near-misses.ts";
import { queryOf } from "../../../shared/core/ack-resource.ts";
import { MISSES } from "../../../shared/ack/miss-index.ts";
import { findingsOf } from "../core/findings.ts";
import { bucketObject, FIRST, inventoryWith, namespaceObject, roleIn, SECOND, selectorObject } from "../objects.ts";

const TEAM_A = namespaceObject("team-a", { tier: "gold", stage: "production" });

interface Told {
  readonly message: string;
  readonly fix: string;
}

/** Returns what ACK-05 says about a bucket of team-a, after the sentence that every bucket without a selector has. */
function told(known: readonly JsonObject[], bucket: JsonObject = bucketObject()): Told {
  const [finding] = findingsOf("ACK-05", bucket, { known: [TEAM_A, ...known], old: bucket, operation: "AUDIT" });
  const { message = "", fix = "" } = finding ?? {};
  return { message: message.split("; ").slice(1).join("; "), fix };
}

const S3 = "s3.services.k8s.aws";

function selector(name: string, spec: JsonObject, account = FIRST): JsonObject {
  return selectorObject(name, { arn: roleIn(account), ...spec });
}

const names = (...list: readonly string[]): JsonObject => ({ namespaceSelector: { names: list } });
const label = (key: string, value: string): JsonObject => (
  { namespaceSelector: { names: [], labelSelector: { matchLabels: { [key]: value } } } }
);

test("compares the first 20 names of a selector that no namespace has", (t) => {
  const others = Array.from({ length: 20 }, (_, i) => `other-${i}`);
  t.equal(told([selector("typo", names(...others, "taem-a"))]).message, "");
  t.match(told([selector("typo", names(...others.slice(1), "taem-a"))]), {
    message: 'IAMRoleSelector typo has "taem-a"; perhaps team-a was meant',
  });
  t.end();
});

test("names the selector whose misspelled namespace, label or kind is that of the resource", (t) => {
  t.same(told([selector("typo", names("other", "taem-a"))]), {
    message: 'IAMRoleSelector typo has "taem-a"; perhaps team-a was meant',
    fix: 'set spec.namespaceSelector.names[1] of IAMRoleSelector typo to "team-a"',
  });
  t.same(told([selector("typo", label("stage", "prodution"))]), {
    message: 'IAMRoleSelector typo has "prodution"; perhaps production was meant',
    fix: 'set spec.namespaceSelector.labelSelector.matchLabels[stage] of IAMRoleSelector typo to "production"',
  });
  t.same(told([selector("typo", label("stage", "prod"))]), {
    message: 'IAMRoleSelector typo has "prod"; perhaps production was meant',
    fix: 'set spec.namespaceSelector.labelSelector.matchLabels[stage] of IAMRoleSelector typo to "production"',
  });
  t.same(told([selector("typo", label("teir", "gold"))]), {
    message: 'IAMRoleSelector typo has "teir"; perhaps tier was meant',
    fix: "remove spec.namespaceSelector.labelSelector.matchLabels[teir] from IAMRoleSelector typo and set "
      + 'spec.namespaceSelector.labelSelector.matchLabels[tier] of IAMRoleSelector typo to "gold"',
  });
  t.equal(told([selector("typo", label("teir", "silver"))]).message, "", "another value");
  t.match(told([selector("typo", { ...names("team-a"), resourceTypeSelector: [{ group: S3, kind: "Buckets" }] })]), {
    message: `IAMRoleSelector typo has "Buckets.${S3}"; perhaps Bucket.${S3} was meant`,
    fix: 'set spec.resourceTypeSelector[0].kind of IAMRoleSelector typo to "Bucket"',
  });
  const group = "s3.service.k8s.aws";
  for (const [entry, message] of [
    [{ group }, `IAMRoleSelector typo has "${group}"; perhaps ${S3} was meant`],
    [
      { group, version: "v1alpha1", kind: "Bucket" },
      `IAMRoleSelector typo has "Bucket.${group}"; perhaps Bucket.${S3} was meant`,
    ],
  ] as const) {
    t.same(told([selector("typo", { ...names("team-a"), resourceTypeSelector: [entry] })]), {
      message, fix: `set spec.resourceTypeSelector[0].group of IAMRoleSelector typo to "${S3}"`,
    });
  }
  const typo = selector("typo", { ...names("team-a"), resourceTypeSelector: [{ group }] });
  const [inFile] = nearMisses(inventoryWith([TEAM_A, typo], { origin: "file" }), queryOf(bucketObject(), "default"));
  t.match(inFile, { reason: "misspelled", repairs: [] }, "a manifest can have the group in the apiVersion");
  for (const [what, spec] of [
    ["another kind", { ...names("taem-a"), resourceTypeSelector: [{ group: "sqs.services.k8s.aws" }] }],
    ["a kind without a group", { ...names("team-a"), resourceTypeSelector: [{ kind: "Buckets" }] }],
    ["a kind of another group", { ...names("team-a"), resourceTypeSelector: [{ group: "x.y", kind: "Buckets" }] }],
    ["another version", { ...names("team-a"), resourceTypeSelector: [{ group: S3, version: "v1", kind: "Bucket" }] }],
    ["another version and kind", {
      ...names("team-a"), resourceTypeSelector: [{ group: S3, version: "v1", kind: "Buckets" }],
    }],
    ["no near name", names("payments")],
  ] as const) t.equal(told([selector("typo", spec)]).message, "", what);
  t.end();
});

test("names the malformed selectors that would select the resource, with the repair of their only fault", (t) => {
  const twice = { ...names("team-a", "team-a") };
  t.same(told([selector("twice", twice)]), {
    message: "IAMRoleSelector twice would select it, but controllers ignore it (IRS-08)",
    fix: "remove spec.namespaceSelector.names[1] from IAMRoleSelector twice",
  });
  const wrong = selectorObject("wrong", { arn: "x", ...names("team-a") });
  t.match(told([wrong]).message, /^IAMRoleSelector wrong would select/);
  const several = selector("several", { ...names("team-a", "team-a", "team-a") });
  t.equal(told([several]).fix, "correct IAMRoleSelector several", "several faults need their own repairs");
  for (const other of [names("team-b", "team-b"), { resourceTypeSelector: [{}] }]) {
    t.equal(told([selector("other", other)]).message, "");
  }
  const byLabel = { ...label("tier", "gold"), resourceTypeSelector: [{ group: S3 }, { group: S3 }] };
  t.match(told([selector("labeled", byLabel)]).message, /^IAMRoleSelector labeled would select it/);
  t.end();
});

const annotated = (name: string, roleARN: string, rest: JsonObject = {}): JsonObject => bucketObject({
  annotations: { "ack-role-resolver.io/selector": name, "ack-role-resolver.io/role-arn": roleARN },
}, rest);

test("names the selector that selected the resource before, and restores it", (t) => {
  const bucket = annotated("mine", roleIn(FIRST));
  const still = `if ${roleIn(FIRST)} is still its role, `;
  t.same(told([selector("mine", names("other"))], bucket), {
    message: "its annotations say that IAMRoleSelector mine selected it before",
    fix: `${still}set spec.namespaceSelector.names[1] of IAMRoleSelector mine to "team-a"`,
  });
  t.match(told([selector("mine", { ...names("team-a"), resourceTypeSelector: [{ group: "sqs.services.k8s.aws" }] })],
    bucket).fix, `${still}set spec.resourceTypeSelector[1] of IAMRoleSelector mine to {`);
  t.equal(told([selector("mine", label("env", "prod"))], bucket).fix,
    `${still}set metadata.labels[env] of Namespace team-a to "prod"`);
  t.notMatch(told([selector("mine", label("tier", "silver"))], bucket).fix, "tier", "another value would be lost");
  t.equal(told([selector("mine", { ...names("team-a"), resourceLabelSelector: { matchLabels: { a: "b" } } })],
    bucket).fix, `${still}set metadata.labels[a] to "b"`);
  const matchExpressions = [{ key: "a", operator: "Exists" }];
  const exists = { ...names("team-a"), resourceLabelSelector: { matchExpressions } };
  const [byExpression] = findingsOf("ACK-05", bucket, {
    known: [TEAM_A, selector("mine", exists)], old: bucket, operation: "AUDIT", settings: { runtime: "extended" },
  });
  t.match(byExpression?.message, /its annotations say that IAMRoleSelector mine selected it before$/);
  t.equal(byExpression?.repairs, undefined, "only a person can know the value");
  t.match(told([], bucket), {
    message: "IAMRoleSelector mine, which selected it before as its annotations say, does not exist",
    fix: `if ${roleIn(FIRST)} is still its role, create IAMRoleSelector mine`,
  });
  t.equal(told([], annotated("mine", "no role")).message, "");
  t.equal(told([], annotated("$(id)", roleIn(FIRST))).message, "");
  t.end();
});

test("repairs nothing that would move the resource to another account, and asks which of several is meant", (t) => {
  const status = { ackResourceMetadata: { ownerAccountID: SECOND } };
  const existing = bucketObject({}, { status });
  t.match(told([selector("typo", names("taem-a"))], existing), {
    message: /perhaps team-a was meant$/, fix: /^label the resource/,
  });
  t.equal(told([selector("typo", names("taem-a"), SECOND)], existing).fix,
    'set spec.namespaceSelector.names[0] of IAMRoleSelector typo to "team-a"');
  t.match(told([selector("one", names("taem-a")), selector("two", names("tema-a"))]).fix,
    /^if the role of one is meant, set .*; or if the role of two is meant, set /);
  t.equal(told([selector("mine", names("taem-a"))], annotated("mine", roleIn(FIRST))).message,
    "its annotations say that IAMRoleSelector mine selected it before", "says it once");
  t.end();
});

test("counts what is misspelled", (t) => {
  const known = [TEAM_A, selector("typo", names("taem-a")), selector("right", names("team-a"))];
  t.equal(inventoryWith(known).of(MISSES).size, 1);
  t.end();
});
