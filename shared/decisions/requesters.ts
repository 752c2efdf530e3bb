import type { Operation, Requester } from "./checks/check.ts";
import type { Inventory } from "./inventory.ts";
import type { DecisionSettings } from "./settings.ts";

/** How the API server calls a service account: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#service-account-tokens. */
function isServiceAccount({ username }: Requester, namespace: string, name: string): boolean {
  return username === `system:serviceaccount:${namespace}:${name}`;
}

/** Whether it is one of the ACK controllers that the settings name; nobody else is. */
export function isACKController(requester: Requester, { controllerServiceAccounts }: Pick<DecisionSettings, "controllerServiceAccounts">): boolean {
  return controllerServiceAccounts.some((account) => {
    const [namespace = "", name = ""] = account.split("/");
    return isServiceAccount(requester, namespace, name);
  });
}

/**
 * Whether the cluster itself cleans up: it deletes what belongs to something that is gone already, and a refusal would only keep
 * that from ever being gone. Source: kubernetes cmd/kube-controller-manager/app/core.go, the names of these controllers' accounts.
 */
export function isCleanUp({ operation, namespace, requester }: CleanUp, inventory: Pick<Inventory, "isTerminating">): boolean {
  if (operation !== "DELETE") return false;
  return (namespace !== "" && inventory.isTerminating(namespace)) || CLEANERS.some((name) => isServiceAccount(requester, "kube-system", name));
}

export interface CleanUp {
  readonly operation: Operation | "CONNECT";
  /** "" for what is in none. */
  readonly namespace: string;
  readonly requester: Requester;
}

const CLEANERS = ["namespace-controller", "generic-garbage-collector"] as const;
