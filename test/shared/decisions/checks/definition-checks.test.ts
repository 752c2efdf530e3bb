import { test } from "tap";
import { iamRoleSelectorCRD } from "../../../../manifests/crds.ts";
import { AUD_08 } from "../../../../shared/decisions/checks/definition-checks.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import { ACK_SELECTOR_CRD } from "../../../fixtures/ack-selector-crd.ts";

/** Returns the messages of AUD-08 for the CustomResourceDefinition of IAMRoleSelector. */
function messagesFor(definition: object): string[] {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  const object: JsonObject = { ...definition };
  inventory.apply([{ type: "put", object }]);
  const subject = { group: "services.k8s.aws", kind: "IAMRoleSelector", inventory, extraGroups: [] };
  return Array.from(AUD_08.findInDefinition(subject), ({ message }) => message);
}

test("AUD-08 warns about the CRD of ACK's charts, and accepts the CRD of this project", (t) => {
  t.match(messagesFor(ACK_SELECTOR_CRD), [/^the CRD does not define .*matchExpressions/]);
  t.same(messagesFor(iamRoleSelectorCRD("ack")), []);
  t.end();
});
