import type { DecisionSettings, Operation, Requester } from "./context.ts";
import {
  type ControllerSettings, isACKController, isCAPAController, isCleanupController, isClusterAPIController,
  isNamespaceCleanup, type TerminatingNamespaces,
} from "./exemptions.ts";
import { IGNORED_NAMESPACES } from "./annotation-keys.ts";

/** A reviewed request, without its objects: a rule also applies if an object exceeds a limit. */
export interface ReviewedRequest {
  readonly operation: Operation | "CONNECT";
  /** "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  readonly requester: Requester;
}

export interface WarnContext {
  readonly settings: ControllerSettings & Pick<DecisionSettings, "capaServiceAccounts" | "clusterAPIServiceAccounts">;
  readonly inventory: TerminatingNamespaces;
}

/** Whether the checks only warn about a write. */
export type WarnRule = (request: ReviewedRequest, context: WarnContext) => boolean;

/** A denial could block the repair of a system namespace. */
export const inSystemNamespace: WarnRule = ({ name }) => IGNORED_NAMESPACES.has(name);

/** A denial could block the removal of the finalizer of a deleted namespace. */
export const byNamespaceController: WarnRule = ({ requester }) => (
  isCleanupController(requester, "namespace-controller")
);

export const byACKController: WarnRule = ({ requester }, { settings }) => isACKController(requester, settings);

export const byCAPA: WarnRule = ({ requester }, { settings }) => isCAPAController(requester, settings);

/** Cluster API creates machines for users. */
export const byClusterAPI: WarnRule = ({ requester }, { settings }) => isClusterAPIController(requester, settings);

export const ofNamespaceCleanup: WarnRule = (request, { inventory }) => isNamespaceCleanup(request, inventory);

/**
 * Whether Kubernetes deletes the object because its owner is deleted. This rule is only for resources and clusters: a
 * user who may only patch a selector, a definition or a CARM map could otherwise delete it by adding an owner that does
 * not exist.
 */
export const byGarbageCollector: WarnRule = ({ operation, namespace, requester }) => (
  operation === "DELETE" && namespace !== "" && isCleanupController(requester, "generic-garbage-collector")
);
