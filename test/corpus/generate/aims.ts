import type { FieldValues } from "./field-values.ts";
import { type Json, textAt } from "./json.ts";
import { ACCOUNTS, CLUSTER_NAMESPACES, roleIn } from "./names.ts";
import type { SubjectName } from "./subjects.ts";

/** A change that reaches a check which random changes rarely reach, because it depends on several objects. */
export interface Aim {
  readonly subject: SubjectName;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  /** Which objects of the inventory are changed, deleted, or copied for a CREATE. Default: all of the kind. */
  readonly of?: (object: Json) => boolean;
  readonly field?: FieldValues;
  /** Default: the most common path of the kind. */
  readonly path?: string;
}

const [A, B] = ACCOUNTS;
const OWN = "ack-role-resolver.io/";
const ACK = "services.k8s.aws/";
const LABELS: FieldValues = [["metadata", "labels"], [{ env: "prod" }, { env: "dev" }, { env: "dev", team: "a" }, {}]];
const SELECTORS = "/validate/iamroleselectors";

function named(...names: readonly string[]): (object: Json) => boolean {
  return (object) => names.includes(textAt(object, "metadata", "name"));
}

function isStatic(object: Json): boolean {
  return object["kind"] === "AWSClusterStaticIdentity";
}

function isCreated(object: Json): boolean {
  return textAt(object, "status", "ackResourceMetadata", "ownerAccountID") !== "";
}

export const AIMS: readonly Aim[] = [
  { subject: "selector", operation: "DELETE" },
  { subject: "selector", operation: "DELETE", of: named("team-a", "team-b", "payments", "tier-gold") },
  {
    subject: "selector", operation: "UPDATE",
    field: [["spec", "namespaceSelector", "names"], [["sandbox"], ["team-c"], []]],
  },
  {
    subject: "selector", operation: "UPDATE",
    field: [["metadata", "ownerReferences"], [[{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "u" }]]],
  },
  { subject: "selector", operation: "CREATE", field: [["spec", "arn"], [roleIn(A, "copy"), roleIn(B, "copy")]] },
  { subject: "definition", operation: "DELETE" },
  { subject: "definition", operation: "DELETE", of: named("iamroleselectors.services.k8s.aws"), path: SELECTORS },
  {
    subject: "resource", operation: "UPDATE", of: isCreated,
    field: [["metadata", "labels", "tier"], ["gold", "silver", undefined]],
  },
  {
    subject: "resource", operation: "UPDATE", of: (object) => textAt(object, "metadata", "namespace") === "sandbox",
    field: [["metadata", "labels", "tier"], ["gold", "silver"]],
  },
  {
    subject: "resource", operation: "CREATE",
    field: [["status", "ackResourceMetadata"], [{ ownerAccountID: A }, { ownerAccountID: B }]],
  },
  { subject: "resource", operation: "DELETE", of: isCreated },
  { subject: "namespace", operation: "UPDATE", field: LABELS },
  { subject: "namespace", operation: "UPDATE", of: named(...CLUSTER_NAMESPACES), field: LABELS },
  {
    subject: "namespace", operation: "UPDATE",
    field: [["metadata", "annotations", `${ACK}owner-account-id`], [A, B, undefined]],
  },
  {
    subject: "namespace", operation: "UPDATE",
    field: [["metadata", "annotations", `${ACK}team-id`], ["payments", "absent"]],
  },
  {
    subject: "namespace", operation: "UPDATE",
    field: [["metadata", "annotations", `${OWN}use-selector`], ["gold", "no-such-selector"]],
  },
  {
    subject: "namespace", operation: "UPDATE",
    field: [
      ["metadata", "annotations", `${ACK}endpoint-url`],
      ["https://collector.example.net", "https://s3.amazonaws.com"],
    ],
  },
  { subject: "map", operation: "UPDATE", field: [["data", A], [roleIn(A, "next"), roleIn(B, "next"), undefined]] },
  { subject: "map", operation: "UPDATE", field: [["data"], [{}, { [A]: roleIn(A, "only") }]] },
  { subject: "map", operation: "DELETE" },
  {
    subject: "identity", operation: "UPDATE",
    field: [["spec", "allowedNamespaces"], [{ selector: {} }, { list: [] }, { list: ["capi-two"] }]],
  },
  {
    subject: "identity", operation: "UPDATE",
    field: [
      ["spec", "allowedNamespaces"],
      [{ selector: { matchExpressions: [{ key: "team", operator: "DoesNotExist" }] } }],
    ],
  },
  {
    subject: "identity", operation: "UPDATE", of: named("workload", "hub", "team-a"),
    field: [["spec", "roleARN"], [roleIn(A, "moved"), roleIn(B, "moved")]],
  },
  {
    subject: "identity", operation: "CREATE", of: isStatic,
    field: [["spec", "secretRef"], ["s-creds", "absent-creds", "old-creds"]],
  },
  { subject: "identity", operation: "DELETE" }, { subject: "cluster", operation: "UPDATE" },
  { subject: "cluster", operation: "CREATE" },
  { subject: "pod", operation: "CREATE", field: [["spec", "hostNetwork"], [true, undefined]] },
];
