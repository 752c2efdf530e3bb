import type { QuickCheck } from "./check.ts";
import type { SizeLimit } from "./kind.ts";
import { objectExcess } from "./limits.ts";
import type { JsonObject } from "../formats/json.ts";

const NONE: readonly never[] = [];

/** Returns the check of a kind that compares only the sizes of an object. */
export function limitCheck({ code, fix, example }: SizeLimit): LimitCheck {
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

export type LimitCheck = QuickCheck<JsonObject>;
