import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import { iamRoleSelectorCRD } from "../../../manifests/crds.ts";
import { AUD_08 } from "../../../shared/ack/definitions.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import { ACK_SELECTOR_CRD, olderACKSelectorCRD } from "../../fixtures/ack-selector-crd.ts";

/** Returns the messages of AUD-08 for the CustomResourceDefinition of IAMRoleSelector and the selectors. */
function messagesFor(definition: object, selectors: readonly JsonObject[] = []): string[] {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  const object: JsonObject = { ...definition };
  inventory.apply([{ type: "put", object }]);
  const subject = { group: "services.k8s.aws", kind: "IAMRoleSelector", inventory, selectors, extraGroups: [] };
  return Array.from(AUD_08.find(subject), ({ message }) => message);
}

const LABELS = { matchLabels: {}, matchExpressions: [{ key: "team", operator: "Exists" }] };
const TYPES = { resourceTypeSelector: [{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket" }] };

function selector(name: string, spec: object, annotations: object = {}): JsonObject {
  const type = { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector" };
  return { ...type, metadata: { name, annotations }, spec: { arn: "arn:aws:iam::111122223333:role/a", ...spec } };
}

test("AUD-08 accepts the CRD of this project, and the CRD of ACK's charts if no selector uses a missing field", (t) => {
  const plain = selector("a", { namespaceSelector: { names: ["team-a"] } });
  t.same(messagesFor(iamRoleSelectorCRD("ack"), [selector("a", TYPES)]), []);
  t.same(messagesFor(ACK_SELECTOR_CRD, [plain]), []);
  t.end();
});

test("AUD-08 warns about a field that the CRD does not define and that a selector uses", (t) => {
  const planned = selector("a", { namespaceSelector: { labelSelector: LABELS } });
  const applied = JSON.stringify(planned);
  const stored = { namespaceSelector: { labelSelector: { matchLabels: {} } } };
  const pruned = selector("b", stored, { "kubectl.kubernetes.io/last-applied-configuration": applied });
  t.same(messagesFor(ACK_SELECTOR_CRD, [planned, pruned, selector("c", TYPES), selector("d", TYPES)]), [
    "the CRD does not define spec.namespaceSelector.labelSelector.matchExpressions; "
    + "IAMRoleSelectors that use the field: a and b",
    "the CRD does not define spec.resourceTypeSelector[].apiVersion; IAMRoleSelectors that use the field: c and d",
  ]);
  t.end();
});

test("AUD-08 warns about a field that only the CRD of ACK's charts defines", (t) => {
  t.same(messagesFor(olderACKSelectorCRD()), [
    "the CRD does not define spec.resourceLabelSelector, which the CRD of ACK's charts defines",
  ]);
  t.end();
});
