import { newSelectorsToReview, selectorsToReview } from "../../../shared/ack/selector-uses.ts";
import { needsAccessReviews } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import { usedIdentity } from "../../../shared/core/use-rights.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import { refTo } from "../capa-objects.ts";
import { bucketObject, inventoryWith, namespaceObject, put, ROLE, selectorObject } from "../objects.ts";
import { CLUSTER_OBJECTS, tiered } from "../ack/resource-lines.ts";

const SELECTORS = { mode: "selectors" } as const;
const CARM = { mode: "carm" } as const;
const DEFAULT = "ack-role-resolver:default";

test("requires access reviews if ACK-09, NS-02 or AC-05 is enabled", (t) => {
  t.notOk(needsAccessReviews({ checkSeverities: new Map() }), "off by default");
  t.notOk(needsAccessReviews({ checkSeverities: new Map([["ACK-06", "deny"], ["ACK-09", "off"]]) }));
  t.ok(needsAccessReviews({ checkSeverities: new Map([["ACK-09", "deny"]]) }));
  t.ok(needsAccessReviews({ checkSeverities: new Map([["NS-02", "warn"]]) }));
  t.ok(needsAccessReviews({ checkSeverities: new Map([["AC-05", "deny"]]) }));
  t.end();
});

test("reviews access to each selector that selects the resource before or after the change", (t) => {
  const inventory = inventoryWith(CLUSTER_OBJECTS);
  t.same(selectorsToReview(tiered("gold"), null, inventory, SELECTORS), ["gold"]);
  t.same(selectorsToReview(tiered(), null, inventory, SELECTORS), [DEFAULT], "no selector selects the resource");
  t.same(selectorsToReview(tiered("gold", "silver"), tiered("gold"), inventory, SELECTORS), ["gold", "silver"]);
  t.same(selectorsToReview(tiered(), tiered("gold"), inventory, SELECTORS), [DEFAULT, "gold"], "the stored resource");
  t.same(selectorsToReview(tiered("gold"), tiered(), inventory, SELECTORS), ["gold", DEFAULT]);
  t.same(selectorsToReview(tiered("gold"), null, inventory, CARM), [], "in mode carm selectors set no role");
  t.same(selectorsToReview(namespaceObject("team-a"), null, inventory, SELECTORS), [], "not an ACK resource");
  t.end();
});

test("reviews access to each selector that selects a namespace only because of its new labels", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  const namespaceSelector = { labelSelector: { matchLabels: { team: "blue" } } };
  const selector = selectorObject("blue", { arn: ROLE, namespaceSelector });
  inventory.apply([selector, namespaceObject("team-x"), bucketObject({ namespace: "team-x" })].map(put));
  const blue = namespaceObject("team-x", { team: "blue" });
  t.same(newSelectorsToReview(blue, namespaceObject("team-x"), inventory, SELECTORS), ["blue"]);
  t.same(newSelectorsToReview(blue, blue, inventory, SELECTORS), []);
  t.same(newSelectorsToReview(namespaceObject("team-x"), blue, inventory, SELECTORS), [DEFAULT], "a removed label");
  t.same(newSelectorsToReview(namespaceObject("team-x"), null, inventory, SELECTORS), [], "no resource uses it yet");
  t.same(newSelectorsToReview(namespaceObject("team-x"), blue, inventory, CARM), []);
  t.same(newSelectorsToReview(blue, null, inventory, SELECTORS), ["blue"], "a new namespace");
  t.same(newSelectorsToReview(blue, null, inventory, CARM), [], "in mode carm selectors set no role");
  t.end();
});

test("reviews access to an identity by its resource, and to every identity of the group", (t) => {
  const group = "infrastructure.cluster.x-k8s.io";
  t.same(usedIdentity(refTo("role/a")), { group, resource: "awsclusterroleidentities", name: "a" });
  t.same(usedIdentity(refTo("static/a")), { group, resource: "awsclusterstaticidentities", name: "a" });
  t.same(usedIdentity(refTo("account/a")), { group, resource: "awsserviceaccountidentities", name: "a" });
  t.same(usedIdentity(null), { group, resource: "*", name: "" });
  t.end();
});
