import { test } from "tap";
import { asksAccess, selectorsGainedBy, selectorsInQuestion } from "../../../../shared/decisions/checks/access.ts";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import { bucketObject, namespaceObject, put, ROLE, selectorObject } from "../objects.ts";
import { COMPANY, tiered } from "./resource-lines.ts";

test("access reviews are asked once a check that wants them is on", (t) => {
  t.notOk(asksAccess({ checkSeverities: new Map() }), "each is off by default");
  t.notOk(asksAccess({ checkSeverities: new Map([["ACK-06", "deny"], ["ACK-09", "off"]]) }));
  t.ok(asksAccess({ checkSeverities: new Map([["ACK-09", "deny"]]) }));
  t.ok(asksAccess({ checkSeverities: new Map([["NS-02", "warn"]]) }));
  t.end();
});

test("of a resource the one selector that selects it is in question", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply(COMPANY.map(put));
  t.same(selectorsInQuestion(tiered("gold"), inventory, { mode: "selectors" }), ["gold"]);
  t.same(selectorsInQuestion(tiered(), inventory, { mode: "selectors" }), []);
  t.same(selectorsInQuestion(tiered("gold", "silver"), inventory, { mode: "selectors" }), [], "a conflict gives no role");
  t.same(selectorsInQuestion(tiered("gold"), inventory, { mode: "carm" }), [], "nor does a selector in mode carm");
  t.same(selectorsInQuestion(namespaceObject("team-a"), inventory, { mode: "selectors" }), []);
  t.end();
});

test("of a Namespace those selectors are in question that come to select something in it", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  const ofBlue = selectorObject("blue", { arn: ROLE, namespaceSelector: { labelSelector: { matchLabels: { team: "blue" } } } });
  inventory.apply([put(ofBlue), put(namespaceObject("team-x")), put(bucketObject({ namespace: "team-x" }))]);
  const blue = namespaceObject("team-x", { team: "blue" });
  t.same(selectorsGainedBy(blue, namespaceObject("team-x"), inventory, { mode: "selectors" }), ["blue"]);
  t.same(selectorsGainedBy(blue, blue, inventory, { mode: "selectors" }), []);
  t.same(selectorsGainedBy(blue, null, inventory, { mode: "selectors" }), ["blue"], "a new one gains what selects it");
  t.same(selectorsGainedBy(blue, null, inventory, { mode: "carm" }), []);
  t.end();
});
