import { IGNORED_NAMESPACES } from "./carm/maps.ts";
import type { DecisionSettings, Operation, Requester } from "./context.ts";
import {
  type ControllerSettings, isACKController, isCAPAController, isCleanupController, isClusterCleanup,
  isClusterController, isNamespaceCleanup,
} from "./exemptions.ts";
import { isPartKind } from "./identities/cluster-parts.ts";
import { isIdentityKind, referrerKindOf } from "./identities/kinds.ts";
import type { Inventory } from "./inventory/inventory.ts";
import { isACKGroup } from "./kubernetes/kinds.ts";

/** A reviewed request, without its objects. */
interface ReviewedRequest {
  readonly operation: Operation | "CONNECT";
  readonly kind: { readonly group: string; readonly kind: string };
  /** "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  readonly requester: Requester;
}

type WarnSettings = ControllerSettings & Pick<DecisionSettings, "capaServiceAccounts" | "clusterAPIServiceAccounts">;
type Namespaces = Pick<Inventory, "namespaces">;

/**
 * Returns whether the checks only warn about a change, because Kubernetes or a controller could not complete its work
 * if the webhook denied the change. Reads no object, so that the rule also applies if an object exceeds a limit.
 */
export function isWarnOnly(
  request: ReviewedRequest,
  settings: WarnSettings,
  inventory: Namespaces,
): boolean {
  const { kind, name, requester } = request;
  switch (`${kind.kind}.${kind.group}`) {
    case "Namespace.":
      // A denial could block the repair of a system namespace, or the removal of the finalizer of a deleted namespace.
      return IGNORED_NAMESPACES.has(name) || isCleanupController(requester, "namespace-controller");
    case "ConfigMap.":
      return isNamespaceCleanup(request, inventory);
    default:
      return isIdentityKind(kind)
        ? isCAPAController(requester, settings) || isNamespaceCleanup(request, inventory)
        : isCleanupOrController(request, settings, inventory);
  }
}

/** The same for an object that refers to a CAPA identity or is a part of a Cluster, or an ACK resource. */
function isCleanupOrController(request: ReviewedRequest, settings: WarnSettings, inventory: Namespaces): boolean {
  const { kind, namespace, requester } = request;
  const isOfCAPA = referrerKindOf(kind) !== null || isPartKind(kind);
  if (!isOfCAPA && !(isACKGroup(kind.group) && namespace !== "")) return false;
  const isOwnController = isOfCAPA
    ? isClusterController(requester, kind, settings)
    : isACKController(requester, settings);
  return isOwnController || isClusterCleanup(request, inventory);
}
