import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { kindObject, ROLE } from "../objects.ts";
import { changeLines } from "../core/findings.ts";

const INCOMPLETE = {
  arn: ROLE,
  namespaceSelector: { labelSelector: {} },
  resourceTypeSelector: [
    { group: "s3.services.k8s.aws" }, { apiVersion: "sqs.services.k8s.aws/v1alpha1", kind: "Queue" },
    { apiVersion: "ec2.services.k8s.aws/v1alpha1" }, { apiVersion: "ec2.services.k8s.aws" },
  ],
  resourceLabelSelector: { matchLabels: {}, matchExpressions: [{ key: "team", operator: "Exists" }] },
};
const FROM_FILE = { origin: "file" } as const;
const required = (path: string, names: string, fix: string): string => (
  `warn IRS-00 ${path}: the CRD requires ${names}; without the webhook, the API server rejects the selector. ${fix}.`
);
const undefinedField = (path: string, fix: string): string => (
  `warn IRS-00 ${path}: the CRD does not define this field: kubectl rejects the selector, or the API server prunes the `
    + `field. ${fix}, or install the CRD that \`ack-role-resolver manifests crds\` prints.`
);
const FINDINGS = [
  required("spec.namespaceSelector", "names", "Set spec.namespaceSelector.names to []"),
  required("spec.namespaceSelector.labelSelector", "matchLabels",
    "Set spec.namespaceSelector.labelSelector.matchLabels to {}"),
  undefinedField("spec.resourceLabelSelector.matchExpressions", "Use matchLabels"),
  required("spec.resourceTypeSelector[0]", "version and kind",
    'Set spec.resourceTypeSelector[0].version to "" and set spec.resourceTypeSelector[0].kind to ""'),
  required("spec.resourceTypeSelector[1]", "group and version",
    'Write {"kind":"Queue","group":"sqs.services.k8s.aws","version":"v1alpha1"}'),
  undefinedField("spec.resourceTypeSelector[1].apiVersion", "Remove apiVersion once group and version are set"),
  required("spec.resourceTypeSelector[2]", "group, version and kind",
    'Write {"group":"ec2.services.k8s.aws","version":"v1alpha1","kind":""}'),
  undefinedField("spec.resourceTypeSelector[2].apiVersion", "Remove apiVersion once group and version are set"),
  undefinedField("spec.resourceTypeSelector[3].apiVersion", "Remove apiVersion once group and version are set"),
];

function definition(spec: JsonObject): JsonObject {
  const schema = { openAPIV3Schema: { properties: { spec } } };
  const version = { name: "v1alpha1", storage: true, served: true, schema };
  return kindObject("IAMRoleSelector", "services.k8s.aws", [version]);
}

test("IRS-00: lists the fields that the CRD requires or does not define, and denies with --no-webhook", (t) => {
  t.same(changeLines("IRS-00", INCOMPLETE, FROM_FILE), FINDINGS);
  const denied = FINDINGS.map((line) => line.replace("warn", "deny"));
  t.same(changeLines("IRS-00", INCOMPLETE, { ...FROM_FILE, settings: { isWebhookInstalled: false } }), denied);
  t.end();
});

test("IRS-00: reads the CRD of the input, and ignores stored selectors and fields that no CRD defines", (t) => {
  const permissive = definition({ "x-kubernetes-preserve-unknown-fields": true });
  t.same(changeLines("IRS-00", INCOMPLETE, { ...FROM_FILE, known: [permissive] }), []);
  const strict = definition({ properties: { arn: {} }, required: ["arn", "owner"] });
  const [first] = changeLines("IRS-00", { role: ROLE }, { ...FROM_FILE, known: [strict] });
  t.equal(first, required("spec", "owner", 'Set spec.owner to ""'));
  t.same(changeLines("IRS-00", INCOMPLETE), []);
  t.end();
});
