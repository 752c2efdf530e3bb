import type { DecisionSettings } from "../contract/context.ts";
import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { isCARMMapName } from "../contract/ack-groups.ts";
import { objectReference } from "../formats/object-meta.ts";
import { quote } from "../formats/text.ts";
import { matchesPattern } from "../formats/names.ts";
import type { Check, Fault, QuickCheck } from "./check.ts";

type ProtectionSettings = Pick<
  DecisionSettings,
  | "installationNamespaces" | "ackSystemNamespace" | "controllerServiceAccounts" | "controllerUsers"
  | "capaServiceAccounts" | "identitySecretNamespace"
>;

/** The namespace of the controllers of Kubernetes, and of `aws-auth`, with which EKS maps IAM roles to users. */
export const SYSTEM_NAMESPACE = "kube-system";
/** The start of the user name of a service account. The namespace and the name follow. */
export const ACCOUNT_PREFIX = "system:serviceaccount:";

/** Returns what a protected namespace belongs to, such as `ACK controllers`; null if it is not protected. */
export function ownerOfNamespace(namespace: string, settings: ProtectionSettings): string | null {
  const { installationNamespaces, ackSystemNamespace, identitySecretNamespace } = settings;
  const { controllerServiceAccounts, controllerUsers, capaServiceAccounts } = settings;
  const isIn = (account: string): boolean => account.startsWith(`${namespace}/`);
  if (installationNamespaces.includes(namespace)) return "this webhook";
  if (namespace === ackSystemNamespace || controllerServiceAccounts.some(isIn)) return "ACK controllers";
  if (controllerUsers.some((pattern) => isOfNamespace(pattern, namespace))) return "ACK controllers";
  if (namespace === identitySecretNamespace || capaServiceAccounts.some(isIn)) return "Cluster API";
  return namespace === SYSTEM_NAMESPACE ? "Kubernetes" : null;
}

/**
 * Returns whether the pattern names service accounts in the namespace. A pattern of service accounts in any namespace,
 * such as `system:serviceaccount:*:ack-s3`, names no namespace.
 */
function isOfNamespace(pattern: string, namespace: string): boolean {
  if (!pattern.startsWith(ACCOUNT_PREFIX)) return false;
  const [ofPattern = ""] = pattern.slice(ACCOUNT_PREFIX.length).split(":", 1);
  return !/^\**$/.test(ofPattern) && matchesPattern(ofPattern, namespace);
}

/** A FieldExport after its change. */
export interface FieldExportWrite {
  readonly object: JsonObject;
  readonly settings: ProtectionSettings;
}

/** The fix for a FieldExport in a protected namespace. */
const OTHER_NAMESPACE = "create the FieldExport in another namespace";

export const FE_01: QuickCheck<FieldExportWrite> = {
  id: "FE-01",
  severity: "deny",
  waivable: true,
  reason:
    "A FieldExport makes an ACK controller copy a field into a ConfigMap or Secret, with the controller's rights. "
    + "In the namespaces of controllers and of the webhook, and in a CARM map of any namespace, the value can grant a "
    + "role, or replace a CA or a credential.",
  fix: "export to another ConfigMap or Secret in the namespace of the FieldExport",
  example: "spec: {to: {kind: configmap, namespace: ack-system, name: ack-role-account-map, key: '111122223333'}}",
  *find({ object, settings }): Iterable<Fault> {
    const to = field(field(object, "spec"), "to");
    const named = stringAt(to, "namespace") ?? "";
    const { namespace: own } = objectReference(object);
    // Without a namespace, the controller writes into the namespace of the FieldExport (ACK runtime,
    // pkg/runtime/field_export_reconciler.go). A manifest without a namespace stands for `default`.
    const namespace = [named, own].find((one) => one !== "") ?? "default";
    const owner = ownerOfNamespace(namespace, settings);
    if (owner !== null) {
      const path = named === "" ? ["metadata", "namespace"] : ["spec", "to", "namespace"];
      const message = `the controller would write into namespace ${quote(namespace)}, which belongs to ${owner}`;
      yield { path, message, ...(named === "" && { fix: OTHER_NAMESPACE }) };
    }
    const name = stringAt(to, "name") ?? "";
    if (!isCARMMapName(name)) return;
    const message = `${quote(name)} is the name of a CARM map, from which ACK controllers read roles`;
    yield { path: ["spec", "to", "name"], message };
  },
};

/** The checks of a FieldExport. No check applies to its deletion. */
export const FIELD_EXPORT_CHECKS: readonly Check<FieldExportWrite>[] = [FE_01];
