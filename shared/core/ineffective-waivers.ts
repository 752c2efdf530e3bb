import { WAIVER_ANNOTATION } from "./annotation-keys.ts";
import { annotationPath, type JsonObject } from "../formats/json.ts";
import { annotationAt, objectReference } from "../formats/object-meta.ts";
import { printable, quote } from "../formats/text.ts";
import { bindChecks, type BoundChecks } from "./bind.ts";
import { isLimited } from "./binding.ts";
import type { CheckEntry, CheckInput, Fault, QuickCheck } from "./check.ts";
import { by, safely } from "./repair.ts";
import { WAIVER_01, waivedChecks, withoutWaivers } from "./waiver.ts";

/** An object that may have the waiver annotation. */
interface WaivedObject {
  readonly object: JsonObject;
  /** The checks of the object; null if they are not all known, and then every check may apply. */
  readonly checks: readonly CheckEntry[] | null;
  /** Every check. */
  readonly catalogue: readonly CheckEntry[];
}

/** The part of WAIVER-01 that warns about waivers without an effect, also offline and to waiver users. */
const INEFFECTIVE_WAIVERS: QuickCheck<WaivedObject> = {
  ...WAIVER_01,
  severity: "warn",
  requires: [],
  when: () => true,
  *find(waived): Iterable<Fault> {
    const path = annotationPath(WAIVER_ANNOTATION);
    for (const id of new Set(waivedChecks(waived.object))) {
      const fault = faultOf(id, waived);
      if (fault !== null) yield { path, ...fault, severity: "warn" };
    }
  },
};

const EFFECT_CHECKS = [INEFFECTIVE_WAIVERS];

/** Returns the checks of an object, and if it has waivers, the check of their effect on these. */
export function withEffectOfWaivers(
  { object, inventory = null }: CheckInput, bound: readonly BoundChecks[], catalogue: readonly CheckEntry[],
): readonly BoundChecks[] {
  if (bound.length === 0 || annotationAt(object, WAIVER_ANNOTATION) === null) return bound;
  const checks = inventory === null || isLimited(bound) ? null : bound.flatMap((one) => one.checks);
  return [...bound, bindChecks(EFFECT_CHECKS, { object, checks, catalogue }, null)];
}

function faultOf(id: string, { object, checks, catalogue }: WaivedObject): Omit<Fault, "path"> | null {
  if (id === "") return null;
  const check = catalogue.find((one) => one.id === id);
  if (check === undefined) {
    const message = `check ${quote(id)} does not exist, so this waiver has no effect`;
    const fix = "write the id of a waivable check of docs/checks.md";
    return { message, fix, repairs: by(withoutWaivers(object, new Set([id]))) };
  }
  const repairs = safely(withoutWaivers(object, new Set([id])));
  const fix = `remove ${id} from the annotation`;
  if (check.waivable !== true) {
    return { message: `nobody may waive check ${id}, so this waiver has no effect`, fix, repairs };
  }
  if (checks === null || checks.some((one) => one.id === id)) return null;
  const kind = printable(objectReference(object).kind);
  return { message: `check ${id} does not apply to the kind ${kind}, so this waiver has no effect`, fix, repairs };
}
