import { isChecked, limitCheckOf, runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import { Inventory } from "../../../shared/core/inventory.ts";
import { INVENTORY_KINDS, KINDS } from "../../../shared/kinds.ts";
import { podTemplateOf } from "../../../shared/core/pod.ts";
import { bucketObject, kindObject, put, SETTINGS_BY_DEFAULT } from "../objects.ts";

test("each reviewed kind has a check of its limit, for a write and for a deletion", (t) => {
  const codes = (operation: string): object => Object.fromEntries(KINDS.flatMap((kind) => {
    const check = limitCheckOf(kind, operation);
    return check === null ? [] : [[kind.id, check.id]];
  }));
  const writes = {
    selector: "IRS-48", "field-export": "FE-02", namespace: "NS-14", "carm-map": "CM-14", pod: "POD-10",
    "selector-definition": "WAIVER-01", "resource-definition": "WAIVER-01", identity: "CI-34", cluster: "AC-08",
    "cluster-part": "AC-08", resource: "ACK-35", "adopted-resource": "ACK-35",
  };
  t.same(codes("UPDATE"), writes);
  t.same(codes("DELETE"), { ...writes, "selector-definition": "IRS-34", "resource-definition": "ACK-34" });
  t.end();
});

test("finds nothing in a resource without an inventory", (t) => {
  const input = { object: bucketObject(), old: null, requester: null, origin: "file" } as const;
  t.same(runChecks(input, SETTINGS_BY_DEFAULT).findings, []);
  t.end();
});

test("only objects of some kinds create Pods", (t) => {
  t.equal(podTemplateOf(bucketObject()), null);
  t.end();
});

test("finds nothing in objects that no check concerns, and does not count them as checked", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "a", namespace: "b" } };
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "a", namespace: "b" } };
  for (const object of [secret, service, kindObject("Widget", "example.com", [])]) {
    const input = { object, old: null, requester: null, origin: "cluster", inventory } as const;
    t.same(runChecks(input, SETTINGS_BY_DEFAULT).findings, []);
    t.notOk(isChecked(object, inventory));
    inventory.apply([put(object)]);
  }
  t.ok(isChecked(bucketObject(), inventory));
  t.end();
});
