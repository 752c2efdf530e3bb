/** The field manager of all writes, which `kubectl get --show-managed-fields` shows. */
export const FIELD_MANAGER = "ack-role-resolver-reconciler";
