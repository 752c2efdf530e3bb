import { usedIdentity } from "../../../shared/capa/cluster-identity-uses.ts";
import { usesOfNamespace, usesOfResource } from "../../../shared/ack/selector-uses.ts";
import { needsAccessReviews } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import { Inventory } from "../../../shared/core/inventory.ts";
import { refTo } from "../capa-objects.ts";
import { bucketObject, inventoryWith, namespaceObject, put, ROLE, selectorObject } from "../objects.ts";
import { usedNames } from "../used-names.ts";
import { CLUSTER_OBJECTS, tiered } from "../ack/resource-lines.ts";

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
  t.same(usedNames(usesOfResource, [tiered("gold"), null], inventory), ["gold"]);
  t.same(usedNames(usesOfResource, [tiered(), null], inventory), [DEFAULT], "no selector selects the resource");
  t.same(usedNames(usesOfResource, [tiered("gold", "silver"), tiered("gold")], inventory), ["gold", "silver"]);
  t.same(usedNames(usesOfResource, [tiered(), tiered("gold")], inventory), [DEFAULT, "gold"], "the stored resource");
  t.same(usedNames(usesOfResource, [tiered("gold"), tiered()], inventory), ["gold", DEFAULT]);
  t.same(usedNames(usesOfResource, [tiered("gold"), null], inventory, "carm"), [], "selectors set no role");
  t.same(usedNames(usesOfResource, [namespaceObject("team-a"), null], inventory), [], "not an ACK resource");
  t.end();
});

test("reviews access to each selector that selects a namespace only because of its new labels", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  const namespaceSelector = { labelSelector: { matchLabels: { team: "blue" } } };
  const selector = selectorObject("blue", { arn: ROLE, namespaceSelector });
  inventory.apply([selector, namespaceObject("team-x"), bucketObject({ namespace: "team-x" })].map(put));
  const blue = namespaceObject("team-x", { team: "blue" });
  t.same(usedNames(usesOfNamespace, [blue, namespaceObject("team-x")], inventory), ["blue"]);
  t.same(usedNames(usesOfNamespace, [blue, blue], inventory), []);
  t.same(usedNames(usesOfNamespace, [namespaceObject("team-x"), blue], inventory), [DEFAULT], "a removed label");
  t.same(usedNames(usesOfNamespace, [namespaceObject("team-x"), null], inventory), [], "no resource uses it yet");
  t.same(usedNames(usesOfNamespace, [namespaceObject("team-x"), blue], inventory, "carm"), []);
  t.same(usedNames(usesOfNamespace, [blue, null], inventory), ["blue"], "a new namespace");
  t.same(usedNames(usesOfNamespace, [blue, null], inventory, "carm"), [], "in mode carm selectors set no role");
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
