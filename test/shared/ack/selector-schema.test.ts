import { test } from "tap";
import { objectFields } from "../../../shared/core/shape.ts";
import { ACK_FIELDS, prunedFields } from "../../../shared/core/iamroleselector.ts";
import { SELECTOR_SPEC_SCHEMA } from "../../../shared/core/selector-schema.ts";

test("names the documented fields that the CRD of ACK's charts does not define", (t) => {
  t.same(prunedFields(ACK_FIELDS), [
    "spec.namespaceSelector.labelSelector.matchExpressions", "spec.resourceTypeSelector[].apiVersion",
    "spec.resourceLabelSelector.matchExpressions",
  ]);
  t.end();
});

test("names no field if the CRD defines or preserves every field", (t) => {
  t.same(prunedFields(objectFields({ properties: { spec: SELECTOR_SPEC_SCHEMA } })), []);
  t.same(prunedFields(objectFields({ "x-kubernetes-preserve-unknown-fields": true })), []);
  const preserved = { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  t.same(prunedFields(objectFields({ properties: preserved })), []);
  t.end();
});

test("names only the outermost field if a whole object is missing", (t) => {
  t.same(prunedFields(objectFields({ properties: {} })), ["spec"]);
  const arn = { type: "string" };
  t.same(prunedFields(objectFields({ properties: { spec: { properties: { arn } } } })), [
    "spec.namespaceSelector", "spec.resourceTypeSelector", "spec.resourceLabelSelector",
  ]);
  t.end();
});
