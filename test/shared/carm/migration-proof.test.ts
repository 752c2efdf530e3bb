import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { proveSelectors } from "../../../shared/carm/migration-proof.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { bucketObject, inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";
import { A, B, bucketIn, mapObject, migrated, ownedNamespace } from "./carm-objects.ts";

// migration-plan.property.test.ts compares the differences with a second implementation.
const DEFAULT = { outcome: "default", via: null, roleARN: null, code: null };
const ADD_ROLE = "set the role of the key in the map, or remove the annotation from the namespace to use the "
  + "controller's "
  + "own role. Then run the command again";

type Input = readonly [objects: readonly JsonObject[], settings?: Parameters<typeof migrated>[1]];
/** Returns `CODE MESSAGE; FIX` of each difference. */
const differences = ([objects, settings]: Input): string[] =>
  migrated(objects, settings).proof.differences.map(({ before, message, fix }) => `${before.code} ${message}; ${fix}`);

test("reports a namespace whose key is missing: its resources would use the controller's own role", (t) => {
  const maps = mapObject("account", { "444455556666": B });
  const { proof } = migrated([maps, ownedNamespace("a", "111122223333"), bucketObject({ namespace: "a" })]);
  t.same(proof.differences, [{
    namespace: "a",
    groups: ["*"],
    resources: [{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "a", name: "b1" }],
    before: { outcome: "refused", via: "account-map", roleARN: null, code: "ERR_CARM_KEY_MISSING" },
    after: DEFAULT,
    message: `every resource in namespace "a": refused before, the controller's own role after: with CARM, `
      + `controllers do `
      + 'not reconcile these resources (ConfigMap ack-system/ack-role-account-map has no key "111122223333"); '
      + "without a selector, controllers use their own role for these resources",
    fix: ADD_ROLE,
  }]);
  t.end();
});

const TEAM = { teamLevelCARM: true } as const;
const both = [ownedNamespace("a", "111122223333", "blue"), mapObject("account", { "111122223333": A, blue: A })];
const team = (data: Record<string, string>): Input => [[...both, mapObject("team", data)], TEAM];
const ofTeam = (code: string, message: string, fix = ADD_ROLE): RegExp =>
  new RegExp(`^${code} .*\\(${message}\\).*; ${fix}`);

testRows("reports each fault in the team map, and does not fall back to the account map", differences, [
  ["no key", team({ green: B }), ofTeam("ERR_CARM_KEY_MISSING", 'ConfigMap \\S+team-map has no key "blue"')],
  ["an empty value", team({ blue: "" }),
    ofTeam("ERR_CARM_VALUE_EMPTY", 'ConfigMap \\S+team-map has no role for key "blue"')],
  ["no ARN", team({ blue: "role/x" }),
    ofTeam("ERR_CARM_ARN", 'The value "role/x" of key "blue" in ConfigMap \\S+team-map is not the ARN of an IAM role, '
      + "so controllers cannot assume it", "set the value in the map to a role ARN")],
  ["no map", [both, TEAM], ofTeam("ERR_CARM_MAP_MISSING",
    'ConfigMap \\S+team-map does not exist, so key "blue" has no role',
    "add the map to the input, set --ack-system-namespace to its namespace")],
  ["a role", team({ blue: B })],
]);

testRows("reports values and names that selectors cannot express", differences, [
  ["no role ARN", [[mapObject("account", { blue: "arn:aws:iam::111122223333:root" }), ownedNamespace("a", "blue")]],
    'ERR_CARM_ARN every resource in namespace "a": refused before, the controller\'s own role after: with CARM, '
      + 'controllers do not reconcile these resources (The value "arn:aws:iam::111122223333:root" of key "blue" in '
      + "ConfigMap ack-system/ack-role-account-map is not the ARN of an IAM role, so controllers cannot assume it); "
      + "without a selector, controllers use their own role for these resources; set the value in the map to a role "
      + "ARN, arn:aws:iam::ACCOUNT:role/NAME, and run the command again"],
  ["an invalid name of a namespace", [[mapObject("account", { blue: A }), ownedNamespace("No_Name", "blue")]],
    new RegExp("the name of the namespace is invalid, so a selector cannot list the namespace; correct the name of the "
      + "Namespace in the input, and run the command again$")],
]);

test("reports every group except the group of the service if the map has only a service key", (t) => {
  const objects = [mapObject("account", { "s3.blue": A }), ownedNamespace("a", "blue")];
  const { proof } = migrated(objects, { serviceLevelCARM: true });
  const [difference] = proof.differences;
  t.notOk(difference?.groups.includes("s3.services.k8s.aws"));
  t.match(
    difference?.message,
    /^resources of acm\S+, acmpca\S+, apigateway\.services\.k8s\.aws and \d+ more in namespace "a": refused before/,
  );
  t.same([proof.differences.length, proof.unknownGroups], [1, []], "an unknown group resolves like the other groups");
  t.end();
});

test("reports a resource whose account is only in its status, unless the controllers use the same account", (t) => {
  const buckets = [
    bucketIn("a", "111122223333"), bucketIn("a", "111122223333", "b2"), bucketIn("a", "444455556666", "b3"),
    bucketObject({ namespace: "a", name: "b4" }),
  ];
  const map = mapObject("account", { "111122223333": A });
  const objects = [map, namespaceObject("a"), ...buckets];
  const { proof } = migrated(objects);
  const only = (account: string): string => "CARM reads their account only from "
    + "status.ackResourceMetadata.ownerAccountID, "
    + `"${account}", but selectors do not read the status`;
  t.match(proof, {
    resources: 4,
    differences: [{
      namespace: "a", groups: [], resources: [{ name: "b1" }, { name: "b2" }],
      before: { outcome: "selected", roleARN: A }, after: DEFAULT,
      message: `Bucket "b1" and Bucket "b2" in namespace "a": "${A}" before, the controller's own role after: `
        + only("111122223333"),
    }, {
      resources: [{ name: "b3" }], before: { outcome: "refused" },
      message: 'Bucket "b3" in namespace "a": refused before, the controller\'s own role after: '
        + `${only("444455556666")} (ConfigMap ack-system/ack-role-account-map has no key "444455556666")`,
    }],
  });
  t.equal(migrated(objects, { controllerAccount: "444455556666" }).proof.differences.length, 1);
  const annotated = migrated([map, ownedNamespace("a", "111122223333"), ...buckets]);
  t.same(annotated.proof.differences, [], "the annotation of a namespace applies to all its resources");
  t.end();
});

const names = (...list: readonly string[]): JsonObject => ({ arn: A, namespaceSelector: { names: list } });
const OTHER = "the selectors do not match the maps; apply exactly the selectors that `migrate carm` prints";
testRows("reports selectors that have another role, are in conflict, lack a namespace or have an extra namespace",
  (specs: readonly JsonObject[]) => {
    const selectors = specs.map((spec, i) => selectorObject(`s${i}`, spec));
    const map = mapObject("account", { blue: A });
    const objects = [map, ownedNamespace("a", "blue"), namespaceObject("b"), ...selectors];
    const inventory = inventoryWith(objects, { origin: "file" });
    const groups = ["s3.services.k8s.aws"];
    const proof = drain(proveSelectors({ inventory, settings: SETTINGS_BY_DEFAULT, groups }));
    return proof.differences.map(({ message, fix }) => `${message}; ${fix}`);
  }, [
    ["the same role", [names("a")]],
    ["another role", [{ ...names("a"), arn: B }],
      `every resource in namespace "a": "${A}" before, "${B}" after: ${OTHER}`],
    ["a conflict", [names("a"), names("a")], 
      `every resource in namespace "a": "${A}" before, conflict after: ${OTHER}`],
    ["an extra namespace", [names("a", "b")],
      `every resource in namespace "b": the controller's own role before, "${A}" after: ${OTHER}`],
    ["no selector", [], /: no selector selects these resources; ./],
    ["also in an unknown namespace", [{ arn: A }],
      /^every resource in namespace "b"/, /^every resource in namespace "no-such-namespace"/],
  ]);

test("the name of the unknown namespace differs from every namespace in the input", (t) => {
  const { proof } = migrated([
    namespaceObject("no-such-namespace"), bucketObject({ namespace: "no-such-namespace-x" }),
    mapObject("account", { blue: A }), ownedNamespace("no-such-namespace-x-x", "blue"),
  ]);
  t.same(proof.differences, []);
  t.end();
});
