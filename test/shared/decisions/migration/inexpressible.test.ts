import { test } from "tap";
import type { DecisionSettings } from "../../../../shared/decisions/context.ts";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { planMigration, proveMigration } from "../../../../shared/decisions/migration/plan.ts";
import { drain } from "../../../../shared/decisions/paced.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { A, B, bucketIn, mapObject, migrated, ownedNamespace } from "./carm-objects.ts";

const LATER = "namespaces that are created later with an owner or a team annotation";

/** `SUBJECT: REASON` of each, without the one that holds for any migration. */
function told(objects: readonly JsonObject[], settings: Partial<DecisionSettings> = {}): string[] {
  return migrated(objects, settings).inexpressible.filter(({ subject }) => subject !== LATER).map(({ subject, reason }) => `${subject}: ${reason}`);
}

const BLUE = [mapObject("account", { blue: A }), ownedNamespace("a", "blue")];

test("namespaces that come later are named wherever selectors name namespaces", (t) => {
  t.same(migrated(BLUE).inexpressible, [{
    subject: LATER,
    reason: "selectors name the namespaces that there are, so a new one gets the controller's own role, whatever its annotations say",
    fix: "add its name to the selector of its role before anything is created in it, or replace the names by namespaceSelector.labelSelector on a label that only administrators set",
  }]);
  t.same(migrated([namespaceObject("a")]).inexpressible, []);
  t.end();
});

test("resources that are found by their account alone", (t) => {
  t.same(told([mapObject("account", { "111122223333": A }), namespaceObject("n"), bucketIn("n", "111122223333"), bucketIn("n", "111122223333", "b2")]), [
    'ConfigMap ack-system/ack-role-account-map, key "111122223333": no namespace names it, so there is nothing for a selector to select',
  ].toSpliced(0, 0, 'Bucket "n/b1" and Bucket "n/b2": CARM finds the account in status.ackResourceMetadata.ownerAccountID, and no selector reads the status'));
  t.end();
});

test("values that are no role's ARN, used or not, and empty ones only where they are used", (t) => {
  t.same(told([mapObject("account", { blue: A, root: "arn:aws:iam::111122223333:root", spaced: `${A} `, empty: "" }), ownedNamespace("a", "blue"), ownedNamespace("b", "root")]), [
    'ConfigMap ack-system/ack-role-account-map, key "root": "arn:aws:iam::111122223333:root" is not the ARN of an IAM role, so no selector may name it',
    `ConfigMap ack-system/ack-role-account-map, key "spaced": "${A} " is not the ARN of an IAM role, so no selector may name it`,
    'ConfigMap ack-system/ack-role-account-map, keys "empty" and "spaced": no namespace names it, so there is nothing for a selector to select',
  ]);
  t.end();
});

test("keys of a service: without the gate, of a service that nobody knows, of a key that nobody names", (t) => {
  const objects = [mapObject("account", { "blue": A, "s3.blue": B, "nosuch.blue": B, "s3.green": B }), ownedNamespace("a", "blue")];
  const where = "ConfigMap ack-system/ack-role-account-map";
  const unused = `${where}, key "s3.green": no namespace names it, so there is nothing for a selector to select`;
  t.same(told(objects), [`${where}, keys "nosuch.blue" and "s3.blue": without the feature gate ServiceLevelCARM controllers do not read the keys of a service`, unused]);
  t.same(told(objects, { serviceLevelCARM: true }), [
    `${where}, key "nosuch.blue": no ACK group of that service is installed or known to this release`, unused,
    'ACK groups that are neither installed nor known to this release, in namespace "a": beside a key of one service every other group has to be listed, since selectors have no "all but"; one that is not listed would get the controller\'s own role',
  ]);
  t.same(told([mapObject("account", { "s3.blue": A }), ownedNamespace("a", "s3.blue")]), [], "a key with a point that a namespace names is a key like any other");
  t.end();
});

test("maps in other namespaces, which other controllers read", (t) => {
  t.same(told([...BLUE, mapObject("account", { blue: A }, "ack-s3"), mapObject("account", { blue: B, red: B }, "ack-rds"), mapObject("team", { red: B }, "ack-rds")]), [
    'ConfigMap ack-rds/ack-role-account-map: controllers in that namespace read this map, and selectors hold for every controller; it differs under "blue" and "red"',
    "ConfigMap ack-s3/ack-role-account-map: controllers in that namespace read this map, and selectors hold for every controller; it says the same",
    'ConfigMap ack-rds/ack-role-team-map: controllers in that namespace read this map, and selectors hold for every controller; it differs under "red"',
  ]);
  t.end();
});

test("annotations on the namespaces that CARM ignores", (t) => {
  const ignored = namespaceObject("kube-system", {}, { "services.k8s.aws/owner-account-id": "blue", "services.k8s.aws/default-region": "eu-west-1", "example.com/x": "y" });
  t.same(told([...BLUE, ignored, namespaceObject("kube-public", {}, { "example.com/x": "y" })]), [
    'services.k8s.aws/default-region, services.k8s.aws/owner-account-id on namespace "kube-system": CARM ignores the annotations of this namespace, so no selector is made for it; once selectors decide, controllers do read its default-region and endpoint-url',
  ]);
  t.end();
});

test("teams that are not read without their gate", (t) => {
  const teams = [...BLUE, ownedNamespace("c", null, "green"), ownedNamespace("b", "blue", "green"), mapObject("team", { green: B })];
  t.match(told(teams), [/^ConfigMap ack-system\/ack-role-team-map, key "green": no namespace names it/, 'services.k8s.aws/team-id on namespaces "b" and "c": without the feature gate TeamLevelCARM controllers do not read it']);
  t.same(told(teams, { teamLevelCARM: true }), []);
  t.end();
});

test("controllers that watch one namespace do not start CARM, those that watch more do", (t) => {
  t.same(told(BLUE, { watchNamespaces: ["a"] }), ['controllers that watch namespace "a" alone: they do not start CARM, so before the switch they use their own role, whatever the maps say; the proof takes the maps to be read']);
  t.same(told(BLUE, { watchNamespaces: ["a", "b"] }), []);
  t.end();
});

test("selectors that are there already and are none of the generated", (t) => {
  const other = selectorObject("other", { arn: B, namespaceSelector: { names: ["z"] } });
  t.same(told([...BLUE, other, selectorObject("blue", { arn: A }), selectorObject("bad", {})]), [
    "IAMRoleSelector bad and other: already there, and no part of the proof: with CARM off it takes part too, and conflicts wherever it selects what a generated one selects",
  ]);
  t.end();
});

test("namespaces that the input leaves out", (t) => {
  t.same(told([...BLUE, bucketObject({ namespace: "z" }), bucketObject({ namespace: "a" })]), ['the resources in namespace "z": the input does not hold the Namespace, so they were taken as if it had no annotations']);
  t.same(told([bucketObject({ namespace: "z" })]), ["every namespace: the input holds no Namespace, and CARM decides by their annotations, so nothing is known of them"]);
  t.end();
});

test("kinds that could not be listed", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply([{ type: "unlisted", sort: "resources", what: "Queue.sqs.services.k8s.aws" }, put(namespaceObject("a"))]);
  const { inexpressible } = drain(proveMigration(planMigration(inventory, SETTINGS_BY_DEFAULT, [])));
  t.same(inexpressible, [{
    subject: "Queue.sqs.services.k8s.aws", reason: "the resources of these kinds could not be listed, so the proof does not cover those that are found by their status",
    fix: "allow the kinds to be listed and run this again",
  }]);
  t.end();
});

test("the switch is one rollout, with every gate that was on turned off, and nothing is removed before", (t) => {
  const { steps } = migrated(BLUE, { teamLevelCARM: true, serviceLevelCARM: true });
  t.match(steps, [
    /^Keep CARM as it is, its maps and annotations too, and apply the selectors/,
    /ONE rollout.*--set featureGates\.IAMRoleSelector=true --set enableCARM=false --set featureGates\.TeamLevelCARM=false --set featureGates\.ServiceLevelCARM=false\./,
    /^Verify: ack-role-resolver resolve --cluster and ack-role-resolver audit --cluster\./, /^Only then remove the annotations/,
  ]);
  t.equal(steps.length, 4);
  const undecided = migrated([ownedNamespace("a", "blue")]).steps;
  t.match(undecided, [/^Decide each difference/, /^Keep CARM/, /--set enableCARM=false\. A/, /^Verify/, /^Only then/]);
  t.equal(undecided.length, 5);
  t.end();
});
