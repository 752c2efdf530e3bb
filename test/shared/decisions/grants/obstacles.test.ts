import { test } from "tap";
import { grantRole, grantSelector } from "../../../../shared/resolution/grant-decision.ts";
import type { Grant, RoleQuery } from "../../../../shared/resolution/grant.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { namespaceObject, put, removal, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { A, B, inventoryOf, RDS, S3, selector } from "./comparable-grant.ts";

const ANYWHERE: RoleQuery = { groups: [S3], kinds: [], scope: null, settings: SETTINGS_BY_DEFAULT };
const BUCKETS = { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] };

function describe(grant: Grant): string {
  return grant.verdict === "denied" ? `${grant.code} ${grant.message}` : grant.verdict;
}

/** Returns the grants of the selector `a` by its name and of its role A by ARN. */
function grants(inventory: Inventory, query: Partial<RoleQuery> = {}): string[] {
  const full = { ...ANYWHERE, ...query };
  return [grantSelector(inventory, "a", full), grantRole(inventory, A, full)].map(describe);
}

function verdicts(inventory: Inventory, query: Partial<RoleQuery> = {}): string[] {
  return grants(inventory, query).map((text) => text.replace(/ .*/, ""));
}

const GRANTED = ["role", "role"];
const DENIED = ["ERR_SELECTOR_NOT_GRANTED", "ERR_SELECTOR_NOT_GRANTED"];
const byRole = (reason: string): string => (
  `ERR_SELECTOR_NOT_GRANTED No IAMRoleSelector grants "${A}" to ${S3}. Selectors with this role: a. ${reason}`
);

test("denies a selector that another one shadows on each resource, with an example", (t) => {
  const reason = "IAMRoleSelector a conflicts with others on each resource that it selects, for example with rival in "
    + "namespace team-a. Change them so that only one selects the resource.";
  for (const rival of [selector("rival", B), selector("rival", A), selectorObject("rival", { arn: B })]) {
    const shadowed = inventoryOf([selector("a", A, BUCKETS), rival]);
    t.equal(grants(shadowed)[0], `ERR_SELECTOR_NOT_GRANTED ${reason}`);
    t.match(grantSelector(shadowed, "a", ANYWHERE), { selectors: ["a", "rival"] });
  }
  t.equal(grants(inventoryOf([selector("a", A, BUCKETS), selector("rival", B)]))[1], byRole(reason));
  t.end();
});

test("grants a selector if another one shadows it only on some resources", (t) => {
  const a = selector("a", A, { namespaceSelector: { names: ["team-a", "team-b"] } });
  const gold = { resourceLabelSelector: { matchLabels: { tier: "gold" } } };
  for (const rival of [
    selector("rival", B), selector("rival", B, BUCKETS), selector("rival", B, gold),
    selectorObject("rival", { arn: B, ...BUCKETS }), selectorObject("rival", { arn: B, ...gold }),
    selectorObject("rival", { arn: B, resourceTypeSelector: [{ group: RDS }] }),
  ]) t.same(verdicts(inventoryOf([a, rival])), GRANTED, JSON.stringify(rival["spec"]));
  const labeled = selector("a", A, gold);
  t.same(verdicts(inventoryOf([labeled, selector("rival", B, gold)])), DENIED);
  t.same(verdicts(inventoryOf([labeled, selector("rival", B)])), DENIED, "its resources have further labels");
  const scope = { kinds: [{ kind: "Bucket", version: null, group: S3 }] };
  t.same(verdicts(inventoryOf([selector("a", A), selector("rival", B, BUCKETS)]), scope), DENIED, "--kind");
  t.end();
});

test("denies a selector that selects no existing namespace, until one exists", (t) => {
  const reason = "IAMRoleSelector a selects no existing namespace. If the namespace is new, retry in a moment; "
    + "otherwise, create it or correct spec.namespaceSelector.";
  const team = (name: string): JsonObject => namespaceObject(name, { team: "c" });
  for (const namespaceSelector of [
    { names: ["team-c"] }, { labelSelector: { matchLabels: { team: "c" } } },
    { names: ["team-a", "team-c"], labelSelector: { matchLabels: { team: "c" } } },
    { labelSelector: { matchLabels: { "kubernetes.io/metadata.name": "team-c" } } },
  ]) {
    const inventory = inventoryOf([selectorObject("a", { arn: A, namespaceSelector })]);
    t.same(grants(inventory), [`ERR_SELECTOR_NOT_GRANTED ${reason}`, byRole(reason)]);
    inventory.apply([put(team("team-c"))]);
    t.same(verdicts(inventory), GRANTED);
    inventory.apply([put({ ...team("team-c"), status: { phase: "Terminating" } })]);
    t.same(verdicts(inventory), GRANTED, "the finalizers of resources in a terminating namespace need the role");
    inventory.apply([removal("", "Namespace", "team-c")]);
    t.same(verdicts(inventory), DENIED);
  }
  t.end();
});

test("with --runtime extended, denies a selector whose requirements no labels satisfy", (t) => {
  const requirements = [{ key: "x", operator: "Exists" }, { key: "x", operator: "DoesNotExist" }];
  const never = selector("a", A, { resourceLabelSelector: { matchExpressions: requirements } });
  const settings = { ...SETTINGS_BY_DEFAULT, runtime: "extended" } as const;
  t.same(grants(inventoryOf([never], "extended"), { settings })[0],
    "ERR_SELECTOR_NOT_GRANTED IAMRoleSelector a selects no resource, because no labels satisfy "
      + "spec.resourceLabelSelector. Correct this field.");
  const excluded = [{ key: "x", operator: "In", values: ["1", "2"] }, { key: "x", operator: "NotIn", values: ["1"] }];
  const second = selector("a", A, { resourceLabelSelector: { matchExpressions: excluded } });
  t.same(verdicts(inventoryOf([second, selector("rival", B)], "extended"), { settings }), GRANTED);
  t.end();
});

test("an inventory of a cluster without namespaces grants nothing; manifests without Namespaces name them", (t) => {
  const inventory = (origin: "file" | "cluster", ...objects: readonly JsonObject[]): Inventory => {
    const found = new Inventory({ runtime: "ack", origin });
    found.apply(objects.map(put));
    return found;
  };
  const a = selector("a", A);
  t.same(verdicts(inventory("cluster", a)), DENIED);
  t.same(verdicts(inventory("cluster", selectorObject("a", { arn: A }))), DENIED);
  t.same(verdicts(inventory("file", a)), GRANTED);
  t.same(verdicts(inventory("file", selectorObject("a", { arn: A }))), GRANTED);
  t.same(verdicts(inventory("file", a, selectorObject("rival", { arn: B }))), DENIED);
  t.same(verdicts(inventory("file", a, namespaceObject("team-b"))), DENIED);
  const labeled = selectorObject("a", { arn: A, namespaceSelector: { labelSelector: { matchLabels: { team: "c" } } } });
  t.same(verdicts(inventory("file", labeled)), DENIED);
  t.end();
});
