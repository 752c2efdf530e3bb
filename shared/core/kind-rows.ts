import { byGarbageCollector, ofNamespaceCleanup } from "./exemptions.ts";
import type { Served } from "./kind.ts";

// What the facts of several kinds have in common.

export const CREATE_AND_UPDATE = ["CREATE", "UPDATE"] as const;
export const EVERY_WRITE = [...CREATE_AND_UPDATE, "DELETE"] as const;
/** The API server lets a client change annotations, such as a waiver, through the status of some kinds. */
export const STATUS = ["status"] as const;
/** Reviews of kinds whose faults lose roles or credentials. A deletion that already runs is not reviewed again. */
export const CLOSED = {
  whenDown: "Fail", subresources: STATUS, conditions: ["not-being-deleted", "changes-more-than-bookkeeping"],
} as const;
export const OPEN = { whenDown: "Ignore", subresources: STATUS } as const;
export const CLEANUP = [ofNamespaceCleanup, byGarbageCollector] as const;

/** The verbs of an inventory, which never reads one object. */
export const LIST = ["list", "watch"] as const;
export const READ = ["get", ...LIST] as const;
/** The verb `deletecollection` is missing: one request could delete every selector. */
export const WRITE = ["create", "update", "patch", "delete"] as const;

/** client-go's page size. */
export const PAGE = 500;

/** Returns how the API server names a kind without a group, such as the Namespace. */
export function core(plural: string, scope: Served["scope"]): Served {
  return { groups: [{ group: "", plurals: [plural] }], version: "v1", scope };
}
