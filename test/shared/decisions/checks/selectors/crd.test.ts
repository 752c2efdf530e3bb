import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { kindObject, ROLE, selectorObject } from "../../objects.ts";
import { changeLines, findingsOf } from "../selector-changes.ts";

const INCOMPLETE = {
  arn: ROLE,
  namespaceSelector: { labelSelector: {} },
  resourceTypeSelector: [{ group: "s3.services.k8s.aws" }, { apiVersion: "sqs.services.k8s.aws/v1", kind: "Queue" }],
  resourceLabelSelector: { matchLabels: {}, matchExpressions: [{ key: "team", operator: "Exists" }] },
};
const FROM_FILE = { origin: "file" } as const;
const OR_OWN = "or install the CRD that `ack-role-resolver manifests crds` prints.";
const required = (path: string, names: string, fix: string): string => (
  `IRS-00 ${path}: the CRD requires ${names}; without the webhook, the API server rejects the selector. Add ${fix}.`
);
const undefinedField = (path: string, fix: string): string => (
  `IRS-00 ${path}: the CRD does not define this field: kubectl rejects the selector, `
    + `or the API server prunes the field. ${fix}, ${OR_OWN}`
);

function definition(openAPIV3Schema: JsonObject): JsonObject {
  const versions = [{ name: "v1alpha1", storage: true, served: true, schema: { openAPIV3Schema } }];
  return kindObject("IAMRoleSelector", "services.k8s.aws", versions);
}

test("IRS-00: lists the fields that ACK's CRD requires or does not define", (t) => {
  const ofExpressions = "spec.resourceLabelSelector.matchExpressions";
  t.same(changeLines("IRS-00", INCOMPLETE, FROM_FILE), [
    required("spec.namespaceSelector", "names", "names: []"),
    required("spec.namespaceSelector.labelSelector", "matchLabels", "matchLabels: {}"),
    undefinedField(ofExpressions, "Use matchLabels"),
    required("spec.resourceTypeSelector[0]", "version and kind", 'version: "" and kind: ""'),
    required("spec.resourceTypeSelector[1]", "group and version", 'group: "" and version: ""'),
    undefinedField("spec.resourceTypeSelector[1].apiVersion", "Write group and version instead of apiVersion"),
  ]);
  t.end();
});

test("IRS-00: warns if the webhook is installed, and denies with --no-webhook", (t) => {
  const severities = (isWebhookInstalled: boolean): unknown[] => {
    const circumstances = { ...FROM_FILE, settings: { isWebhookInstalled } };
    return findingsOf("IRS-00", selectorObject("a", INCOMPLETE), circumstances).map(({ severity }) => severity);
  };
  t.same(new Set(severities(true)), new Set(["warn"]));
  t.same(new Set(severities(false)), new Set(["deny"]));
  t.end();
});

test("IRS-00: reads the CRD of the input, and ignores stored selectors and fields that no CRD defines", (t) => {
  const permissive = definition({ properties: { spec: { "x-kubernetes-preserve-unknown-fields": true } } });
  t.same(changeLines("IRS-00", INCOMPLETE, { ...FROM_FILE, known: [permissive] }), []);
  const strict = definition({ properties: { spec: { properties: { arn: {} }, required: ["arn", "owner"] } } });
  t.same(changeLines("IRS-00", { role: ROLE }, { ...FROM_FILE, known: [strict] }).slice(0, 1), [
    required("spec", "owner", 'owner: ""'),
  ]);
  t.same(changeLines("IRS-00", INCOMPLETE), []);
  t.end();
});
