import type { ErrorCode } from "../formats/errors.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import type { Requester } from "./context.ts";
import type { AdmissionChange, Exemption } from "./exemptions.ts";

export const OPERATIONS = ["CREATE", "UPDATE", "DELETE", "CONNECT"] as const;

/** The fields of an AdmissionReview's request that the webhook uses. A missing string is "". */
export interface AdmissionRequest extends AdmissionChange {
  readonly uid: string;
  readonly operation: (typeof OPERATIONS)[number];
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly namespace: string;
  /** The name of the object; "" if the API server generates the name later. */
  readonly name: string;
  readonly requester: Requester;
  readonly dryRun: boolean;
  /**
   * A clause that states which limit the review exceeds; null if the review exceeds no limit. A review that exceeds a
   * limit contains no objects, or texts that are too long to process.
   */
  readonly excess: string | null;
}

/** A warning about the annotations that the webhook writes to an object. */
export interface Notice {
  readonly code: ErrorCode | "ACK-02";
  /** The message starts in lower case and has no trailing full stop. */
  readonly message: string;
}

/** Why the webhook leaves an object as it is. */
export type SkipReason =
  | Exemption | "not managed" | "no object" | "limit exceeded" | `written by ${string}`
  /** The API server only asks whether it reaches the webhook. */
  | "reached";

/**
 * Overwrites the namespace of the object with the namespace of the request, because RBAC authorized the request for
 * this namespace.
 */
export function inNamespace(object: JsonObject, namespace: string): JsonObject {
  const metadata = field(object, "metadata");
  if (stringAt(metadata, "namespace") === namespace) return object;
  return { ...object, metadata: { ...(isJsonObject(metadata) && metadata), namespace } };
}
