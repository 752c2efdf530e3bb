import { test } from "tap";
import { findingLine } from "../../../../../shared/decisions/checks/finding.ts";
import { runChecks } from "../../../../../shared/decisions/checks/run.ts";
import type { Access } from "../../../../../shared/decisions/context.ts";
import { Inventory } from "../../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { type Circumstances, judgeChange } from "../selector-changes.ts";
import { CARM, existing, linesOf, ONE, roleIn, TWO } from "../subjects.ts";

const byEnv = (name: string, env: string, roleARN: string): JsonObject => (
  selectorObject(name, { arn: roleARN, namespaceSelector: { labelSelector: { matchLabels: { env } } } })
);
const SELECTORS = [
  byEnv("prod", "prod", roleIn(ONE)), byEnv("dev", "dev", roleIn(TWO)), byEnv("audit", "audit", roleIn(ONE, "audit")),
  selectorObject("gold", { arn: roleIn(ONE, "gold"), namespaceSelector: { labelSelector: { matchLabels: { tier: "gold" } } } }),
];

/** What a step of team-a from one env (and these resources) to other labels does. */
function lines(from: JsonObject, to: JsonObject, resources: readonly JsonObject[], more: Circumstances = {}): string[] {
  const old = namespaceObject("team-a", from);
  return linesOf("NS-01", namespaceObject("team-a", to), { old, known: [...SELECTORS, old, ...resources], ...more });
}

const FIX = "Keep the labels that select these resources, or change the selectors first so that each resource keeps its account.";
const B1 = existing("b1", ONE);

test("NS-01: labels that move resources to another account are refused", (t) => {
  t.same(lines({ env: "prod" }, { env: "dev" }, [B1, existing("b2", ONE)]), [
    `deny NS-01 metadata.labels: the new labels move 2 resources from account ${ONE} to account ${TWO}: Bucket team-a/b1 and Bucket team-a/b2. ${FIX}`,
  ]);
  t.same(lines({}, { env: "dev" }, [B1]), [`deny NS-01 metadata.labels: the new labels move 1 resource from account ${ONE} to account ${TWO}: Bucket team-a/b1. ${FIX}`], "what no selector selected was made in some account too");
  t.same(lines({ env: "prod" }, { env: "dev" }, [existing("b1", ONE, { namespace: "team-b" })]), [], "in another namespace");
  t.end();
});

test("NS-01: labels that take the last selector away are refused", (t) => {
  t.same(lines({ env: "prod" }, {}, [B1]), [
    `deny NS-01 metadata.labels: the new labels leave 1 resource of account ${ONE} to the controllers' own role: Bucket team-a/b1. ${FIX}`,
  ]);
  t.same(lines({ env: "prod" }, {}, [bucketObject()]), [
    `deny NS-01 metadata.labels: the new labels leave 1 resource of account ${ONE} to the controllers' own role: Bucket team-a/b1. ${FIX}`,
  ], "what was never made would be made in the controllers' account");
  t.same(lines({ env: "prod", tier: "gold" }, {}, [bucketObject()]), [
    `deny NS-01 metadata.labels: the new labels leave 1 resource to the controllers' own role: Bucket team-a/b1. ${FIX}`,
  ], "a conflict is safe, and this is not");
  t.same(lines({ env: "prod" }, {}, [B1], { settings: { controllerAccount: ONE } }), [
    `warn NS-01 metadata.labels: the new labels give 1 resource another role: Bucket team-a/b1. ${FIX}`,
  ], "the controllers' own account is the same account");
  t.end();
});

test("NS-01: labels that let several selectors select are refused", (t) => {
  t.same(lines({ env: "prod" }, { env: "prod", tier: "gold" }, [B1]), [
    `deny NS-01 metadata.labels: the new labels let several IAMRoleSelectors (gold, prod) select 1 resource at once, where controllers stop: Bucket team-a/b1. ${FIX}`,
  ]);
  t.same(lines({ env: "prod", tier: "gold" }, { env: "dev", tier: "gold" }, [B1]), [], "it was in conflict before");
  t.same(lines({ env: "prod", tier: "gold" }, { env: "prod" }, [B1, bucketObject({ name: "b9" })]), [], "the conflict ends");
  t.same(lines({ env: "prod", tier: "gold" }, { env: "dev" }, [B1]).length, 1, "it ends in another account than that of the resource");
  t.end();
});

test("NS-01: another role of the same account is told, and so is the first role of what was never made", (t) => {
  const told = [`warn NS-01 metadata.labels: the new labels give 1 resource another role: Bucket team-a/b1. ${FIX}`];
  t.same(lines({ env: "prod" }, { env: "audit" }, [B1]), told);
  t.same(lines({}, { env: "dev" }, [bucketObject()]), told);
  t.same(lines({ env: "prod" }, { env: "dev" }, [bucketObject()]), told);
  t.same(lines({ env: "prod" }, { env: "twin" }, [B1, byEnv("twin", "twin", roleIn(ONE))]), [], "another selector of the same role");
  t.end();
});

test("NS-01: what changes no label that counts is nothing, nor is anything in mode carm", (t) => {
  t.same(lines({ env: "prod" }, { env: "prod" }, [B1]), []);
  t.same(lines({ env: "prod" }, { env: "prod", cost: "7" }, [B1]), []);
  t.same(lines({ env: "prod" }, { env: "dev" }, [B1], { settings: CARM }), []);
  t.same(lines({ env: "prod" }, { env: "dev" }, [B1], { old: null }), [], "at CREATE");
  t.end();
});

test("NS-01: it looks no further than 20, in pieces, and may be waived", (t) => {
  const buckets = Array.from({ length: 250 }, (_, i) => existing(`b${String(i).padStart(3, "0")}`, ONE));
  t.same(lines({ env: "prod" }, { env: "dev" }, buckets), [
    `deny NS-01 metadata.labels: the new labels move at least 20 resources from account ${ONE} to account ${TWO}: Bucket team-a/b000, Bucket team-a/b001, Bucket team-a/b002 and 17 more. ${FIX}`,
  ]);
  t.same(lines({ env: "prod" }, { env: "audit" }, buckets), [
    `warn NS-01 metadata.labels: the new labels give 250 resources another role: Bucket team-a/b000, Bucket team-a/b001, Bucket team-a/b002 and 247 more. ${FIX}`,
  ], "what is only told is counted");
  const waived = { ...namespaceObject("team-a", { env: "dev" }, { "ack-role-resolver.io/allow": "NS-01" }) };
  const { denied, findings } = judgeChange(waived, { old: namespaceObject("team-a", { env: "prod" }), known: [...SELECTORS, namespaceObject("team-a", { env: "prod" }), B1] });
  t.same([denied, findings.map(({ code, waived: isWaived }) => [code, isWaived])], [false, [["NS-01", true]]]);
  t.end();
});

const USE_FIX = "Grant the requester the verb use on the selector: a ClusterRole with resources iamroleselectors, resourceNames and verbs use.";

/** What NS-02 says of a step of team-a, with these answers of access reviews. */
function useLines(to: JsonObject, answers: Readonly<Record<string, Access>> | null, { from = {}, carm = false, on = true, isNew = false } = {}): string[] {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply(SELECTORS.map(put));
  const settings = { ...SETTINGS_BY_DEFAULT, ...(carm && CARM), checkSeverities: new Map(on ? [["NS-02", "deny"] as const] : []) };
  const { findings } = runChecks({
    object: namespaceObject("team-a", to), old: isNew ? null : namespaceObject("team-a", from), requester: { username: "jane", groups: [] }, origin: "cluster", inventory,
    access: answers === null ? null : new Map(Object.entries(answers)),
  }, settings);
  return findings.filter(({ code }) => code === "NS-02").map((finding) => `${finding.severity} ${findingLine(finding)}`);
}

test("NS-02: who comes to be selected must may use the selector", (t) => {
  const refused = [`deny NS-02 metadata.labels: the requester may not use IAMRoleSelector prod, which comes to select the namespace. ${USE_FIX}`];
  t.same(useLines({ env: "prod" }, { prod: "denied" }), refused);
  t.same(useLines({ env: "prod" }, { prod: "denied" }, { isNew: true }), refused, "at CREATE");
  t.same(useLines({ env: "prod" }, { prod: "allowed" }), []);
  t.same(useLines({ env: "prod", cost: "7" }, { prod: "denied" }, { from: { env: "prod" } }), [], "it was selected before");
  t.same(useLines({}, {}, { from: { env: "prod" } }), [], "a selector less");
  t.end();
});

test("NS-02: unknown is a refusal; off, without reviews and in mode carm it says nothing", (t) => {
  t.same(useLines({ env: "prod" }, {}), [
    "deny NS-02 metadata.labels: whether the requester may use IAMRoleSelector prod, which comes to select the namespace, could not be found out. Try again in a moment; the webhook's log says why the access review failed.",
  ]);
  t.same(useLines({ env: "prod" }, { prod: "denied" }, { on: false }), []);
  t.same(useLines({ env: "prod" }, null), []);
  t.same(useLines({ env: "prod" }, { prod: "denied" }, { carm: true }), []);
  t.end();
});
