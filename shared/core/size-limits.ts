import type { CheckEntry, QuickCheck } from "./check.ts";
import type { LimitOfKind } from "./kind.ts";
import { objectExcess } from "./limits.ts";
import type { JsonObject } from "../formats/json.ts";

const NONE: readonly never[] = [];

/** Returns the check of a kind that compares only the sizes of an object. */
export function limitCheck({ code, fix, example }: Required<Pick<LimitOfKind, "code" | "fix" | "example">>): LimitCheck {
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

/**
 * Returns the check that reports a write of an object that is too large to be read, with its fix for the operation;
 * null if no check of the list does.
 */
export function limitCheckOf(
  limit: LimitOfKind | undefined, operation: string, checks: readonly CheckEntry[],
): CheckEntry | null {
  const deletion = operation === "DELETE" ? limit : undefined;
  const code = deletion?.deletion ?? limit?.code;
  const check = checks.find(({ id }) => id === code);
  return check === undefined ? null : { ...check, fix: deletion?.fix ?? check.fix };
}
