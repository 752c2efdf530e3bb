import { excessOf } from "../kubernetes/bounds.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { LIMITS } from "../limits.ts";
import type { Fault, QuickCheck } from "./check.ts";

const BOUNDS = { maxDepth: LIMITS.objectDepth.value, maxValues: LIMITS.objectValues.value };

/** The limit check of an ACK resource. An object that exceeds a limit gets one fault, and no other check runs on it. */
export const ACK_35: QuickCheck<JsonObject> = {
  id: "ACK-35",
  severity: "deny",
  waivable: false,
  fixed: true,
  reason: "A very large or deeply nested object delays the webhook. No other check runs on the object.",
  fix: "split the resource, or move data out of it, for example into a Secret or a ConfigMap",
  example: "a Bucket whose spec is nested deeper than 100 levels",
  ofChange: true,
  find: excessFaults,
};

export const NS_14: QuickCheck<JsonObject> = {
  ...ACK_35,
  id: "NS-14",
  fix: "remove labels and annotations from the namespace",
  example: "a Namespace that has more than 100,000 values",
};

export const CM_14: QuickCheck<JsonObject> = {
  ...ACK_35,
  id: "CM-14",
  fix: "remove entries from the ConfigMap",
  example: "the ConfigMap ack-role-account-map with more than 100,000 entries",
};

function* excessFaults(object: JsonObject): Iterable<Fault> {
  const excess = excessOf(object, BOUNDS);
  if (excess !== null) yield { ...excess };
}
