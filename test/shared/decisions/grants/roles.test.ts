import { test } from "tap";
import { grantInNamespace, grantRole, grantSelector } from "../../../../shared/resolution/grant-decision.ts";
import type { Grant, NamespaceQuery, RoleQuery } from "../../../../shared/resolution/grant.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const S3 = "s3.services.k8s.aws";
const RDS = "rds.services.k8s.aws";
const A = "arn:aws:iam::111111111111:role/a";
const B = "arn:aws:iam::222222222222:role/b";
const ANYWHERE: RoleQuery = { groups: [S3], kinds: [], scope: null, settings: SETTINGS_BY_DEFAULT };
const TEAM_A: NamespaceQuery = {
  namespace: "team-a",
  groups: [S3],
  kinds: [],
  labels: null,
  unmatched: "deny",
  settings: SETTINGS_BY_DEFAULT,
};
const BUCKETS = { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] };
const QUEUES = { resourceTypeSelector: [{ group: S3, kind: "Queue" }] };

function inventoryOf(...objects: readonly JsonObject[]): Inventory {
  const inventory = new Inventory({ runtime: "ack", origin: "file" });
  inventory.apply([namespaceObject("team-a"), namespaceObject("team-b"), ...objects].map(put));
  return inventory;
}

/**
 * Returns a selector that selects namespace team-a. The keys of `extras` are names of session annotations without their
 * prefix.
 */
function selector(
  name: string,
  arn: string,
  spec: JsonObject = {},
  extras: Readonly<Record<string, string>> = {},
): JsonObject {
  const annotations = Object.fromEntries(
    Object.entries(extras).map(([key, value]) => [`ack-role-resolver.io/${key}`, value]),
  );
  return selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] }, ...spec }, { annotations });
}

function describe(grant: Grant): string {
  if (grant.verdict === "denied") return `${grant.code} ${grant.message}`;
  return grant.verdict === "role" ? `${grant.roleARN} of ${grant.selectors.join(",")}` : grant.verdict;
}

function ofRole(roleARN: string, objects: readonly JsonObject[], query: Partial<RoleQuery> = {}): string {
  return describe(grantRole(inventoryOf(...objects), roleARN, { ...ANYWHERE, ...query }));
}

test("grants a role by ARN if a selector for the role selects a kind of the served groups", async (t) => {
  t.equal(ofRole(A, [selector("a", A), selectorObject("b", { arn: B, namespaceSelector: { names: ["team-b"] } })]),
    `${A} of a`);
  t.equal(ofRole(A, [selector("a", A, BUCKETS)]), `${A} of a`);
  const rds = selector("rds", A, { resourceTypeSelector: [{ group: RDS }] });
  t.equal(
    ofRole(A, [rds]),
    `ERR_SELECTOR_NOT_GRANTED No IAMRoleSelector grants "${A}" to ${S3}. Selectors with this role: rds. `
      + "Create or change a selector with this spec.arn so that it selects the resources, or request another role.",
  );
  t.equal(ofRole(A, [rds], { groups: [S3, RDS] }), `${A} of rds`);
  t.match(ofRole(B, [rds]), "No selector has this role. Create or change");
  t.match(ofRole(A, [selector("a", A)], { groups: [] }), "ERR_SELECTOR_NOT_GRANTED");
});

test("restricts grants by ARN and by selector name to the kinds in --kind", async (t) => {
  const bucket = [{ kind: "Bucket", version: null, group: S3 }];
  t.match(
    ofRole(A, [selector("a", A, QUEUES)], { kinds: bucket }),
    `ERR_SELECTOR_NOT_GRANTED No IAMRoleSelector grants "${A}" to Bucket.${S3}.`,
  );
  t.equal(ofRole(A, [selector("a", A, BUCKETS)], { kinds: bucket }), `${A} of a`);
  const byName = (spec: JsonObject): string =>
    describe(grantSelector(inventoryOf(selector("a", A, spec)), "a", { ...ANYWHERE, kinds: bucket }));
  t.equal(
    byName(QUEUES),
    `ERR_SELECTOR_NOT_GRANTED This sidecar serves Bucket.${S3}, but IAMRoleSelector a selects none of these kinds.`,
  );
  t.equal(byName(BUCKETS), `${A} of a`);
});

test("if several selectors grant a role, uses the selector whose name sorts first", async (t) => {
  const ofKind = (kind: string): JsonObject => ({ resourceTypeSelector: [{ group: S3, kind }] });
  const objects = [
    selector("c", A, ofKind("C")),
    selector("b", A, ofKind("B")),
    selector("d", A, ofKind("D")),
    selector("a", A, { resourceTypeSelector: [{ group: RDS }] }),
  ];
  t.equal(ofRole(A, objects), `${A} of b`);
  t.equal(ofRole(A, objects.toReversed()), `${A} of b`);
  const inventory = inventoryOf(...objects);
  const grantedBy = (): object | null => {
    const grant = grantRole(inventory, A, ANYWHERE);
    return grant.verdict === "role" ? grant.grantedBy : null;
  };
  const before = grantedBy();
  t.equal(before, inventory.selectors.get("b"));
  inventory.apply([put(selector("b", A, ofKind("B")))]);
  t.not(grantedBy(), before, "a new object after the selector is stored again");
  inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "b")]);
  t.equal(grantedBy(), inventory.selectors.get("c"));
});

test("grants a role by ARN in a scope only if a resource in the scope can resolve to the role", async (t) => {
  const scoped = (roleARN: string, objects: readonly JsonObject[]): string =>
    ofRole(roleARN, objects, { scope: "team-a" });
  const elsewhere = selector("elsewhere", B, { namespaceSelector: { names: ["team-b"] } });
  t.equal(scoped(A, [selector("a", A), elsewhere]), `${A} of a`);
  t.match(
    scoped(B, [selector("a", A), elsewhere]),
    `No IAMRoleSelector grants "${B}" to ${S3} in namespace team-a, the scope of this sidecar. Selectors with this `
      + "role: elsewhere.",
  );
  t.match(
    scoped(A, [selector("a", A), selector("rival", B)]),
    "ERR_SELECTOR_NOT_GRANTED",
    "a selector in conflict does not resolve",
  );
  t.equal(
    scoped(B, [
      selector("a", A, BUCKETS),
      selector("b", B, { ...QUEUES, resourceLabelSelector: { matchLabels: { tier: "gold" } } }),
    ]),
    `${B} of b`,
  );
  t.match(ofRole(A, [selector("a", A)], { scope: "team-c" }), "ERR_NAMESPACE_UNKNOWN");
});

test("denies the role of a faulty selector unless another selector grants the role", async (t) => {
  const misspelled = selector("misspelled", A, { resourceLabelSelector: { matchLabels: { tier: "very gold" } } });
  t.match(
    ofRole(A, [misspelled]),
    /^ERR_SELECTOR_MALFORMED IAMRoleSelector misspelled grants no role until its faults are corrected: IRS-11 /,
  );
  const dropped = selector("dropped", A, { namespaceSelector: { names: ["team-a", "team-a"] } });
  t.match(
    ofRole(A, [misspelled, dropped]),
    "IAMRoleSelector dropped grants no role until its faults are corrected: IRS-08",
    "the denial names the first faulty selector in name order",
  );
  t.equal(ofRole(A, [misspelled, dropped, selector("z", A)]), `${A} of z`);
  t.match(ofRole(A, [selector("a", A, {}, { "external-id": "not one" })]), "ERR_SELECTOR_MALFORMED");
  const inventory = inventoryOf(misspelled);
  inventory.apply([put(selector("misspelled", B))]);
  t.match(
    describe(grantRole(inventory, A, ANYWHERE)),
    "No selector has this role",
    "a corrected selector is no longer faulty",
  );
  t.equal(describe(grantRole(inventory, B, ANYWHERE)), `${B} of misspelled`);
});

test("returns the session settings of the selector for each kind of grant", async (t) => {
  const tags = "who={selector},for={group}";
  const inventory = inventoryOf(
    selector("a", A, {}, { "external-id": "id-1", "session-tags": tags, "duration-seconds": "900" }),
  );
  const extras = {
    externalID: "id-1",
    sessionName: null,
    sourceIdentity: null,
    durationSeconds: 900,
    tags: [
      { key: "for", value: `${RDS} ${S3}` },
      { key: "who", value: "a" },
    ],
  };
  const groups = [S3, RDS];
  for (const grant of [
    grantInNamespace(inventory, { ...TEAM_A, groups }),
    grantSelector(inventory, "a", { ...ANYWHERE, groups }),
    grantRole(inventory, A, { ...ANYWHERE, groups }),
  ]) {
    t.match(grant, { verdict: "role" });
    t.strictSame(grant.verdict === "role" && grant.extras, extras);
  }
  const narrow = grantRole(inventoryOf(selector("a", A, BUCKETS, { "session-tags": tags })), A, {
    ...ANYWHERE,
    groups,
  });
  t.match(
    narrow,
    { extras: { tags: [{ key: "for", value: S3 }] } },
    "the tag lists the groups of the kinds that the selector selects",
  );
});

test("denies each kind of grant if the selectors for the role have different session settings", async (t) => {
  const mine = selector("mine", A, BUCKETS, { "external-id": "planted", "session-name": "one" });
  const theirs = selector(
    "theirs",
    A,
    { namespaceSelector: { names: ["team-b"] }, ...BUCKETS },
    { "external-id": "other" },
  );
  const inventory = inventoryOf(mine, theirs);
  const message = `ERR_SELECTOR_EXTRAS IAMRoleSelectors mine and theirs set different session settings for ${A} `
    + "(external-id, session-name). Set the same annotation values on these selectors.";
  const kinds = [{ kind: "Bucket", version: null, group: S3 }];
  for (const [grant, path] of [
    [grantRole(inventory, A, ANYWHERE), "by ARN"],
    [grantRole(inventory, A, { ...ANYWHERE, scope: "team-a" }), "by ARN in a scope"],
    [grantSelector(inventory, "mine", ANYWHERE), "by name"],
    [grantSelector(inventory, "theirs", { ...ANYWHERE, scope: "team-b" }), "by name in a scope"],
    [grantInNamespace(inventory, { ...TEAM_A, kinds }), "in a namespace"],
    [grantInNamespace(inventory, { ...TEAM_A, namespace: "team-b", kinds }), "in the other namespace"],
  ] as const) {
    t.equal(describe(grant), message, path);
    t.match(grant, { selectors: ["mine", "theirs"] });
  }
  t.match(
    ofRole(A, [mine, selector("theirs", A)]),
    "ERR_SELECTOR_EXTRAS",
    "a selector without session settings differs from one with settings",
  );
  t.match(
    ofRole(A, [selector("a", A, BUCKETS), selector("theirs", A, QUEUES, { "external-id": "not one" })]),
    "ERR_SELECTOR_EXTRAS",
    "the settings of a faulty selector are compared too",
  );
  inventory.apply([put(selector("theirs", A, QUEUES, { "session-name": "one", "external-id": "planted" }))]);
  t.equal(describe(grantRole(inventory, A, ANYWHERE)), `${A} of mine`, "equal settings are granted");
});

test("denies session tags that exceed the limits of STS after the groups are filled in", async (t) => {
  const groups = Array.from({ length: 14 }, (_, i) => `service${i}.services.k8s.aws`);
  t.equal(
    ofRole(A, [selector("a", A, {}, { "session-tags": "for={group}" })], { groups }),
    'ERR_SELECTOR_EXTRAS IAMRoleSelector a sets the session tag "for", '
      + "which is too long for STS if {group} is replaced by the groups of this sidecar. Remove {group} from the tag.",
  );
});

test("denies kinds of different groups if their role is the same but their session tags differ", async (t) => {
  const tags = { "session-tags": "for={group}" };
  const objects = [
    selector("a", A, { resourceTypeSelector: [{ group: S3 }] }, tags),
    selector("b", A, { resourceTypeSelector: [{ group: RDS }] }, tags),
  ];
  const grant = grantInNamespace(inventoryOf(...objects), { ...TEAM_A, groups: [S3, RDS] });
  t.match(
    describe(grant),
    `ERR_SELECTOR_AMBIGUOUS In namespace team-a the role depends on the kind (any other kind of ${RDS}: ${A} with the `
      + `session tags of b; any other kind of ${S3}: ${A} with the session tags of a).`,
  );
});
