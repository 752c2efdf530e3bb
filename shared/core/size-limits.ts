import { objectExcess, SIZE_CHECKS, type SizedKind } from "./limits.ts";
import type { JsonObject } from "../formats/json.ts";
import type { QuickCheck } from "./check.ts";

const NONE: readonly never[] = [];

/** Returns the check of the kind that compares the sizes of an object. */
export function limitCheck(kind: SizedKind): QuickCheck<JsonObject> {
  const { code, fix, example } = SIZE_CHECKS[kind];
  return {
    id: code,
    severity: "deny",
    fixed: true,
    reason: "A very large or deeply nested object delays the webhook. No other check runs on the object.",
    fix,
    example,
    ofChange: true,
    find(object) {
      const excess = objectExcess(object);
      return excess === null ? NONE : [excess];
    },
  };
}
