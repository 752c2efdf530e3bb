import { test } from "tap";
import type { DecisionSettings } from "../../../../shared/contract/context.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { drain } from "../../../../shared/formats/paced.ts";
import {
  compareInventories, countsOf, type Impact, isDisruptive,
} from "../../../../shared/resolution/impact.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const A = "arn:aws:iam::111111111111:role/a";
const B = "arn:aws:iam::222222222222:role/b";

function inventoryOf(objects: readonly JsonObject[]): Inventory {
  const inventory = new Inventory({ runtime: "ack", origin: "file" });
  inventory.apply(objects.map(put));
  return inventory;
}

function selector(name: string, arn: string): JsonObject {
  return selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] } });
}

function existing(ownerAccountID: string): JsonObject {
  return bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID } } });
}

function impacts(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  settings: Partial<DecisionSettings> = {},
): readonly Impact[] {
  const all = { ...SETTINGS_BY_DEFAULT, ...settings };
  return drain(compareInventories(inventoryOf(before), inventoryOf(after), all)).impacts;
}

const bucket = bucketObject();
const CASES: readonly (readonly [
  what: string,
  before: JsonObject[],
  after: JsonObject[],
  change: string | null,
  disruptive: boolean,
])[] = [
  ["reports no change for equal inventories", [bucket, selector("a", A)], [bucket, selector("a", A)], null, false],
  [
    "reports a conflict when a second selector selects the resource",
    [bucket, selector("a", A)],
    [bucket, selector("a", A), selector("b", A)],
    "conflict",
    true,
  ],
  ["reports the default role when the selector is deleted", [bucket, selector("a", A)], [bucket], "default", true],
  [
    "reports the account when the role of the selector is in another account",
    [bucket, selector("a", A)],
    [bucket, selector("a", B)],
    "account",
    true,
  ],
  [
    "reports the role when the selector has another role of the same account",
    [bucket, selector("a", A)],
    [bucket, selector("a", `${A}2`)],
    "role",
    false,
  ],
  [
    "reports the selector when another selector has the same role",
    [bucket, selector("a", A)],
    [bucket, selector("b", A)],
    "selector",
    false,
  ],
  [
    "reports a selection when the account of the default role is unknown",
    [bucket],
    [bucket, selector("a", A)],
    "selected",
    false,
  ],
  [
    "reports a selection when the resource exists in the account of the new role",
    [existing("111111111111")],
    [existing("111111111111"), selector("a", A)],
    "selected",
    false,
  ],
  [
    "reports the account when the resource exists in another account than the new role",
    [existing("222222222222")],
    [existing("222222222222"), selector("a", A)],
    "account",
    true,
  ],
  [
    "reports the role when the resource moves back to the account it exists in",
    [existing("222222222222"), selector("a", A)],
    [existing("222222222222"), selector("a", B)],
    "role",
    false,
  ],
  [
    "reports a selection when a conflict ends",
    [bucket, selector("a", A), selector("b", A)],
    [bucket, selector("a", A)],
    "selected",
    false,
  ],
  [
    "reports the account when a conflict ends with a role of another account",
    [existing("222222222222"), selector("a", A), selector("b", B)],
    [existing("222222222222"), selector("a", A)],
    "account",
    true,
  ],
  [
    "reports the selector when another selector joins a conflict",
    [bucket, selector("a", A), selector("b", A)],
    [bucket, selector("a", A), selector("b", A), selector("c", A)],
    "selector",
    false,
  ],
  ["reports an added resource", [selector("a", A)], [bucket, selector("a", A)], "added", false],
  [
    "reports an added resource in conflict as disruptive",
    [selector("a", A), selector("b", A)],
    [bucket, selector("a", A), selector("b", A)],
    "added",
    true,
  ],
  ["reports a removed resource", [bucket, selector("a", A)], [selector("a", A)], "removed", false],
  [
    "reports a selection when the labels of the resource change",
    [bucket, selectorObject("a", { arn: A, resourceLabelSelector: { matchLabels: { x: "y" } } })],
    [
      bucketObject({ labels: { x: "y" } }),
      selectorObject("a", { arn: A, resourceLabelSelector: { matchLabels: { x: "y" } } }),
    ],
    "selected",
    false,
  ],
  [
    "reports the region when the namespace loses its region",
    [bucket, namespaceObject("team-a", {}, { "services.k8s.aws/default-region": "eu-west-1" })],
    [bucket, namespaceObject("team-a")],
    "region",
    false,
  ],
  [
    "reports the region when the namespace gets a region",
    [bucket, namespaceObject("team-a")],
    [bucket, namespaceObject("team-a", {}, { "services.k8s.aws/default-region": "eu-west-1" })],
    "region",
    false,
  ],
];
for (const [what, before, after, change, disruptive] of CASES) {
  test(what, (t) => {
    const found = impacts(before, after);
    t.same(found.map((impact) => impact.change), change === null ? [] : [change]);
    t.equal(found.some(isDisruptive), disruptive);
    t.end();
  });
}

test("returns the resolutions before and after the change, or null if the resource does not exist", (t) => {
  t.match(impacts([bucket, selector("a", A)], [bucket, selector("a", B)]), [
    {
      resource: { kind: "Bucket", namespace: "team-a", name: "b1" },
      before: { outcome: "selected", accountID: "111111111111", roleARN: A, selectors: [{ name: "a" }] },
      after: { outcome: "selected", accountID: "222222222222", roleARN: B },
    },
  ]);
  t.match(impacts([], [bucket]), [{ before: null, after: { outcome: "default" } }]);
  t.match(impacts([bucket], []), [{ before: { outcome: "default" }, after: null }]);
  t.end();
});

test("compares the accounts before and after the change if the controller's account is known", (t) => {
  t.match(impacts([bucket], [bucket, selector("a", A)], { controllerAccount: "999999999999" }), [
    { change: "account" },
  ]);
  t.match(impacts([bucket], [bucket, selector("a", A)], { controllerAccount: "111111111111" }), [
    { change: "selected" },
  ]);
  t.end();
});

test("treats a change as disruptive if a fault in the CARM maps leaves a resource without a role", (t) => {
  const owned = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111111111111" });
  const found = impacts([bucket, namespaceObject("team-a")], [bucket, owned], { mode: "carm" });
  t.match(found, [{ change: "refused", after: { code: "ERR_CARM_MAP_MISSING" } }]);
  t.ok(found.every(isDisruptive));
  t.end();
});

test("counts the resources of both inventories, and sorts the impacts by disruption", (t) => {
  const [x, y, z] = [bucketObject({ name: "x" }), bucketObject({ name: "y" }), bucketObject({ name: "z" })] as const;
  const other = bucketObject({ namespace: "team-b", name: "x" });
  const queue = { ...bucketObject({ name: "x" }), kind: "Queue" };
  const before = inventoryOf([x, y, other, queue, selector("a", A)]);
  const comparison = drain(compareInventories(before, inventoryOf([x, queue, z, other]), SETTINGS_BY_DEFAULT));
  t.equal(comparison.resources, 5);
  t.same(
    comparison.impacts.map(
      ({ resource, change }) => `${change} ${resource.namespace} ${resource.kind} ${resource.name}`,
    ),
    ["default team-a Bucket x", "default team-a Queue x", "added team-a Bucket z", "removed team-a Bucket y"],
  );
  t.same(countsOf(comparison.impacts), {
    conflict: 0,
    refused: 0,
    default: 2,
    account: 0,
    role: 0,
    region: 0,
    selected: 0,
    identity: 0,
    source: 0,
    secret: 0,
    selector: 0,
    added: 1,
    removed: 1,
  });
  t.end();
});

test("sorts resources of equal kind and name by group", (t) => {
  const [one, two] = ["b.services.k8s.aws", "a.services.k8s.aws"].map((group) => ({
    ...bucketObject(),
    apiVersion: `${group}/v1alpha1`,
  }));
  t.same(
    impacts([], [one ?? {}, two ?? {}]).map(({ resource }) => resource.group),
    ["a.services.k8s.aws", "b.services.k8s.aws"],
  );
  t.end();
});
