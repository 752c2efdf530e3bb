import { USE_SELECTOR_ANNOTATION } from "../contract/annotation-keys.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";

/** Describes, for messages, the changed fields of a resource or namespace that change a role. */
export interface RoleCause {
  /** A plural subject: `the new labels`. */
  readonly subject: string;
  readonly path: FieldPath;
  /** The changed fields, for a fix: `the labels that selectors match`. */
  readonly inputs: string;
  /** Whether the annotation `use-selector` changes. */
  readonly isRechosen: boolean;
}

export const CHOICE_PATH = annotationPath(USE_SELECTOR_ANNOTATION);

const LABELS = "the labels that selectors match";
const CHOICE = `the annotation ${USE_SELECTOR_ANNOTATION}`;

/** Returns the cause if the labels or the annotation `use-selector` change, or else null. */
export function roleCause(isRelabeled: boolean, isRechosen: boolean): RoleCause | null {
  if (isRelabeled && isRechosen) {
    const inputs = `${LABELS} and ${CHOICE}`;
    return { subject: "the new labels and annotations", path: ["metadata"], inputs, isRechosen };
  }
  if (isRechosen) return { subject: "the new annotations", path: CHOICE_PATH, inputs: CHOICE, isRechosen };
  return isRelabeled ? { subject: "the new labels", path: ["metadata", "labels"], inputs: LABELS, isRechosen } : null;
}

/** Returns whether the labels are equal. */
export function isSameLabels(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}
