import { ACCOUNTS, CLUSTER_NAMESPACES, roleIn } from "./names.ts";

/** A field and the values to which a random change sets it. `undefined` removes the field. */
export type FieldValues = readonly [path: readonly string[], values: readonly unknown[]];

const OWN = "ack-role-resolver.io/";
const ACK = "services.k8s.aws/";

function annotation(key: string, ...values: readonly unknown[]): FieldValues {
  return [["metadata", "annotations", key], values];
}

function field(path: string, ...values: readonly unknown[]): FieldValues {
  return [path.split("."), values];
}

const [A, B, C] = ACCOUNTS;
const LABELS = [{}, { team: "a" }, { "bad key": "a" }, { env: "very gold" }, { "": "a" }, { env: null }, "env=prod"];
const EXPRESSIONS = [
  [{ key: "team", operator: "Exists" }], [{ key: "env", operator: "In", values: ["prod"] }],
  [{ key: "env", operator: "NotIn", values: [] }], [{ key: "a b", operator: "Is" }], [],
];

/** The manifest of a selector with fields that the CRD of ACK's charts does not define. */
const APPLIED = JSON.stringify({
  apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "team-a" },
  spec: {
    arn: roleIn(A, "a"), role: "x",
    namespaceSelector: {
      names: [], labelSelector: { matchLabels: {}, matchExpressions: [{ key: "a", operator: "Exists" }] },
    },
  },
});

/** Changes of metadata that concern every kind. */
const METADATA: readonly FieldValues[] = [
  annotation(`${OWN}allow`, "IRS-30,IRS-20", "ACK-30", "IRS-17", "IRS-15", "NS-01", "CI-31", "AC-01", "NO-1", ""),
  annotation("note", "changed", 5, null),
  field("metadata.labels.tier", "gold", "silver", undefined, "very gold", 7),
  field("metadata.labels.bad key", "a"),
  field("metadata.finalizers", ["example.com/a"], undefined),
  field("metadata.ownerReferences", [{ apiVersion: "v1", kind: "ConfigMap", name: "absent", uid: "u" }], undefined),
  field("metadata.deletionTimestamp", "2026-01-01T00:00:00Z"),
  field("metadata.name", "Not_Valid", undefined, ""),
];

const SELECTOR: readonly FieldValues[] = [
  field(
    "spec.arn", roleIn(A, "other"), roleIn(B, "other"), roleIn(C, "ack"),
    roleIn(A, "aws-service-role/s3.amazonaws.com/x")
  ),
  field(
    "spec.arn", "", undefined, null, 5, "not-an-arn", "arn:aws:iam:111122223333:role/a", `arn:aws:iam::${A}:user/jane`
  ),
  field(
    "spec.arn", roleIn("11112222333", "a"), `arn:aws-cn:iam::${A}:role/a`, `arn:aws:iam::${A}:role/a b`,
    ` ${roleIn(A, "a")}`
  ),
  field(
    "spec.namespaceSelector", undefined, {}, { names: [] }, { names: ["payments"] }, { name: ["team-a"] }, "team-a"
  ),
  field(
    "spec.namespaceSelector.names", ["team-a", "team-a"], [""], ["team-*"], ["Team-A"], ["absent"],
    ["team-b", "sandbox"], "team-a"
  ),
  field(
    "spec.namespaceSelector.labelSelector", { matchLabels: { env: "dev" } }, { matchLabels: { team: "no-such" } },
    { matchLabel: {} }
  ),
  field("spec.namespaceSelector.labelSelector.matchLabels", ...LABELS),
  field("spec.namespaceSelector.labelSelector.matchExpressions", ...EXPRESSIONS),
  field("spec.resourceLabelSelector.matchLabels", ...LABELS, { tier: "gold" }),
  field("spec.resourceLabelSelector.matchExpressions", ...EXPRESSIONS),
  field(
    "spec.resourceTypeSelector", undefined, [], [{}], [{ group: "", version: "", kind: "" }], [{ kind: "Bucket" }],
    "Bucket"
  ),
  field(
    "spec.resourceTypeSelector", [{ group: "s3.aws.upbound.io" }], [{ group: "s3.services.k8s.aws", kind: "Buckets" }]
  ),
  field(
    "spec.resourceTypeSelector", [{ group: "s3.services.k8s.aws" }, { group: "s3.services.k8s.aws", kind: "Bucket" }],
    [{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket" }], [{ apiVersion: "s3.services.k8s.aws" }],
    [{ version: "v9" }],
  ),
  field("spec", undefined, {}, [], { arn: roleIn(A, "everything") }),
  field("spec.unknown", true),
  [["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"], [APPLIED, "{"]],
  annotation(`${OWN}external-id`, "no spaces here", "x", "ext-9", ""),
  annotation(`${OWN}session-name`, "team a", "a", "{namespace}", "{selector}"),
  annotation(`${OWN}source-identity`, "aws:ack", "a", "ack-other"),
  annotation(
    `${OWN}session-tags`, "team={namespace}", "team={kind}", "team=a,Team=b,aws:owner=c", "team", "team={unknown}",
    "a=b"
  ),
  annotation(`${OWN}duration-seconds`, "1h", "899", "43201", "7200", "900"),
  annotation(`${OWN}externalid`, "X"),
  annotation(`${OWN}replaces`, "team-a", "team-b", "gold", "absent"),
  field("kind", "IamRoleSelector", "IAMRoleSelectors"),
  field("apiVersion", "services.k8s.aws/v1beta1", "iam.services.k8s.aws/v1alpha1"),
];

const RESOURCE: readonly FieldValues[] = [
  annotation(`${ACK}region`, "Frankfurt", "eu-west-1", "us-east-1", "cn-north-1", ""),
  annotation(`${ACK}deletion-policy`, "Delete", "retain", "delete"),
  annotation(`${ACK}adoption-policy`, "adopt-only", "adopt", "adopt-or-create"),
  [
    ["metadata", "annotations"],
    [{ [`${ACK}adoption-policy`]: "adopt", [`${ACK}adoption-fields`]: `{"arn": "arn:aws:sqs:eu-west-1:${B}:jobs"}` }],
  ],
  annotation(`${ACK}adoption-fields`, `{"arn": "arn:aws:sqs:eu-west-1:${B}:jobs"}`, "{", '{"name": "a"}'),
  annotation(`${ACK}read-only`, "yes", "true"), annotation(`${ACK}adopted`, "1"),
  annotation(`${ACK}owner-account-id`, A), annotation(`${ACK}team-id`, "payments"),
  annotation(`${ACK}deletion-polcy`, "retain"),
  annotation(`${ACK}ignore-field-drift`, "spec.tags[0], tags", "spec.tags"),
  annotation(`${OWN}use-selector`, "gold", "team-a", "absent", ""),
  annotation(`${OWN}role-arn`, roleIn(A, "admin")), annotation(`${OWN}outcome`, "selected"),
  annotation(`${OWN}selector`, "forged"),
  field(
    "spec.encryption", { kmsKeyID: `arn:aws:kms:eu-west-1:${B}:key/1` },
    { kmsKeyID: `arn:aws-cn:kms:cn-north-1:${A}:key/1` }
  ),
  field("spec.tags", [{ key: "a", value: "b" }]), field("spec.name", "renamed"),
  field("metadata.labels.managed", undefined, "yes"),
  field(
    "status.ackResourceMetadata", { ownerAccountID: A },
    { ownerAccountID: B, region: "eu-west-1", arn: "arn:aws:s3:::b" }, undefined
  ),
];

const NAMESPACE: readonly FieldValues[] = [
  field("metadata.labels", { env: "prod" }, { env: "dev", team: "a" }, {}), annotation(`${ACK}owner-account-id`, A, B),
  field("metadata.labels.env", "prod", "dev", undefined, "very prod"),
  field("metadata.labels.team", "a", "b", undefined),
  annotation(`${ACK}owner-account-id`, A, B, "1111-2222-3333", "999900001111", undefined, 111122223333),
  annotation(`${ACK}team-id`, "payments", "absent", undefined),
  annotation(`s3.${ACK}deletion-policy`, "Delete", "retain"),
  annotation(`${ACK}default-region`, "Frankfurt", "us-east-1", "eu-west-1", undefined),
  annotation(
    `${ACK}endpoint-url`, "http://minio.team-a.svc", "https://collector.example.net", "https://s3.amazonaws.com",
    "ftp:x"
  ),
  annotation(`${ACK}deletion-policy`, "retain"), annotation(`${ACK}region`, "eu-west-1"),
  annotation(`S3.${ACK}deletion-policy`, "delete"),
  annotation(`${OWN}use-selector`, "gold", "no-such-selector", "team-a", undefined),
  annotation(`${OWN}selector-required`, "true", "false", undefined, "yes"),
];

const CARM: readonly FieldValues[] = [
  field(`data.${A}`, roleIn(A, "next"), roleIn(B, "next")), field(`data.${B}`, roleIn(A, "next"), roleIn(B, "next")),
  field(
    `data.${A}`, roleIn(A, "other"), roleIn(B, "b"), "", undefined, `arn:aws:iam::${A}:root`, `a: ${roleIn(A, "x")}`,
    5
  ),
  field(`data.${B}`, roleIn(B, "other"), undefined),
  field("data.payments", roleIn(B, "team"), roleIn(A, "team"), undefined, "x"),
  [["data", `s3.${A}`], [roleIn(A, "s"), ""]], [["data", `s4.${A}`], [roleIn(A, "s")]], field("data.text", "notes"),
  field("data", {}, undefined, []),
  field("binaryData", { [A]: "YXJuOmF3cw==" }), field("metadata.namespace", "default", "team-a"),
];

const FIELD_EXPORT: readonly FieldValues[] = [
  field("spec.to.namespace", "ack-system", "kube-system", "ack-role-resolver", "capa-system", "team-b", undefined, 5),
  field("spec.to.name", "ack-role-account-map", "ack-role-team-map", "settings"),
  field("spec.to.kind", "secret", "Secret", "x"),
  field("spec.to", undefined, "text"), field("kind", "FieldExports"), field("apiVersion", "services.k8s.aws/v1beta1"),
];

const ALLOWED = [
  {}, null, { list: [] }, { list: [...CLUSTER_NAMESPACES] }, { list: ["capi-one"] }, { list: ["team-*"] },
  { list: ["no-such"] }, { list: "a" },
  { selector: {} }, { selector: { matchLabels: { env: "prod" } } },
  { selector: { matchExpressions: [{ key: "team", operator: "DoesNotExist" }] } },
  { selector: { matchExpressions: [{ key: "team", operator: "Is", values: ["a"] }] } }, { namespaces: ["team-a"] },
];

const IDENTITY: readonly FieldValues[] = [
  field("spec.allowedNamespaces", ...ALLOWED), field("spec.allowedNamespaces", ...ALLOWED),
  field("spec.allowedNamespaces", ...ALLOWED, undefined),
  field("spec.allowedNamespaces.list", undefined, ["capi-two"], []),
  field("spec.roleARN", roleIn(A, "moved"), roleIn(B, "moved")),
  field("spec.secretRef", "other-creds", "Not_Valid", undefined, "", "absent-creds"),
  field("spec.roleARN", roleIn(A, "capa"), roleIn(B, "capa"), "arn:aws:iam::123456789:role/CAPARole", undefined, ""),
  field("spec.sessionName", "bad name!", "capa"), field("spec.externalID", "no spaces", "x-3", undefined),
  field("spec.inlinePolicy", "allow all", "{}", "[]"),
  field("spec.policyARNs", ["arn:aws:iam::aws:policy/ReadOnlyAccess"], []),
  field("spec.durationSeconds", 7200, 900, 100, 50_000, "900"),
  field(
    "spec.sourceIdentityRef", { kind: "AWSClusterRoleIdentity", name: "workload" },
    { kind: "AWSClusterStaticIdentity", name: "s" }, undefined
  ),
  field(
    "spec.sourceIdentityRef", { kind: "AWSClusterRoleIdentity", name: "deep" },
    { kind: "AWSClusterControllerIdentity", name: "default" }
  ),
  field(
    "spec.sourceIdentityRef", { kind: "AWSClusterRoleIdentity", name: "absent" }, { kind: "Other", name: "x" },
    { name: "s" }
  ),
  field("spec.sourceidentityRef", { name: "default" }), field("metadata.name", "other"), field("spec.tags", { a: "b" }),
  field("kind", "AWSClusterIdentityIdentity", "AwsClusterRoleIdentity"),
  field("apiVersion", "infrastructure.cluster.x-k8s.io/v1alpha3"),
];

const CLUSTER: readonly FieldValues[] = [
  field(
    "spec.identityRef", undefined, { kind: "AWSClusterRoleIdentity", name: "absent" },
    { kind: "AWSClusterIdentityIdentity", name: "a" }
  ),
  field(
    "spec.identityRef", { kind: "AWSClusterRoleIdentity" }, { kind: "AWSClusterRoleIdentity", name: "hub" }, "hub", {}
  ),
  field("spec.identityref", { kind: "AWSClusterRoleIdentity", name: "hub" }),
  field("spec.region", "us-east-1", "Frankfurt", undefined),
  annotation(`${OWN}identity-chain`, "AWSClusterRoleIdentity/admin"), annotation(`${OWN}outcome`, "selected"),
  field("metadata.namespace", "team-b", "sandbox"), field("spec.clusterName", "prod", "dev", "absent"),
  field("spec.infrastructureRef.name", "dev"),
];

const POD: readonly FieldValues[] = [
  field("metadata.labels.ack-role-resolver&io/inject", "yes", "false", undefined),
  annotation(`${OWN}inject-container`, "manager", "controller"),
  annotation(`${OWN}inject-group`, "s4.services.k8s.aws", "s3.services.k8s.aws"), field("spec.hostNetwork", true),
  field("spec.containers.0.image", "s3-controller", "example.com/aws-controllers-k8s/sqs-controller:1"),
  field("spec.volumes", [{ name: "ack-role-resolver-token", emptyDir: {} }]),
  field(
    "spec.containers.0.env", [], [{ name: "AWS_PROFILE", value: "default" }],
    [{ name: "AWS_ENDPOINT_URL_STS", value: "https://sts.example.com" }, { name: "AWS_REGION", value: "eu-west-1" }]
  ),
  field("spec.containers.0.envFrom", [{ secretRef: { name: "settings" } }]),
  field("spec.initContainers", [{ name: "ack-role-resolver", image: "other" }]),
  field("spec.containers", [], "none"),
  field("metadata.annotations.eks&amazonaws&com/skip-containers", "ack-role-resolver"),
];

const DEFINITION: readonly FieldValues[] = [
  field("spec.versions", [{ name: "v1", storage: true, served: true }]),
  annotation(`${OWN}allow`, "ACK-34", "IRS-34"), field("metadata.labels.a", "b"),
];

function joined(own: readonly FieldValues[]): readonly FieldValues[] {
  const withDots = own.map(([path, values]) => [path.map((key) => key.replaceAll("&", ".")), values] as const);
  return [...withDots, ...withDots, ...METADATA];
}

/** The random changes of each kind of object. */
export const FIELD_VALUES = {
  selector: joined(SELECTOR), resource: joined(RESOURCE), namespace: joined(NAMESPACE), map: joined(CARM),
  export: joined(FIELD_EXPORT),
  identity: joined(IDENTITY), cluster: joined(CLUSTER), part: joined(CLUSTER), pod: joined(POD),
  definition: joined(DEFINITION),
} as const;
