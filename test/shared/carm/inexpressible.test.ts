import { RESOURCES } from "../../../shared/ack/resources.ts";
import { test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { planMigration, proveMigration } from "../../../shared/carm/migration-plan.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { bucketObject, inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";
import { A, B, bucketIn, mapObject, migrated, ownedNamespace } from "./carm-objects.ts";

const LATER = "namespaces that are created later with an owner or a team annotation";

type Input = readonly [objects: readonly JsonObject[], settings?: Partial<DecisionSettings>];

/**
 * Returns `SUBJECT: REASON` for each case that selectors cannot express, except the case that applies to every
 * migration.
 */
function reasonsOf([objects, settings = {}]: Input): string[] {
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

const MAP = "ConfigMap ack-system/ack-role-account-map";
const UNUSED = "no namespace annotation names the account or team, so a selector would select no resources";
const unused = (keys: string): string => `${MAP}, ${keys}: ${UNUSED}`;
const SERVICES = [
  mapObject("account", { blue: A, "s3.blue": B, "nosuch.blue": B, "s3.green": B }), ownedNamespace("a", "blue"),
];
const TEAMS = [
  ...BLUE, ownedNamespace("c", null, "green"), ownedNamespace("b", "blue", "green"), mapObject("team", { green: B }),
];
const IGNORED = namespaceObject("kube-system", {}, {
  "services.k8s.aws/owner-account-id": "blue", "services.k8s.aws/default-region": "eu-west-1", "example.com/x": "y",
});
const OTHER = selectorObject("other", { arn: B, namespaceSelector: { names: ["z"] } });
const NOT_ARN = "is not the ARN of an IAM role, so a selector cannot use the value";
const ELSEWHERE = "controllers in that namespace read this map, but selectors apply to every controller; the two maps";

testRows("reports what selectors cannot express", reasonsOf, [
  ["an account only in the status of resources", [[
    mapObject("account", { "111122223333": A }), namespaceObject("n"), bucketIn("n", "111122223333"),
    bucketIn("n", "111122223333", "b2"),
  ]],
    'Bucket "n/b1" and Bucket "n/b2": CARM reads the account from status.ackResourceMetadata.ownerAccountID, but '
      + "selectors do not read the status",
    unused('key "111122223333"')],
  ["each value that is not a role ARN, even if no namespace uses the key", [[
    mapObject("account", { blue: A, root: "arn:aws:iam::111122223333:root", spaced: `${A} `, empty: "" }),
    ownedNamespace("a", "blue"), ownedNamespace("b", "root"),
  ]],
    `${MAP}, key "root": "arn:aws:iam::111122223333:root" ${NOT_ARN}`, `${MAP}, key "spaced": "${A} " ${NOT_ARN}`,
    unused('keys "empty" and "spaced"')],
  ["service keys without ServiceLevelCARM", [SERVICES],
    `${MAP}, keys "nosuch.blue" and "s3.blue": controllers without the feature gate ServiceLevelCARM do not read keys `
      + "with a service prefix",
    unused('key "s3.green"')],
  ["a service key of an unknown service, and an unused one", [SERVICES, { serviceLevelCARM: true }],
    `${MAP}, key "nosuch.blue": no ACK group of that service is installed or known to this release`,
    unused('key "s3.green"'),
    'ACK groups that are not installed and that this release does not know, in namespace "a": the map has a key that '
      + "applies to only one service, so each generated selector names its API groups; resources of any other API "
      + "group would use the controller's own role"],
  ["a used key that contains a dot is not a service key",
    [[mapObject("account", { "s3.blue": A }), ownedNamespace("a", "s3.blue")]]],
  ["CARM maps in another namespace than the ACK system namespace", [[
    ...BLUE, mapObject("account", { blue: A }, "ack-s3"), mapObject("account", { blue: B, red: B }, "ack-rds"),
    mapObject("team", { red: B }, "ack-rds"),
  ]],
    `ConfigMap ack-rds/ack-role-account-map: ${ELSEWHERE} differ in keys "blue" and "red"`,
    `ConfigMap ack-s3/ack-role-account-map: ${ELSEWHERE} have the same data`,
    `ConfigMap ack-rds/ack-role-team-map: ${ELSEWHERE} differ in key "red"`],
  ["CARM annotations on the namespaces that CARM ignores",
    [[...BLUE, IGNORED, namespaceObject("kube-public", {}, { "example.com/x": "y" })]],
    'services.k8s.aws/default-region, services.k8s.aws/owner-account-id on namespace "kube-system": CARM ignores the '
      + "annotations of this namespace, so no selector is generated for the namespace; "
      + "with selectors, controllers read the annotations default-region and endpoint-url of the namespace"],
  ["team annotations without TeamLevelCARM", [TEAMS],
    'ConfigMap ack-system/ack-role-team-map, key "green": namespaces name the team in services.k8s.aws/team-id, but '
      + "controllers do not read the annotation there: they lack the feature gate TeamLevelCARM, or CARM ignores the "
      + "namespace",
    'services.k8s.aws/team-id on namespaces "b" and "c": controllers without the feature gate TeamLevelCARM do not '
      + "read the annotation"],
  ["team annotations with TeamLevelCARM", [TEAMS, { teamLevelCARM: true }]],
  ["an account that only a namespace with a team names, and its service key", [[
    ownedNamespace("a", "blue", "green"), mapObject("account", { blue: A, "s3.blue": A }),
    mapObject("team", { green: B }),
  ], { teamLevelCARM: true }],
    `${MAP}, keys "blue" and "s3.blue": namespaces name the account, but controllers do not look it up there: the team `
      + "of the namespace has precedence, or CARM ignores the namespace"],
  ["stored selectors that the migration did not generate",
    [[...BLUE, OTHER, selectorObject("blue", { arn: A }), selectorObject("bad", {})]],
    "IAMRoleSelector bad and other: the selector existed before the migration, and the proof ignores it; when CARM is "
      + "off, it conflicts with each generated selector for the same resources"],
  ["a namespace whose Namespace object is not in the input",
    [[...BLUE, bucketObject({ namespace: "z" }), bucketObject({ namespace: "a" })]],
    'the resources in namespace "z": the input lacks the Namespace object, so the proof assumes that the '
      + "namespace has no annotations"],
  ["no Namespace object in the input", [[bucketObject({ namespace: "z" })]],
    "every namespace: the input has no Namespace objects, and CARM reads the role from namespace annotations"],
]);

test("reports kinds that could not be listed", (t) => {
  const inventory = inventoryWith([namespaceObject("a")]);
  inventory.apply([{ type: "unlisted", store: RESOURCES, item: "Queue.sqs.services.k8s.aws" }]);
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
