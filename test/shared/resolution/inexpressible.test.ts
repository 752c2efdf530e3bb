import { test } from "tap";
import type { DecisionSettings } from "../../../shared/contract/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { planMigration, proveMigration } from "../../../shared/resolution/migration-plan.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { bucketObject, inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { A, B, bucketIn, mapObject, migrated, ownedNamespace } from "./carm-objects.ts";

const LATER = "namespaces that are created later with an owner or a team annotation";

/**
 * Returns `SUBJECT: REASON` for each case that selectors cannot express, except the case that applies to every
 * migration.
 */
function reasonsOf(objects: readonly JsonObject[], settings: Partial<DecisionSettings> = {}): string[] {
  return migrated(objects, settings)
    .inexpressible.filter(({ subject }) => subject !== LATER)
    .map(({ subject, reason }) => `${subject}: ${reason}`);
}

const BLUE = [mapObject("account", { blue: A }), ownedNamespace("a", "blue")];

test("reports that the generated selectors do not cover namespaces that are created later", (t) => {
  t.same(migrated(BLUE).inexpressible, [{
    subject: LATER,
    reason: "the selectors list the existing namespaces; resources in a new namespace use the controller's own role, "
      + "even if the namespace has such an annotation",
    fix: "add a new namespace to the selector of its role before you create resources in it, "
      + "or replace the names by namespaceSelector.labelSelector with a label that only administrators can set",
  }]);
  t.same(migrated([namespaceObject("a")]).inexpressible, []);
  t.end();
});

test("reports resources if only their status contains their account", (t) => {
  t.same(
    reasonsOf([
      mapObject("account", { "111122223333": A }),
      namespaceObject("n"),
      bucketIn("n", "111122223333"),
      bucketIn("n", "111122223333", "b2"),
    ]),
    [
      'ConfigMap ack-system/ack-role-account-map, key "111122223333": no namespace annotation names the '
        + "account or team, so a selector would select no resources",
    ].toSpliced(
      0,
      0,
      'Bucket "n/b1" and Bucket "n/b2": CARM reads the account from status.ackResourceMetadata.ownerAccountID, but '
        + "selectors do not read the status",
    ),
  );
  t.end();
});

test("reports each value that is not a role ARN, even if no namespace uses the key", (t) => {
  t.same(
    reasonsOf([
      mapObject("account", { blue: A, root: "arn:aws:iam::111122223333:root", spaced: `${A} `, empty: "" }),
      ownedNamespace("a", "blue"),
      ownedNamespace("b", "root"),
    ]),
    [
      'ConfigMap ack-system/ack-role-account-map, key "root": "arn:aws:iam::111122223333:root" is not the ARN of an '
        + "IAM role, so a selector cannot use the value",
      `ConfigMap ack-system/ack-role-account-map, key "spaced": "${A} " is not the ARN of an IAM role, so a selector `
        + "cannot use the value",
      'ConfigMap ack-system/ack-role-account-map, keys "empty" and "spaced": no namespace annotation names the '
        + "account or team, so a selector would select no resources",
    ],
  );
  t.end();
});

test("reports service keys if ServiceLevelCARM is off, the service is unknown or the key is unused", (t) => {
  const objects = [
    mapObject("account", { blue: A, "s3.blue": B, "nosuch.blue": B, "s3.green": B }),
    ownedNamespace("a", "blue"),
  ];
  const where = "ConfigMap ack-system/ack-role-account-map";
  const unused = `${where}, key "s3.green": no namespace annotation names the account or team, `
    + "so a selector would select no resources";
  t.same(reasonsOf(objects), [
    `${where}, keys "nosuch.blue" and "s3.blue": controllers without the feature gate ServiceLevelCARM do not read `
      + "keys with a service prefix",
    unused,
  ]);
  t.same(reasonsOf(objects, { serviceLevelCARM: true }), [
    `${where}, key "nosuch.blue": no ACK group of that service is installed or known to this release`,
    unused,
    'ACK groups that are not installed and that this release does not know, in namespace "a": the map has a key that '
      + "applies to only one service, so each generated selector names its API groups; resources of any other API "
      + "group would use the controller's own role",
  ]);
  t.same(
    reasonsOf([mapObject("account", { "s3.blue": A }), ownedNamespace("a", "s3.blue")]),
    [],
    "a used key that contains a dot is not a service key",
  );
  t.end();
});

test("reports CARM maps that are in another namespace than the ACK system namespace", (t) => {
  t.same(
    reasonsOf([
      ...BLUE,
      mapObject("account", { blue: A }, "ack-s3"),
      mapObject("account", { blue: B, red: B }, "ack-rds"),
      mapObject("team", { red: B }, "ack-rds"),
    ]),
    [
      'ConfigMap ack-rds/ack-role-account-map: controllers in that namespace read this map, but selectors apply to '
        + 'every controller; the two maps differ in keys "blue" and "red"',
      "ConfigMap ack-s3/ack-role-account-map: controllers in that namespace read this map, but selectors apply to "
        + "every controller; the two maps have the same data",
      'ConfigMap ack-rds/ack-role-team-map: controllers in that namespace read this map, but selectors apply to every '
        + 'controller; the two maps differ in key "red"',
    ],
  );
  t.end();
});

test("reports CARM annotations on the namespaces that CARM ignores", (t) => {
  const ignored = namespaceObject(
    "kube-system",
    {},
    {
      "services.k8s.aws/owner-account-id": "blue",
      "services.k8s.aws/default-region": "eu-west-1",
      "example.com/x": "y",
    },
  );
  t.same(reasonsOf([...BLUE, ignored, namespaceObject("kube-public", {}, { "example.com/x": "y" })]), [
    'services.k8s.aws/default-region, services.k8s.aws/owner-account-id on namespace "kube-system": CARM ignores the '
      + "annotations of this namespace, so no selector is generated for the namespace; "
      + "with selectors, controllers read the annotations default-region and endpoint-url of the namespace",
  ]);
  t.end();
});

test("reports team annotations if TeamLevelCARM is off", (t) => {
  const teams = [
    ...BLUE,
    ownedNamespace("c", null, "green"),
    ownedNamespace("b", "blue", "green"),
    mapObject("team", { green: B }),
  ];
  t.match(reasonsOf(teams), [
    /^ConfigMap ack-system\/ack-role-team-map, key "green": no namespace annotation names the account or team/,
    'services.k8s.aws/team-id on namespaces "b" and "c": controllers without the feature gate TeamLevelCARM do not '
      + "read the annotation",
  ]);
  t.same(reasonsOf(teams, { teamLevelCARM: true }), []);
  t.end();
});

test("reports stored selectors that the migration did not generate", (t) => {
  const other = selectorObject("other", { arn: B, namespaceSelector: { names: ["z"] } });
  t.same(reasonsOf([...BLUE, other, selectorObject("blue", { arn: A }), selectorObject("bad", {})]), [
    "IAMRoleSelector bad and other: the selector existed before the migration, and the proof ignores it; when CARM is "
      + "off, it conflicts with each generated selector for the same resources",
  ]);
  t.end();
});

test("reports each namespace whose Namespace object is not in the input", (t) => {
  t.same(reasonsOf([...BLUE, bucketObject({ namespace: "z" }), bucketObject({ namespace: "a" })]), [
    'the resources in namespace "z": the input lacks the Namespace object, so the proof assumes that the '
      + "namespace has no annotations",
  ]);
  t.same(reasonsOf([bucketObject({ namespace: "z" })]), [
    "every namespace: the input has no Namespace objects, and CARM reads the role from namespace annotations",
  ]);
  t.end();
});

test("reports kinds that could not be listed", (t) => {
  const inventory = inventoryWith([namespaceObject("a")]);
  inventory.apply([{ type: "unlisted", collection: "resources", item: "Queue.sqs.services.k8s.aws" }]);
  const { inexpressible } = drain(proveMigration(planMigration(inventory, SETTINGS_BY_DEFAULT, [])));
  t.same(inexpressible, [{
    subject: "Queue.sqs.services.k8s.aws", reason: "the resources of these kinds could not be listed; "
      + "the proof does not cover resources whose account is only in their status",
    fix: "grant the verb list on these kinds and run the command again",
  }]);
  t.end();
});

test("the migration steps switch to selectors in one rollout, and remove the annotations and maps last", (t) => {
  const { steps } = migrated(BLUE, { teamLevelCARM: true, serviceLevelCARM: true });
  t.match(steps, [
    /^Keep CARM with its maps and annotations, and apply the selectors/,
    new RegExp("ONE rollout.*--set featureGates\\.IAMRoleSelector=true --set enableCARM=false "
      + "--set featureGates\\.TeamLevelCARM=false --set featureGates\\.ServiceLevelCARM=false\\."),
    /^Verify: ack-role-resolver resolve --cluster and ack-role-resolver audit --cluster\./,
    /^Remove the annotations/,
  ]);
  t.equal(steps.length, 4);
  const undecided = migrated([ownedNamespace("a", "blue")]).steps;
  t.match(undecided, [/^Resolve every difference/, /^Keep CARM/, /--set enableCARM=false\. A/, /^Verify/, /^Remove/]);
  t.equal(undecided.length, 5);
  t.end();
});
