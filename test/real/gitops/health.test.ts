import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { findArgoCD } from "./argo-cd.ts";

interface Case {
  readonly title: string;
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly conditions?: readonly JsonObject[];
  readonly health: { readonly status: string; readonly message?: string } | undefined;
}

function condition(type: string, status: string, more: JsonObject = {}): JsonObject {
  return { type, status, ...more };
}

const SYNCED = "ACK.ResourceSynced";
const DENIED = "User: a is not authorized to perform: sts:AssumeRole";
const RECOVERABLE = condition("ACK.Recoverable", "True", { message: DENIED });
const NOTHING = { status: "Progressing", message: "The controller has reported nothing yet" };
const CLUSTER = { apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSCluster" };

const CASES: readonly Case[] = [
  { title: "a resource that no controller has seen", health: NOTHING },
  { title: "a resource without a condition", conditions: [], health: NOTHING },
  { title: "a resource in sync", conditions: [condition(SYNCED, "True")], health: { status: "Healthy" } },
  {
    title: "a resource in sync after an error",
    conditions: [condition("ACK.Terminal", "False"), condition(SYNCED, "True")],
    health: { status: "Healthy" },
  },
  {
    title: "a resource that AWS creates", conditions: [condition(SYNCED, "False", { message: "creating" })],
    health: { status: "Progressing", message: "creating" },
  },
  {
    title: "a role that cannot be assumed", conditions: [condition(SYNCED, "Unknown"), RECOVERABLE],
    health: { status: "Degraded", message: DENIED },
  },
  {
    title: "a wrong field", conditions: [condition("ACK.Terminal", "True", { reason: "InvalidArgument" })],
    health: { status: "Degraded", message: "InvalidArgument" },
  },
  {
    title: "an account that the CARM map does not have",
    conditions: [condition(SYNCED, "False", { message: "IAM Role is not available" })],
    health: { status: "Degraded", message: "IAM Role is not available" },
  },
  {
    title: "a selector, which has no status", apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector",
    health: undefined,
  },
  { title: "a new cluster", ...CLUSTER, health: NOTHING },
  {
    title: "a cluster that is ready", ...CLUSTER, conditions: [condition("Ready", "True")],
    health: { status: "Healthy" },
  },
  {
    title: "a cluster that is being created", ...CLUSTER,
    conditions: [condition("Ready", "False", { severity: "Info", message: "creating the VPC" })],
    health: { status: "Progressing", message: "creating the VPC" },
  },
  {
    title: "a cluster that may not use its identity", ...CLUSTER,
    conditions: [
      condition("Ready", "False", { severity: "Info" }),
      condition("PrincipalUsageAllowed", "False", { severity: "Info", message: "namespace not allowed" }),
    ],
    health: { status: "Degraded", message: "namespace not allowed" },
  },
  {
    title: "a cluster that failed", ...CLUSTER,
    conditions: [condition("VpcReady", "False", { severity: "Error", reason: "VpcReconciliationFailed" })],
    health: { status: "Degraded", message: "VpcReconciliationFailed" },
  },
  {
    title: "an identity, which has no status", apiVersion: CLUSTER.apiVersion, kind: "AWSClusterRoleIdentity",
    health: undefined,
  },
];

test("the health of objects in Argo CD", async (t) => {
  const argoCD = await findArgoCD(t);
  if (argoCD === null) return;
  const answers = await argoCD(CASES.map(({ apiVersion, kind, conditions }) => {
    const metadata = { name: "a" };
    const object = { apiVersion: apiVersion ?? "s3.services.k8s.aws/v1alpha1", kind: kind ?? "Bucket", metadata };
    return { target: object, live: { ...object, ...(conditions && { status: { conditions } }) } };
  }));
  for (const [index, { title, health }] of CASES.entries()) t.same(answers[index]?.health, health, title);
});
