import type { ScopeName } from "../core/session.ts";
import type { Fault, ScanningCheck } from "../core/check.ts";
import {
  SESSION_POLICY_ANNOTATION, SESSION_POLICY_ARNS_ANNOTATION, SESSION_SCOPE_ANNOTATION,
} from "../core/annotation-keys.ts";
import { defaultScope } from "../core/closures.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { Inventory } from "../core/inventory.ts";
import { annotationOf } from "../core/session-annotations.ts";
import { by, describeRepairs, remove, type Repair, set } from "../core/repair.ts";
import { readLimits, type SessionLimits, widenings } from "../core/session-change.ts";
import { printable } from "../formats/text.ts";
import type { Paced } from "../formats/paced.ts";
import { annotationPath, type JsonObject } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { transitionsOfSelector } from "./change-set.ts";
import { ACK_NEEDS } from "./requirements.ts";
import { SELECTORS } from "./selectors.ts";
import type { SelectorChange } from "./selector-change.ts";

const LIMITS = [SESSION_POLICY_ANNOTATION, SESSION_POLICY_ARNS_ANNOTATION, SESSION_SCOPE_ANNOTATION];

export const IRS_57: ScanningCheck<SelectorChange> = {
  id: "IRS-57",
  severity: "deny",
  waivable: true,
  reason: "The sessions of the role can do more than before, for every resource that the selector selects. Whoever may "
    + "write selectors could otherwise undo the limit that somebody else relies on.",
  fix: "restore the annotations, or ask a user of --waiver-users to allow IRS-57",
  example: "# before: the selector has the annotation session-policy, and selects Bucket team-a/b1\n"
    + "metadata: {annotations: {}}",
  requires: [ACK_NEEDS.resources],
  ofChange: true,
  *scan({ before, after, inventory, object, storedObject, settings }) {
    if (after === null || settings.mode !== "selectors") return [];
    const byDefault = defaultScope(settings.injection.closures);
    const compared = { inventory, limits: readLimits(object), byDefault };
    const faults: Fault[] = [];
    if (before !== null && storedObject !== null) {
      const message = yield* widerThan({ selector: before, limits: readLimits(storedObject) }, compared);
      if (message !== null) faults.push(faultOf(message, restoredLimits(object, storedObject)));
    }
    for (const replaced of [...after.replaces].flatMap((name) => inventory.of(SELECTORS).get(name) ?? [])) {
      const message = yield* widerThan({ selector: replaced, limits: replaced.extras }, compared);
      if (message === null) continue;
      const than = `${message} than with IAMRoleSelector ${printable(replaced.name)}, which this one replaces`;
      faults.push(faultOf(than, copiedLimits(object, replaced)));
    }
    return faults;
  },
};

const PATH = ["metadata", "annotations"] as const;
const WAIVE = "or, if the sessions must do more, set the annotation ack-role-resolver.io/allow: IRS-57 as a user of "
  + "--waiver-users";

function faultOf(message: string, repairs: readonly Repair[]): Fault {
  const restore = describeRepairs(repairs, PATH);
  return { path: PATH, message, repairs, ...(restore !== null && { fix: `${restore}; ${WAIVE}` }) };
}

interface Compared {
  readonly inventory: Inventory;
  readonly limits: SessionLimits;
  readonly byDefault: ScopeName;
}

interface Limited {
  readonly selector: EffectiveSelector;
  readonly limits: SessionLimits;
}

/** Returns what sessions could do more than those of the selector, if it selects any resource. */
function* widerThan(
  { selector, limits: before }: Limited, { inventory, limits, byDefault }: Compared,
): Paced<string | null> {
  const wider = widenings(before, limits, byDefault);
  if (wider.length === 0) return null;
  const step = { name: selector.name, before: null, after: selector };
  const isUnused = yield* transitionsOfSelector(inventory, step, () => false);
  return isUnused ? null : `the sessions of selected resources could do more (${wider.join(", and ")})`;
}

function restoredLimits(object: JsonObject, stored: JsonObject): readonly Repair[] {
  return limitRepairs(object, (name) => annotationAt(stored, name));
}

function copiedLimits(object: JsonObject, { extras }: EffectiveSelector): readonly Repair[] {
  return limitRepairs(object, (name) => annotationOf(name, extras));
}

function limitRepairs(object: JsonObject, valueOf: (name: string) => string | null): readonly Repair[] {
  const edits = LIMITS.filter((name) => annotationAt(object, name) !== valueOf(name)).map((name) => {
    const [path, value] = [annotationPath(name), valueOf(name)];
    return value === null ? remove(path) : set(path, value);
  });
  return by(...edits);
}
