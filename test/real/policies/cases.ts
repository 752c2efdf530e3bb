import { ADOPTION_POLICY_ANNOTATION, DELETION_POLICY_ANNOTATION } from "../../../shared/core/annotation-keys.ts";

/** The annotations of an object, and the ids of the covered checks that deny them. */
export type AnnotationCase = readonly [annotations: Readonly<Record<string, string>>, ...denied: readonly string[]];

const RESOLVED = {
  "ack-role-resolver.io/outcome": "selected", "ack-role-resolver.io/via": "selector",
  "ack-role-resolver.io/selector": "team-a", "ack-role-resolver.io/selector-resource-version": "7",
  "ack-role-resolver.io/role-arn": "arn:aws:iam::111122223333:role/a", "ack-role-resolver.io/reason": "IAMRoleSelector",
};
const REASON = "ack-role-resolver.io/reason";
const OUTCOME = "ack-role-resolver.io/outcome";
const VIA = "ack-role-resolver.io/via";
const CHAIN = "ack-role-resolver.io/identity-chain";

/** Annotations of a resolution. The webhook replaces them, and the policy denies those that contradict each other. */
export const RESOLUTION_CASES: readonly AnnotationCase[] = [
  [RESOLVED],
  [{ [OUTCOME]: "default", [REASON]: "no selector" }],
  [{ [OUTCOME]: "conflict", [REASON]: "x".repeat(256), "ack-role-resolver.io/conflicting-selectors": "a,b" }],
  [{ [OUTCOME]: "refused", [REASON]: "", "ack-role-resolver.io/via": "account-map" }],
  [{ "ack-role-resolver.io/role-arn": RESOLVED["ack-role-resolver.io/role-arn"] }, "ACK-02"],
  [{ ...RESOLVED, [OUTCOME]: "granted" }, "ACK-02"],
  [{ ...RESOLVED, [OUTCOME]: "refused" }, "ACK-02"],
  [{ ...RESOLVED, [OUTCOME]: "default" }, "ACK-02"],
  [{ ...RESOLVED, "ack-role-resolver.io/role-arn": "admin" }, "ACK-02"],
  [{ ...RESOLVED, "ack-role-resolver.io/conflicting-selectors": "a,b" }, "ACK-02"],
  [{ [OUTCOME]: "conflict", [REASON]: "two selectors" }, "ACK-02"],
  [{ [OUTCOME]: "default", [REASON]: "x".repeat(257) }, "ACK-02"],
  [{ ...RESOLVED, [CHAIN]: "AWSClusterRoleIdentity/a" }, "ACK-02"],
];

const IDENTIFIED = {
  [OUTCOME]: "selected", [VIA]: "identity", [REASON]: "AWSClusterRoleIdentity",
  "ack-role-resolver.io/role-arn": RESOLVED["ack-role-resolver.io/role-arn"],
  [CHAIN]: "AWSClusterRoleIdentity/a,AWSClusterStaticIdentity/b.c",
};
const WITHOUT_CHAIN = { [VIA]: "identity", [REASON]: "" };
const LONG_NAME = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61)].join(".");

/** Annotations of the resolution of a cluster, like RESOLUTION_CASES. */
export const CLUSTER_CASES: readonly AnnotationCase[] = [
  [IDENTIFIED],
  [{ ...IDENTIFIED, [CHAIN]: Array.from({ length: 9 }, () => `AWSClusterControllerIdentity/${LONG_NAME}`).join(",") }],
  [{ ...WITHOUT_CHAIN, [OUTCOME]: "refused" }],
  [{ ...WITHOUT_CHAIN, [OUTCOME]: "refused", [CHAIN]: "AWSServiceAccountIdentity/a" }],
  [{ ...WITHOUT_CHAIN, [OUTCOME]: "default" }],
  [{ ...WITHOUT_CHAIN, [OUTCOME]: "default", [CHAIN]: "AWSClusterControllerIdentity/default" }],
  [{ ...WITHOUT_CHAIN, [OUTCOME]: "selected" }, "ACK-02"],
  [{ ...WITHOUT_CHAIN, [OUTCOME]: "conflict" }, "ACK-02"],
  [{ ...IDENTIFIED, [VIA]: "selector" }, "ACK-02"],
  [{ ...IDENTIFIED, [OUTCOME]: "refused" }, "ACK-02"],
  [{ ...IDENTIFIED, "ack-role-resolver.io/selector": "a" }, "ACK-02"],
  [{ ...IDENTIFIED, "ack-role-resolver.io/conflicting-selectors": "a,b" }, "ACK-02"],
  [{ [CHAIN]: "AWSClusterRoleIdentity/admin" }, "ACK-02"],
  [{ ...IDENTIFIED, [REASON]: "x".repeat(257) }, "ACK-02"],
  ...[
    "", "AWSClusterRoleIdentity", "AWSClusterRoleIdentity/", "AWSClusterRoleIdentity/a,", "Secret/a",
    "AWSClusterRoleIdentity/A", "AWSClusterRoleIdentity/a/b", "xAWSClusterRoleIdentity/a", "x".repeat(200_000),
    Array.from({ length: 10 }, () => "AWSClusterRoleIdentity/a").join(","),
    ",".repeat(200_000),
  ].map((chain): AnnotationCase => [{ ...IDENTIFIED, [CHAIN]: chain }, "ACK-02"]),
  [Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`example.com/a${i}`, ""])), "AC-08"],
];

const REGION = "services.k8s.aws/region";
const ADOPTION_FIELDS = "services.k8s.aws/adoption-fields";

/** Annotations of a bucket. value-types.test.ts tests the values of each type. */
export const BUCKET_CASES: readonly AnnotationCase[] = [
  [{}],
  [{ [REGION]: "eu-west-1" }],
  [{ [REGION]: "Frankfurt" }, "ACK-10"],
  [{ [REGION]: "x".repeat(250_000) }, "ACK-10"],
  [{ [DELETION_POLICY_ANNOTATION]: "retain" }],
  [{ [DELETION_POLICY_ANNOTATION]: "Delete" }, "ACK-11"],
  [{ [ADOPTION_POLICY_ANNOTATION]: "adopt", [ADOPTION_FIELDS]: '{"name": "b"}' }],
  [{ [ADOPTION_POLICY_ANNOTATION]: "adopt-or-create" }],
  [{ [ADOPTION_POLICY_ANNOTATION]: "adopt" }, "ACK-12"],
  [{ [ADOPTION_POLICY_ANNOTATION]: "adopt-only", [ADOPTION_FIELDS]: "{}" }, "ACK-12"],
  [{ [REGION]: "moon", [DELETION_POLICY_ANNOTATION]: "keep" }, "ACK-10", "ACK-11"],
  [Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`example.com/a${i}`, ""])), "ACK-35"],
  [{ "ack-role-resolver.io/use-selector": "gold", "services.k8s.aws/owner-account-id": "x" }],
];

const ENDPOINT = "services.k8s.aws/endpoint-url";
const DEFAULT_REGION = "services.k8s.aws/default-region";
const S3_POLICY = "s3.services.k8s.aws/deletion-policy";

/** Annotations of a Namespace. The allowed endpoint hosts are a.example and b.example:8443. */
export const NAMESPACE_CASES: readonly AnnotationCase[] = [
  [{}],
  [{ [DEFAULT_REGION]: "eu-west-1" }],
  [{ [DEFAULT_REGION]: "" }],
  [{ [DEFAULT_REGION]: "Frankfurt" }, "NS-07"],
  [{ [ENDPOINT]: "" }],
  [{ [ENDPOINT]: "https://a.example" }],
  [{ [ENDPOINT]: "HTTPS://A.example:443/path/a" }],
  [{ [ENDPOINT]: `https://a.example/${"p".repeat(200_000)}` }],
  [{ [ENDPOINT]: "https://b.example:8443" }],
  [{ [ENDPOINT]: "https://b.example" }, "NS-08"],
  [{ [ENDPOINT]: "https://a.example.evil.example" }, "NS-08"],
  [{ [ENDPOINT]: "https://evil.example/a.example" }, "NS-08"],
  // RE2 matches "s" with "ſ" if it ignores the case.
  [{ [ENDPOINT]: "httpſ://a.example" }, "NS-08"],
  [{ [ENDPOINT]: `http://evil.example/${"p".repeat(200_000)}` }, "NS-08"],
  [{ [ENDPOINT]: "https://a.example@evil.example" }, "NS-08"],
  [{ [ENDPOINT]: "https://[::1]:8443" }, "NS-08"],
  [{ [ENDPOINT]: "https://-a.example" }, "NS-08"],
  [{ [S3_POLICY]: "retain", [DELETION_POLICY_ANNOTATION]: "anything" }],
  [{ [S3_POLICY]: "" }],
  [{ [S3_POLICY]: "Delete" }, "NS-09"],
  [{ [S3_POLICY]: "delete", "sqs.services.k8s.aws/deletion-policy": "keep" }, "NS-09"],
  [Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`example.com/a${i}`, ""])), "NS-14"],
];

const ALLOW = "ack-role-resolver.io/allow";

/** Waivers of a user who is not a waiver user. */
export const WAIVER_CASES: readonly AnnotationCase[] = [
  [{ [ALLOW]: "" }],
  [{ [ALLOW]: " , " }],
  [{ [ALLOW]: "IRS-15" }, "WAIVER-01"],
  [{ [ALLOW]: ",NS-01 " }, "WAIVER-01"],
  [{ [ALLOW]: "\ufeffACK-30" }, "WAIVER-01"],
  [{ [ALLOW]: "\ufeff" }],
  [{ [ALLOW]: "unknown" }, "WAIVER-01"],
  [{ [ALLOW]: `${",".repeat(99)}ACK-30` }, "WAIVER-01"],
  [{ [ALLOW]: `${",".repeat(100)}ACK-30` }],
];

const REQUIRED = "ack-role-resolver.io/selector-required";

/** Values of `selector-required` in a new namespace of a user who is not a waiver user. */
export const REQUIRED_CASES: readonly AnnotationCase[] = [
  [{ [REQUIRED]: "true" }],
  [{ [REQUIRED]: "false" }, "NS-17"],
  [{ [REQUIRED]: "True" }, "NS-17"],
  [{ [REQUIRED]: "" }, "NS-17"],
];
