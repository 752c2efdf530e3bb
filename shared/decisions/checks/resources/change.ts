import type { AccessAnswers, DecisionSettings, Operation } from "../../context.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import { type ACKResource, resourceOf } from "../../kubernetes/ack-resource.ts";
import { field, type JsonObject } from "../../kubernetes/json.ts";
import { type Resolution, resolve } from "../../resolution/resolve.ts";
import type { CheckContext, CheckInput } from "../change.ts";
import type { Requirement } from "../check.ts";

/** A resource and the role that it gets as everything else is now. */
export interface ResolvedResource {
  readonly resource: ACKResource;
  readonly resolution: Resolution;
}

/** A step of an ACK resource, from the stored one to the new one. */
export interface ResourceChange extends CheckContext, ResolvedResource {
  /** The resource as it is to be, with the status that counts; at DELETE as it is. */
  readonly object: JsonObject;
  /** What was stored before, null at CREATE and DELETE. */
  readonly stored: ResolvedResource | null;
  readonly access: AccessAnswers | null;
}

/** What tells a resource's role: see `Need`. */
export const RESOLUTION: readonly Requirement[] = ["selectors and namespaces"];

/** As `RESOLUTION`, and whose role is used where nothing selects a resource. */
export const RESOLUTION_OF_ALL: readonly Requirement[] = [...RESOLUTION, "--controller-account or --controller-role"];

/** The subject of the checks of ACK resources. */
export function resourceChange(input: CheckInput, operation: Operation, settings: DecisionSettings, inventory: Inventory): ResourceChange {
  const { old, origin, requester, access = null } = input;
  const resolved = (object: JsonObject): ResolvedResource => {
    const resource = resourceOf(object);
    return { resource, resolution: resolve(inventory, resource, settings) };
  };
  const object = withStatus(input.object, statusThatCounts(input, operation));
  return { operation, settings, inventory, origin, requester, access, object, ...resolved(object), stored: old === null ? null : resolved(old) };
}

/**
 * The stored status: at CREATE there is none, and at UPDATE the API server puts the stored one back whatever the request holds,
 * where the kind has a status subresource as all of ACK's have. A file is a picture of the object, its status included.
 */
function statusThatCounts({ object, old, origin }: CheckInput, operation: Operation): unknown {
  if (old !== null) return field(old, "status");
  return operation === "DELETE" || origin === "file" ? field(object, "status") : undefined;
}

function withStatus(object: JsonObject, status: unknown): JsonObject {
  return { ...object, status };
}
