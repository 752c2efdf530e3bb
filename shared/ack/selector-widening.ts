import type { ScanningCheck } from "../core/check.ts";
import {
  SESSION_POLICY_ANNOTATION, SESSION_POLICY_ARNS_ANNOTATION, SESSION_SCOPE_ANNOTATION,
} from "../core/annotation-keys.ts";
import { defaultScope } from "../core/closures.ts";
import { NEEDS } from "../core/requirements.ts";
import { by, remove, type Repair, set } from "../core/repair.ts";
import { widenings } from "../core/session-change.ts";
import { annotationPath, type JsonObject } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { transitionsOfSelector } from "./change-set.ts";
import { ACK_NEEDS } from "./requirements.ts";
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
  requires: [ACK_NEEDS.resources, NEEDS.storedObject],
  ofChange: true,
  *scan({ before, after, inventory, object, storedObject, settings }) {
    if (before === null || after === null || storedObject === null || settings.mode !== "selectors") return [];
    const wider = widenings(before.extras, after.extras, defaultScope(settings.injection.closures));
    if (wider.length === 0) return [];
    // Whether the scan visits any resource.
    const step = { name: before.name, before: null, after: before };
    const isUnused = yield* transitionsOfSelector(inventory, step, () => false);
    if (isUnused) return [];
    const message = `the sessions of resources that the selector selects could do more: ${wider.join(", and ")}`;
    return [{ path: ["metadata", "annotations"], message, repairs: restoredLimits(object, storedObject) }];
  },
};

function restoredLimits(object: JsonObject, stored: JsonObject): readonly Repair[] {
  const edits = LIMITS.filter((name) => annotationAt(object, name) !== annotationAt(stored, name)).map((name) => {
    const [path, value] = [annotationPath(name), annotationAt(stored, name)];
    return value === null ? remove(path) : set(path, value);
  });
  return by(...edits);
}
