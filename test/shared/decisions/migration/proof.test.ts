import { test } from "tap";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { proveSelectors } from "../../../../shared/resolution/migration-proof.ts";
import { drain } from "../../../../shared/formats/paced.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { A, B, bucketIn, mapObject, migrated, ownedNamespace } from "./carm-objects.ts";

const REFUSED = { outcome: "refused", via: "account-map", roleARN: null };
const DEFAULT = { outcome: "default", via: null, roleARN: null, code: null };
const stopped = (reason: string): string => (
  `with CARM, controllers do not reconcile these resources (${reason}); `
  + "without a selector, controllers use their own role for these resources"
);
const ADD_ROLE =
  "set the role of the key in the map, or remove the annotation from the namespace to use the controller's own role. "
  + "Then run the command again";
const CORRECT_ARN =
  "set the value in the map to a role ARN, arn:aws:iam::ACCOUNT:role/NAME, and run the command again";

test("reports a namespace whose key is missing: its resources would use the controller's own role", (t) => {
  const { proof } = migrated([
    mapObject("account", { "444455556666": B }),
    ownedNamespace("a", "111122223333"),
    bucketObject({ namespace: "a" }),
  ]);
  t.same(proof.differences, [
    {
      namespace: "a",
      groups: ["*"],
      resources: [{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "a", name: "b1" }],
      before: { ...REFUSED, code: "ERR_CARM_KEY_MISSING" },
      after: DEFAULT,
      message:
        `every resource in namespace "a": refused before, the controller's own role after: ` +
        stopped('ConfigMap ack-system/ack-role-account-map has no key "111122223333"'),
      fix: ADD_ROLE,
    },
  ]);
  t.end();
});

test("reports each fault in the team map, and does not fall back to the account map", (t) => {
  const team = { teamLevelCARM: true } as const;
  const both = ownedNamespace("a", "111122223333", "blue");
  const first = (objects: readonly JsonObject[]): unknown =>
    migrated(objects, team).proof.differences.map(({ before: { code }, message, fix }) => [
      code,
      message.slice(message.indexOf("(") + 1, message.indexOf(")")),
      fix,
    ]);
  const accounts = mapObject("account", { "111122223333": A, "blue": A });
  t.same(first([both, accounts, mapObject("team", { green: B })]), [
    ["ERR_CARM_KEY_MISSING", 'ConfigMap ack-system/ack-role-team-map has no key "blue"', ADD_ROLE],
  ]);
  t.same(first([both, accounts, mapObject("team", { blue: "" })]), [
    ["ERR_CARM_VALUE_EMPTY", 'ConfigMap ack-system/ack-role-team-map has no role for key "blue"', ADD_ROLE],
  ]);
  t.same(first([both, accounts, mapObject("team", { blue: "role/x" })]), [
    ["ERR_CARM_ARN", 'The value of key "blue" in ConfigMap ack-system/ack-role-team-map is not a role ARN', ADD_ROLE],
  ]);
  t.match(first([both, accounts]), [
    [
      "ERR_CARM_MAP_MISSING",
      'ConfigMap ack-system/ack-role-team-map does not exist, so key "blue" has no role',
      /^add the map to the input, set --ack-system-namespace to its namespace/,
    ],
  ]);
  t.same(first([both, accounts, mapObject("team", { blue: B })]), []);
  t.end();
});

test("reports every group except the group of the service if the map has only a service key", (t) => {
  const { proof } = migrated([mapObject("account", { "s3.blue": A }), ownedNamespace("a", "blue")], {
    serviceLevelCARM: true,
  });
  const [difference] = proof.differences;
  t.notOk(difference?.groups.includes("s3.services.k8s.aws"));
  t.match(
    difference?.message,
    /^resources of acm\S+, acmpca\S+, apigateway\.services\.k8s\.aws and \d+ more in namespace "a": refused before/,
  );
  t.same([proof.differences.length, proof.unknownGroups], [1, []], "an unknown group resolves like the other groups");
  t.end();
});

test("reports a map value that is not a role ARN", (t) => {
  const { proof } = migrated([
    mapObject("account", { blue: "arn:aws:iam::111122223333:root" }),
    ownedNamespace("a", "blue"),
  ]);
  t.match(proof.differences, [
    {
      groups: ["*"],
      before: { outcome: "selected", roleARN: "arn:aws:iam::111122223333:root" },
      after: DEFAULT,
      message:
        'every resource in namespace "a": "arn:aws:iam::111122223333:root" before, the controller\'s own role after: '
        + "the value is not the ARN of an IAM role, so a selector cannot use the value",
      fix: CORRECT_ARN,
    },
  ]);
  t.end();
});

test("reports a namespace with an invalid name", (t) => {
  const { proof } = migrated([mapObject("account", { blue: A }), ownedNamespace("No_Name", "blue")]);
  t.match(proof.differences, [
    {
      namespace: "No_Name",
      message: /the name of the namespace is invalid, so a selector cannot list the namespace$/,
      fix: "correct the name of the Namespace in the input, and run the command again",
    },
  ]);
  t.end();
});

test("reports a resource whose account is only in its status, unless the controllers use the same account", (t) => {
  const objects = [
    mapObject("account", { "111122223333": A }),
    namespaceObject("a"),
    bucketIn("a", "111122223333"),
    bucketIn("a", "111122223333", "b2"),
    bucketIn("a", "444455556666", "b3"),
    bucketObject({ namespace: "a", name: "b4" }),
  ];
  const { proof } = migrated(objects);
  t.match(proof, {
    resources: 4,
    differences: [
      {
        namespace: "a",
        groups: [],
        resources: [{ name: "b1" }, { name: "b2" }],
        before: { outcome: "selected", roleARN: A },
        after: DEFAULT,
        message:
          `Bucket "b1" and Bucket "b2" in namespace "a": "${A}" before, the controller's own role after: `
          + 'CARM reads their account only from status.ackResourceMetadata.ownerAccountID, "111122223333", '
          + "but selectors do not read the status",
      },
      {
        resources: [{ name: "b3" }],
        before: { outcome: "refused" },
        message:
          'Bucket "b3" in namespace "a": refused before, the controller\'s own role after: '
          + 'CARM reads their account only from status.ackResourceMetadata.ownerAccountID, "444455556666", '
          + "but selectors do not read the status "
          + '(ConfigMap ack-system/ack-role-account-map has no key "444455556666")',
      },
    ],
  });
  t.equal(migrated(objects, { controllerAccount: "444455556666" }).proof.differences.length, 1);
  t.same(
    migrated([...objects.slice(0, 1), ownedNamespace("a", "111122223333"), ...objects.slice(2)]).proof.differences,
    [],
    "the annotation of a namespace applies to all its resources",
  );
  t.end();
});

test("reports selectors that have another role, are in conflict, lack a namespace or have an extra namespace", (t) => {
  const prove = (...specs: readonly JsonObject[]): unknown => {
    const inventory = new Inventory({ runtime: "ack", origin: "file" });
    inventory.apply(
      [
        mapObject("account", { blue: A }),
        ownedNamespace("a", "blue"),
        namespaceObject("b"),
        ...specs.map((spec, i) => selectorObject(`s${i}`, spec)),
      ].map(put),
    );
    return drain(
      proveSelectors({ inventory, settings: SETTINGS_BY_DEFAULT, groups: ["s3.services.k8s.aws"] }),
    ).differences.map(({ message, fix }) => [message, fix]);
  };
  const names = (...list: readonly string[]): JsonObject => ({ namespaceSelector: { names: list } });
  const fix = "apply exactly the selectors that `migrate carm` prints";
  t.same(prove({ arn: A, ...names("a") }), []);
  t.same(prove({ arn: B, ...names("a") }), [
    [`every resource in namespace "a": "${A}" before, "${B}" after: the selectors do not match the maps`, fix],
  ]);
  t.same(prove({ arn: A, ...names("a") }, { arn: A, ...names("a") }), [
    [`every resource in namespace "a": "${A}" before, conflict after: the selectors do not match the maps`, fix],
  ]);
  t.same(prove({ arn: A, ...names("a", "b") }), [
    [
      `every resource in namespace "b": the controller's own role before, "${A}" after: the selectors do not match `
        + "the maps",
      fix,
    ],
  ]);
  t.match(prove(), [[/: no selector selects these resources$/, /./]]);
  t.match(
    prove({ arn: A }),
    [[/^every resource in namespace "b"/], [/^every resource in namespace "no-such-namespace"/]],
    "the selectors also differ in an unknown namespace",
  );
  t.end();
});

test("the name of the unknown namespace differs from every namespace in the input", (t) => {
  const { proof } = migrated([
    namespaceObject("no-such-namespace"),
    bucketObject({ namespace: "no-such-namespace-x" }),
    mapObject("account", { blue: A }),
    ownedNamespace("no-such-namespace-x-x", "blue"),
  ]);
  t.same(proof.differences, []);
  t.end();
});
