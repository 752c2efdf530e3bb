import { errorMessage } from "../../shared/decisions/errors.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import { stringAt } from "../../shared/decisions/kubernetes/json.ts";
import type { AnnotatedObject } from "../../shared/decisions/resolution/stale-resources.ts";
import {
  type ObjectResponse, rejectionText, sendRequest, type SendPorts,
} from "../../shared/inventory/cluster/send-request.ts";
import { FIELD_MANAGER } from "./field-manager.ts";

/**
 * The result of a write:
 * - `ok`: the API server stored the annotations.
 * - `conflict`: the resource is newer than its copy in the inventory.
 * - `gone`: the resource or its kind does not exist anymore.
 * - `outage`: the API server is unavailable or overloaded, so other writes would fail too.
 * - `fault`: the API server rejected the write of this resource.
 */
type WriteOutcome = "ok" | "conflict" | "gone" | "outage" | "fault";

export interface WriteResult {
  readonly outcome: WriteOutcome;
  /** Why the write failed; null if it did not fail. */
  readonly fault: string | null;
}

const CONTENT_TYPE = "application/merge-patch+json";

/**
 * Writes annotations of one resource; the value null removes an annotation. The patch contains the resource version in
 * the inventory, so the API server rejects the patch if the resource has changed since. Never rejects.
 */
export async function writeAnnotations(
  ports: SendPorts, resource: AnnotatedObject, annotations: ReadonlyMap<string, string | null>,
  { kinds }: Pick<Inventory, "kinds">,
): Promise<WriteResult> {
  const { group, version, kind, namespace, name, resourceVersion } = resource;
  const plural = kinds.versions(group, kind)?.plural ?? "";
  if (plural === "" || name === null || resourceVersion === null) return { outcome: "gone", fault: null };
  const path = ["/apis", group, version, "namespaces", namespace, plural, name];
  const request = {
    method: "PATCH", path: `${path.map(encoded).join("/")}?fieldManager=${FIELD_MANAGER}`, contentType: CONTENT_TYPE,
    body: JSON.stringify({ metadata: { resourceVersion, annotations: Object.fromEntries(annotations) } }),
  } as const;
  try {
    return resultOf(request, await sendRequest(ports, request));
  } catch (error) {
    return { outcome: "outage", fault: errorMessage(error) };
  }
}

function encoded(part: string, index: number): string {
  return index === 0 ? part : encodeURIComponent(part);
}

const OVERLOADED = 429;
const UNAUTHORIZED = 401;

function resultOf(request: { readonly method: "PATCH"; readonly path: string }, response: ObjectResponse): WriteResult {
  const { status, object } = response;
  if (status === 200) return { outcome: "ok", fault: null };
  if (status === 404) return { outcome: "gone", fault: null };
  // A webhook or a quota can also reject a change with 409.
  if (status === 409 && stringAt(object, "reason") === "Conflict") return { outcome: "conflict", fault: null };
  const isOutage = status >= 500 || status === OVERLOADED || status === UNAUTHORIZED;
  return { outcome: isOutage ? "outage" : "fault", fault: rejectionText(request, response) };
}
