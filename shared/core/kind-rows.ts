import { byGarbageCollector, ofNamespaceCleanup } from "./exemptions.ts";
import type { Served } from "./kind.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, NOT_BEING_DELETED } from "./conditions.ts";

// What the facts of several kinds have in common.

export const CREATE_AND_UPDATE = ["CREATE", "UPDATE"] as const;
export const EVERY_WRITE = [...CREATE_AND_UPDATE, "DELETE"] as const;
/** The API server lets a client change annotations, such as a waiver, through the status of some kinds. */
export const STATUS = ["status"] as const;
/** Reviews of kinds whose faults lose roles or credentials. A deletion that already runs is not reviewed again. */
export const CLOSED = {
  whenDown: "Fail", subresources: STATUS, conditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
} as const;
export const OPEN = { whenDown: "Ignore", subresources: STATUS } as const;
export const CLEANUP = [ofNamespaceCleanup, byGarbageCollector] as const;

/** Waivers of a kind for which no policy always applies. */
export const WAIVERS = { operations: CREATE_AND_UPDATE, subresources: STATUS } as const;
/** Waivers of a kind whose policy checks them in the object itself. */
export const STATUS_WAIVERS = { operations: ["UPDATE"], subresources: STATUS, excludesResource: true } as const;

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
