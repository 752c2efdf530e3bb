import { resolve } from "../core/resolve.ts";
import type { Resolution } from "../core/resolution.ts";
import { type ACKResource, resourceOf } from "../core/ack-resource.ts";
import { USE_SELECTOR_ANNOTATION } from "../core/annotation-keys.ts";
import type { AccessByName } from "../core/context.ts";
import type { ErrorCode } from "../formats/errors.ts";
import { field, type JsonObject } from "../formats/json.ts";
import { type Crossing, crossingsOf } from "./crossings.ts";
import type { CheckContext, CheckInput } from "../core/check.ts";

/** A resource, and its role according to the current inventory. */
export interface ResolvedResource {
  readonly object: JsonObject;
  readonly resource: ACKResource;
  readonly resolution: Resolution;
  /** Returns what the resource uses of other namespaces. */
  readonly crossings: () => readonly Crossing[];
}

/** A change of an ACK resource. At DELETE, the field `resource` is the deleted resource. */
export interface ResourceChange extends CheckContext, ResolvedResource {
  /** The resource before the change; null at CREATE and DELETE. */
  readonly stored: ResolvedResource | null;
  readonly access: AccessByName | null;
}

/**
 * Returns the change that the resource checks examine. Resolves the role of the new resource and of the old resource
 * only once.
 */
export function resourceChange(input: CheckInput, context: CheckContext): ResourceChange {
  const { old, access = null } = input;
  const resolved = (object: JsonObject): ResolvedResource => {
    const resource = resourceOf(object);
    const resolution = resolve(context.inventory, resource, context.settings);
    return { object, resource, resolution, crossings: crossingsOnce(object) };
  };
  const current = resolved({ ...input.object, status: storedStatus(input, context) });
  const stored = old === null ? null : old === input.object ? current : resolved(old);
  const { operation, settings, inventory, origin, requester } = context;
  const { object, resource, resolution, crossings } = current;
  return {
    operation, settings, inventory, origin, requester, object, resource, resolution, crossings, stored, access,
  };
}

/** Returns a function that returns what the resource uses of other namespaces. It visits the spec only once. */
export function crossingsOnce(object: JsonObject): () => readonly Crossing[] {
  let found: readonly Crossing[] | null = null;
  return () => (found ??= crossingsOf(object));
}

/**
 * Returns the status of the object after the change. The API server ignores the status in a CREATE or UPDATE request,
 * because every ACK kind has a status subresource. A manifest may contain the status of an existing resource.
 */
function storedStatus({ object, old }: CheckInput, { operation, origin }: CheckContext): unknown {
  if (old !== null) return field(old, "status");
  return operation === "DELETE" || origin === "file" ? field(object, "status") : undefined;
}

/** Returns the fix for a resource that has no role for another reason than a conflict of selectors. */
export function refusedFix({ code }: Resolution): string {
  return REFUSED_FIXES.get(code) ?? "correct the CARM map, or the account or team annotation of the namespace";
}

const REFUSED_FIXES: ReadonlyMap<ErrorCode | null, string> = new Map([
  ["ERR_SELECTOR_CHOICE",
    `name a selector that selects the resource in ${USE_SELECTOR_ANNOTATION}, or remove the annotation`],
  ["ERR_SELECTOR_NOT_GRANTED", "annotate the namespace with a key of the CARM map whose role the resource needs"],
]);

/** Returns the message of the resolution without its full stop, because check messages have no full stop. */
export function resolutionClause({ message }: Pick<Resolution, "message">): string {
  return message.replace(/\.$/, "");
}
