import { test } from "tap";
import { findingLine } from "../../../../../shared/checks/check.ts";
import { newSelectorsToReview } from "../../../../../shared/checks/access-reviews.ts";
import { runChecks } from "../../../../../shared/checks/run.ts";
import type { Access } from "../../../../../shared/contract/context.ts";
import { Inventory } from "../../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { checkChange, type Circumstances } from "../selector-changes.ts";
import { CARM, existingBucket, linesOf, ONE, roleIn, TWO } from "../subjects.ts";

const byEnv = (name: string, env: string, roleARN: string): JsonObject => (
  selectorObject(name, { arn: roleARN, namespaceSelector: { labelSelector: { matchLabels: { env } } } })
);
const SELECTORS = [
  byEnv("prod", "prod", roleIn(ONE)), byEnv("dev", "dev", roleIn(TWO)), byEnv("audit", "audit", roleIn(ONE, "audit")),
  selectorObject("gold", {
    arn: roleIn(ONE, "gold"), namespaceSelector: { labelSelector: { matchLabels: { tier: "gold" } } },
  }),
];

/** Returns the findings of NS-01 if the labels of namespace team-a change. The namespace contains `resources`. */
function lines(
  from: JsonObject, to: JsonObject, resources: readonly JsonObject[], more: Circumstances = {},
): string[] {
  const old = namespaceObject("team-a", from);
  return linesOf("NS-01", namespaceObject("team-a", to), { old, known: [...SELECTORS, old, ...resources], ...more });
}

const FIX = "Keep the labels that the selectors of these resources match, "
  + "or first change the selectors so that each resource stays in its account.";
const B1 = existingBucket("b1", ONE);
const line = (severity: "deny" | "warn", message: string, names = "Bucket team-a/b1"): string => (
  `${severity} NS-01 metadata.labels: the new labels ${message}: ${names}. ${FIX}`
);

test("NS-01 denies a label change that moves resources to another account", (t) => {
  t.same(lines({ env: "prod" }, { env: "dev" }, [B1, existingBucket("b2", ONE)]), [
    line("deny", `move 2 resources from account ${ONE} to account ${TWO}`, "Bucket team-a/b1 and Bucket team-a/b2"),
  ]);
  t.same(lines({}, { env: "dev" }, [B1]), [
    line("deny", `move 1 resource from account ${ONE} to account ${TWO}`),
  ], "a resource that no selector selected also exists in an account");
  const elsewhere = existingBucket("b1", ONE, { namespace: "team-b" });
  t.same(lines({ env: "prod" }, { env: "dev" }, [elsewhere]), [], "the resource is in another namespace");
  t.end();
});

test("NS-01 denies a move of a resource without an ARN, and its fix explains how to recreate the resource", (t) => {
  const attempted = bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID: ONE } } });
  const move = line("deny", `move 1 resource from account ${ONE} to account ${TWO}`);
  t.same(lines({ env: "prod" }, { env: "dev" }, [attempted]), [
    `${move.slice(0, -1)}. The status of Bucket team-a/b1 has no ARN: if the creation failed, delete the resource now, `
      + "while its old role is in use, and create it again after the change.",
  ]);
  t.same(lines({ env: "prod" }, { env: "audit" }, [attempted]), [line("warn", "change the role of 1 resource")]);
  t.same(lines({ env: "prod", tier: "gold" }, { env: "dev" }, [attempted]).length, 1, "a conflict ends");
  t.end();
});

test("NS-01 denies a label change that leaves resources without a selector", (t) => {
  const leave = line("deny", `leave 1 resource of account ${ONE} with the controllers' own role`);
  t.same(lines({ env: "prod" }, {}, [B1]), [leave]);
  t.same(
    lines({ env: "prod" }, {}, [bucketObject()]),
    [leave],
    "a new resource would be created in the controllers' account",
  );
  t.same(lines({ env: "prod", tier: "gold" }, {}, [bucketObject()]), [
    line("deny", "leave 1 resource with the controllers' own role"),
  ], "the resource was in conflict before the change");
  t.same(lines({ env: "prod" }, {}, [B1], { settings: { controllerAccount: ONE } }), [
    line("warn", "change the role of 1 resource"),
  ], "the controllers are in the same account");
  t.end();
});

test("NS-01 denies a label change that causes a conflict between selectors", (t) => {
  const conflict = line("deny", "cause a conflict between IAMRoleSelectors (gold, prod) for 1 resource");
  t.same(lines({ env: "prod" }, { env: "prod", tier: "gold" }, [B1]), [conflict]);
  t.same(
    lines({ env: "prod", tier: "gold" }, { env: "dev", tier: "gold" }, [B1]),
    [],
    "the resource was in conflict before",
  );
  const resources = [B1, bucketObject({ name: "b9" })];
  t.same(lines({ env: "prod", tier: "gold" }, { env: "prod" }, resources), [], "the conflict ends");
  const moved = lines({ env: "prod", tier: "gold" }, { env: "dev" }, [B1]);
  t.same(moved.length, 1, "the conflict ends in another account than the resource's");
  t.end();
});

test("NS-01 only warns if the new role is in the same account or the resource does not exist in AWS", (t) => {
  const warned = [line("warn", "change the role of 1 resource")];
  t.same(lines({ env: "prod" }, { env: "audit" }, [B1]), warned);
  t.same(lines({}, { env: "dev" }, [bucketObject()]), warned);
  t.same(lines({ env: "prod" }, { env: "dev" }, [bucketObject()]), warned);
  const twin = byEnv("twin", "twin", roleIn(ONE));
  t.same(lines({ env: "prod" }, { env: "twin" }, [B1, twin]), [], "another selector with the same role");
  t.end();
});

test("NS-01 allows a label change that changes no role, and every label change in mode carm", (t) => {
  t.same(lines({ env: "prod" }, { env: "prod" }, [B1]), []);
  t.same(lines({ env: "prod" }, { env: "prod", cost: "7" }, [B1]), []);
  t.same(lines({ env: "prod" }, { env: "dev" }, [B1], { settings: CARM }), []);
  t.same(lines({ env: "prod" }, { env: "dev" }, [B1], { old: null }), [], "at CREATE");
  t.end();
});

test("NS-01 lists at most 20 resources, and can be waived", (t) => {
  const buckets = Array.from({ length: 250 }, (_, i) => existingBucket(`b${String(i).padStart(3, "0")}`, ONE));
  const first = "Bucket team-a/b000, Bucket team-a/b001, Bucket team-a/b002";
  t.same(lines({ env: "prod" }, { env: "dev" }, buckets), [
    line("deny", `move at least 20 resources from account ${ONE} to account ${TWO}`, `${first} and 17 more`),
  ]);
  t.same(lines({ env: "prod" }, { env: "audit" }, buckets), [
    line("warn", "change the role of 250 resources", `${first} and 247 more`),
  ], "a warning counts all resources");
  const waived = namespaceObject("team-a", { env: "dev" }, { "ack-role-resolver.io/allow": "NS-01" });
  const old = namespaceObject("team-a", { env: "prod" });
  const { denied, findings } = checkChange(waived, { old, known: [...SELECTORS, old, B1] });
  t.same([denied, findings.map((finding) => [finding.code, finding.waived])], [false, [["NS-01", true]]]);
  t.end();
});

interface UseOptions {
  readonly from?: JsonObject;
  readonly settings?: object;
  readonly on?: boolean;
  readonly isNew?: boolean;
}

/**
 * Returns the findings of NS-02 if the labels of namespace team-a change. `access` contains the results of access
 * reviews.
 */
function useLines(
  to: JsonObject, access: Readonly<Record<string, Access>> | null,
  { from = {}, settings = {}, on = true, isNew = false }: UseOptions = {},
): string[] {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply(SELECTORS.map(put));
  const { findings } = runChecks({
    object: namespaceObject("team-a", to), old: isNew ? null : namespaceObject("team-a", from),
    requester: { username: "jane", groups: [] }, origin: "cluster", inventory,
    access: access === null ? null : new Map(Object.entries(access)),
  }, { ...SETTINGS_BY_DEFAULT, ...settings, checkSeverities: new Map(on ? [["NS-02", "deny"] as const] : []) });
  return findings
    .filter(({ code }) => code === "NS-02")
    .map((finding) => `${finding.severity} ${findingLine(finding)}`);
}

test("NS-02 requires permission to use each selector that newly selects the namespace", (t) => {
  const denied = (fix: string): string[] => [
    "deny NS-02 metadata.labels: the requester may not use IAMRoleSelector prod, which newly selects the namespace. "
    + fix,
  ];
  const rule = "with the rule apiGroups: [services.k8s.aws], resources: [iamroleselectors], resourceNames: [prod], "
    + "verbs: [use]";
  t.same(useLines({ env: "prod" }, { prod: "denied" }), denied(
    `Create a Role in namespace team-a ${rule}, and a RoleBinding in that namespace that grants it to the requester.`,
  ));
  t.same(useLines({ env: "prod" }, { prod: "denied" }, { isNew: true }), denied(
    `Create a ClusterRole ${rule}, and a ClusterRoleBinding that grants it to the requester.`,
  ));
  t.same(useLines({ env: "prod" }, { prod: "allowed" }), []);
  const unchanged = { from: { env: "prod" } };
  t.same(
    useLines({ env: "prod", cost: "7" }, { prod: "denied" }, unchanged),
    [],
    "the selector selected the namespace before",
  );
  t.end();
});

test("NS-02 requires permission to use the controllers' own role if a selector no longer selects a namespace", (t) => {
  const name = "ack-role-resolver:default";
  const from = { env: "prod", tier: "gold" };
  t.same(useLines({}, { [name]: "denied" }, { from }), [
    "deny NS-02 metadata.labels: the requester may not use the controllers' own role, which its resources may use "
    + "after the change. Create a Role in namespace team-a with the rule apiGroups: [services.k8s.aws], resources: "
    + `[iamroleselectors], resourceNames: [${name}], verbs: [use], and a RoleBinding in that namespace that grants it `
    + "to the requester.",
  ]);
  t.same(useLines({}, { [name]: "allowed" }, { from }), []);
  t.match(useLines({}, {}, { from }), [/could not verify that the requester may use the controllers' own role/]);
  t.same(useLines({ env: "prod" }, {}, { from }), [], "the other selector still selects every resource");
  t.same(useLines({ a: "b" }, {}), [], "no selector selected the namespace before");
  t.same(useLines({ a: "b" }, {}, { isNew: true }), [], "a new namespace contains no resource");
  t.same(useLines({}, { [name]: "denied" }, { from, settings: CARM }), []);
  t.end();
});

test("NS-02 ignores a selector of some resources, because the others use the controllers' own role", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  const namespaceSelector = { labelSelector: { matchLabels: { env: "dev" } } };
  const some = [
    { resourceLabelSelector: { matchLabels: { a: "b" } } },
    { resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" }] },
  ];
  const ofSome = some.map((part, i) => selectorObject(`some${i}`, { arn: roleIn(ONE), namespaceSelector, ...part }));
  inventory.apply([...SELECTORS.slice(0, 1), ...ofSome].map(put));
  const change = newSelectorsToReview(
    namespaceObject("team-a", { env: "dev" }), namespaceObject("team-a", { env: "prod" }), inventory,
    { mode: "selectors" },
  );
  t.same(change, ["some0", "some1", "ack-role-resolver:default"]);
  t.end();
});

test("NS-02 denies a change if the access review failed; in mode carm or without reviews, it is skipped", (t) => {
  t.same(useLines({ env: "prod" }, {}), [
    "deny NS-02 metadata.labels: the webhook could not verify that the requester may use IAMRoleSelector prod, "
    + "which newly selects the namespace. Retry in a moment; the webhook log shows why the access review failed.",
  ]);
  t.same(useLines({ env: "prod" }, { prod: "denied" }, { on: false }), []);
  t.same(useLines({ env: "prod" }, null), []);
  t.same(useLines({ env: "prod" }, { prod: "denied" }, { settings: CARM }), []);
  t.end();
});
