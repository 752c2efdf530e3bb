import { test } from "tap";
import { runChecks } from "../../../../../shared/decisions/checks/run.ts";
import { Inventory, type InventoryChange } from "../../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { ACK_CRDS } from "../../../../fixtures/ack-crds.ts";
import { kindObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { FIRST, made, many, OWN, replacing, roleIn, SECOND, selecting, told, wanted } from "../company.ts";
import { judgeChange } from "../selector-changes.ts";

const TEAM_A = selecting("team-a", FIRST, ["team-a"]);
const LATER = { deletionTimestamp: "2026-11-21T00:00:00Z" };
const policy = (value: string): JsonObject => ({ annotations: { "services.k8s.aws/deletion-policy": value } });

function deleting(id: string, known: readonly JsonObject[], settings: object = {}): string[] {
  return told(id, TEAM_A, { known: [TEAM_A, ...known], operation: "DELETE", settings });
}

const FALL = "would fall to the controller's own role and account, since nothing else selects them";
const TAKE_OVER = `Delete the resources first, or create a selector that takes them over: the spec of team-a under another name, with a role of the same account `
  + "and the annotation ack-role-resolver.io/replaces: team-a; then delete team-a again.";

test("IRS-30: a selector that alone selects something may not be deleted, and says how to replace it", (t) => {
  t.same(deleting("IRS-30", [made("b1", FIRST), wanted("b2"), wanted("b3", { namespace: "team-b" })]), [
    `deny IRS-30 metadata.name: 2 resources ${FALL}: Bucket team-a/b1 in account ${FIRST} and Bucket team-a/b2 in account ${FIRST}. ${TAKE_OVER}`,
  ]);
  t.match(deleting("IRS-30", many(20, wanted))[0], /^deny IRS-30 metadata.name: at least 20 resources .*, Bucket team-a\/b02 in account 111122223333 and others\. /);
  t.same(deleting("IRS-30", [wanted("b3", { namespace: "team-b" })]), [], "nothing needs it");
  t.same(deleting("IRS-30", [made("b1", FIRST), selecting("new", FIRST, ["team-a"], replacing("team-a"))]), [], "all that it selects has another one");
  t.same(deleting("IRS-30", [made("b1", FIRST)], { mode: "carm" }), []);
  const malformed = selectorObject("team-a", { arn: "" });
  t.same(told("IRS-30", malformed, { known: [malformed, wanted("b1")], operation: "DELETE" }), [], "what takes no part is nobody's");
  t.end();
});

test("IRS-30: it is let go only when its replacer has all of it", (t) => {
  const wide = selecting("team-a", FIRST, ["team-a", "team-b"]);
  const known = [wide, selecting("new", FIRST, ["team-a"], replacing("team-a")), wanted("b1"), wanted("b2", { namespace: "team-b" })];
  t.match(told("IRS-30", wide, { known, operation: "DELETE" }), [/^deny IRS-30 metadata.name: 1 resource .*: Bucket team-b\/b2 in account 111122223333\./]);
  t.end();
});

test("IRS-30: kinds that could not be listed are not taken for kinds without resources", (t) => {
  const message = "what it selects of Bucket.s3.services.k8s.aws and Queue.sqs.services.k8s.aws is not known, since those could not be listed";
  t.match(withUnlisted(TEAM_A), [{ code: "IRS-30", severity: "deny", waivable: true, message }]);
  const ofGroup = (group: string): JsonObject => selectorObject("team-a", { arn: roleIn(FIRST), namespaceSelector: { names: ["team-a"] }, resourceTypeSelector: [{ group, kind: "Bucket" }] });
  t.match(withUnlisted(ofGroup("s3.services.k8s.aws")), [{ severity: "deny", message: "what it selects of Bucket.s3.services.k8s.aws is not known, since those could not be listed" }]);
  t.match(withUnlisted(ofGroup("")), [{ message }]);
  t.same(withUnlisted(ofGroup("sns.services.k8s.aws")), [], "a kind that it cannot select");
  t.same(withUnlisted(selectorObject("team-a", {})), [], "a malformed one selects nothing");
  t.end();
});

/** What IRS-30 says of the deletion where two kinds could not be listed. */
function withUnlisted(selector: JsonObject): readonly unknown[] {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  const unlisted = (what: string): InventoryChange => ({ type: "unlisted", sort: "resources", what });
  inventory.apply([put(selector), unlisted("Queue.sqs.services.k8s.aws"), unlisted("Bucket.s3.services.k8s.aws")]);
  const { findings } = runChecks({ object: selector, old: null, operation: "DELETE", requester: null, origin: "cluster", inventory }, SETTINGS_BY_DEFAULT);
  return findings.filter(({ code }) => code === "IRS-30");
}

const ORPHAN = `would be deleted or orphaned with the controller's own credentials, which are of account ${OWN}`;

test("IRS-31: what another account holds and is, or will be, deleted there cannot lose its selector by any waiver", (t) => {
  const place = (name: string, why: string): string => `Bucket team-a/${name} in account ${FIRST} (${why})`;
  const found = deleting("IRS-31", [made("b1", FIRST, LATER), made("b2", FIRST), made("b3", FIRST, policy("retain")), made("b4", FIRST, { ...policy("retain"), ...LATER })]);
  t.same(found, [
    `deny IRS-31 metadata.name: 3 resources ${ORPHAN}: ${place("b1", "being deleted")}, ${place("b2", "deletion policy delete")} and ${place("b4", "being deleted")}. `
    + "Wait until those that are being deleted are gone, annotate the others with services.k8s.aws/deletion-policy: retain, or create a selector that takes them over, "
    + "with a role of the same account and the annotation ack-role-resolver.io/replaces: NAME of this one.",
  ]);
  const waived = selecting("team-a", FIRST, ["team-a"], { annotations: { "ack-role-resolver.io/allow": "IRS-30,IRS-31" } });
  const { findings, denied } = judgeChange(waived, { known: [waived, made("b1", FIRST)], operation: "DELETE", settings: { controllerAccount: OWN } });
  t.equal(denied, true);
  t.same(findings.map(({ code, severity, waived: is }) => [code, severity, is]), [["IRS-30", "warn", true], ["IRS-31", "deny", false]]);
  t.end();
});

test("IRS-31: nothing is lost of what stays in AWS, was never there, or is the controller's", (t) => {
  t.same(deleting("IRS-31", [made("b1", FIRST, policy("retain"))]), []);
  t.same(deleting("IRS-31", [made("b1", FIRST, policy("Delete"))]), [], "controllers take what they do not know for retain");
  t.same(deleting("IRS-31", [wanted("b1")]), []);
  t.same(deleting("IRS-31", [made("b1", OWN)]), []);
  t.same(deleting("IRS-31", [made("b1", FIRST)], { controllerAccount: null }), [], "not applied while nobody says which account that is");
  const namespace = (value: string): JsonObject => namespaceObject("team-a", {}, { "s3.services.k8s.aws/deletion-policy": value });
  t.same(deleting("IRS-31", [namespace("retain"), made("b1", FIRST)]), [], "a namespace's policy for the service");
  t.equal(deleting("IRS-31", [namespace("retain"), made("b1", FIRST, policy("delete"))]).length, 1, "which the resource's own overrules");
  t.end();
});

test("IRS-32: a removal that ends a conflict names who is left", (t) => {
  const left = (count: string, name: string): string => (
    `warn IRS-32 metadata.name: its removal ends a conflict: ${count} left to ${name} alone, ${roleIn(FIRST, name)}. See that this is the one to go.`
  );
  const [gold, silver] = [selecting("gold", FIRST, ["team-a"]), selecting("silver", FIRST, ["team-b"])];
  t.same(deleting("IRS-32", [gold, wanted("b1"), wanted("b2")]), [left("2 resources", "gold")]);
  const wide = selecting("team-a", FIRST, ["team-a", "team-b"]);
  const known = [wide, silver, gold, wanted("b1"), wanted("b2", { namespace: "team-b" })];
  t.same(told("IRS-32", wide, { known, operation: "DELETE" }), [left("1 resource", "gold"), left("1 resource", "silver")]);
  t.same(deleting("IRS-32", [gold, selecting("third", FIRST, ["team-a"]), wanted("b1")]), [], "two are left, and the conflict");
  t.same(deleting("IRS-32", [wanted("b1")]), []);
  t.end();
});

test("IRS-33: a selector that another one replaces in the same account goes without harm", (t) => {
  const line = "warn IRS-33 metadata.name: new selects all that it selects, 2 resources, and for the same account 111122223333. Go on: nothing changes its account.";
  const replacer = selecting("new", FIRST, ["team-a"], replacing("team-a"));
  const there = [made("b1", FIRST), wanted("b2")];
  t.same(deleting("IRS-33", [replacer, ...there]), [line]);
  t.same(deleting("IRS-33", [selecting("new", SECOND, ["team-a"]), wanted("b2")]), [], "another account");
  t.same(deleting("IRS-33", [selectorObject("new", { arn: roleIn(FIRST), namespaceSelector: { names: ["team-a"] }, resourceLabelSelector: { matchLabels: { a: "b" } } }), made("b1", FIRST, { labels: { a: "b" } }), wanted("b2")]), [], "not all");
  t.same(deleting("IRS-33", [replacer]), [], "nothing to replace");
  t.end();
});

function dropping(definition: JsonObject, known: readonly JsonObject[], settings: object = {}): string[] {
  const { findings } = judgeChange(definition, { known, operation: "DELETE", settings });
  return findings.map(({ code, severity, message }) => `${severity} ${code} ${message}`);
}

const [BUCKETS] = ACK_CRDS;
const SELECTORS: JsonObject = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "iamroleselectors.services.k8s.aws" }, spec: { group: "services.k8s.aws", names: { kind: "IAMRoleSelector" } } };

test("IRS-34: the definition of selectors may not go while they select anything", (t) => {
  t.same(dropping(SELECTORS, [TEAM_A, made("b1", FIRST), wanted("b2"), wanted("b3", { namespace: "team-b" })]), [
    `deny IRS-34 1 IAMRoleSelector would be deleted with it, and 2 resources fall to the controller's own role and account: Bucket team-a/b1 in account ${FIRST} and Bucket team-a/b2 in account ${FIRST}`,
  ]);
  t.match(dropping(SELECTORS, [TEAM_A, selectorObject("malformed", {}), ...many(130, wanted)]), [/^deny IRS-34 2 IAMRoleSelectors would be deleted with it, and at least 20 resources fall .* and others$/]);
  t.same(dropping(SELECTORS, [TEAM_A]), ["warn IRS-34 1 IAMRoleSelector would be deleted with it, though nothing is selected now"]);
  t.same(dropping(SELECTORS, [TEAM_A, wanted("b1")], { mode: "carm" }), ["warn IRS-34 1 IAMRoleSelector would be deleted with it, though nothing is selected now"]);
  const elsewhere = many(150, (name) => wanted(name, { namespace: "team-b" }));
  t.match(dropping(SELECTORS, [...elsewhere, TEAM_A, wanted("b1")]), [/and 1 resource fall .*: Bucket team-a\/b1 in account 111122223333$/], "however long the look is");
  t.same(dropping(SELECTORS, [wanted("b1")]), []);
  t.same(dropping({ ...SELECTORS, spec: {} }, [TEAM_A, wanted("b1")]), [], "a definition of nothing");
  t.same(dropping({ ...SELECTORS, spec: { group: "services.k8s.aws", names: { kind: "FieldExport" } } }, [TEAM_A, wanted("b1")]), []);
  t.end();
});

test("ACK-34: the definition of a kind may not go while there are objects of it", (t) => {
  const buckets = { ...BUCKETS };
  t.same(dropping(buckets, [TEAM_A, made("b1", SECOND), wanted("b2"), wanted("b3", { namespace: "team-b" })]), [
    `deny ACK-34 3 resources would be deleted with it: Bucket team-a/b1 in account ${SECOND}, Bucket team-a/b2 in account ${FIRST} and Bucket team-b/b3`,
  ]);
  t.match(dropping(buckets, many(120, wanted)), [/^deny ACK-34 at least 20 resources would be deleted with it: .* and others$/]);
  t.same(dropping(buckets, [{ ...wanted("r"), kind: "Object" }]), [], "another kind of the group");
  t.same(dropping(buckets, []), []);
  t.same(dropping({ ...buckets, spec: { group: "example.com", names: { kind: "Bucket" } } }, [wanted("b1")]), [], "a kind that is not ACK's");
  t.same(judgeChange(buckets, { known: [wanted("b1")] }).findings, [], "it may be created and updated");
  t.end();
});

test("IRS-34, ACK-34: without an inventory nothing is known of what would go", (t) => {
  const definition = kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1alpha1", storage: true, served: true }]);
  t.same(runChecks({ object: definition, old: null, operation: "DELETE", requester: null, origin: "cluster" }, SETTINGS_BY_DEFAULT).findings, []);
  t.end();
});
