import type { ACKResource } from "../core/ack-resource.ts";
import { USE_SELECTOR_ANNOTATION } from "../core/annotation-keys.ts";
import type { DecisionSettings } from "../core/context.ts";
import { by, type Edit, remove, restoreEntries, set } from "../core/repair.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import { type Choice, choiceOf } from "./selection.ts";
import type { CheckContext, Fault, QuickCheck } from "../core/check.ts";

// The fields of a resource and of its namespace that determine its role: the labels and the annotation `use-selector`.

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

const LABEL_INPUTS = "the labels that selectors match";
const CHOICE = `the annotation ${USE_SELECTOR_ANNOTATION}`;

/** Returns the cause if the labels or the annotation `use-selector` change, or else null. */
export function roleCause(isRelabeled: boolean, isRechosen: boolean): RoleCause | null {
  if (isRelabeled && isRechosen) {
    const inputs = `${LABEL_INPUTS} and ${CHOICE}`;
    return { subject: "the new labels and annotations", path: ["metadata"], inputs, isRechosen };
  }
  if (isRechosen) return { subject: "the new annotations", path: CHOICE_PATH, inputs: CHOICE, isRechosen };
  if (!isRelabeled) return null;
  return { subject: "the new labels", path: ["metadata", "labels"], inputs: LABEL_INPUTS, isRechosen };
}

type Inputs = Pick<ACKResource, "labels" | "annotations">;

/** Returns the edits that restore the labels and the annotation `use-selector` of a resource or namespace. */
export function restoredRoleInputs(before: Inputs, after: Inputs): readonly Edit[] {
  const [old, current] = [before, after].map(({ annotations }) => annotations.get(USE_SELECTOR_ANNOTATION));
  const labels = restoreEntries(["metadata", "labels"], before.labels, after.labels);
  return old === current ? labels : [...labels, set(CHOICE_PATH, old)];
}

export const ACK_36: QuickCheck<Pick<CheckContext, "settings"> & { readonly resource: ACKResource }> = {
  id: "ACK-36",
  severity: "warn",
  reason: `The annotation \`${USE_SELECTOR_ANNOTATION}\` of a resource or a namespace requires \`--runtime extended\`. `
    + "Shipped ACK controllers do not read the annotation, so all selectors that select the resource conflict.",
  fix: "remove it and restrict the selectors, or set --runtime extended if every controller supports it",
  example: `metadata: {annotations: {${USE_SELECTOR_ANNOTATION}: gold}} # with --runtime ack`,
  when: ({ resource }) => resource.annotations.has(USE_SELECTOR_ANNOTATION),
  find: ({ settings }) => ignoredChoiceFaults(settings),
};

/** Yields a fault if the annotation `use-selector` of an object has no effect. */
export function* ignoredChoiceFaults({ mode, runtime }: DecisionSettings): Iterable<Fault> {
  if (mode !== "selectors") {
    const fix = "remove the annotation, or switch the controllers and --mode to selectors";
    const message = "the annotation has no effect with --mode carm";
    yield { path: CHOICE_PATH, message, fix, repairs: by(remove(CHOICE_PATH)) };
  } else if (runtime === "ack") {
    const message = "the annotation has no effect with --runtime ack";
    yield { path: CHOICE_PATH, message, fix: ACK_36.fix, repairs: by(remove(CHOICE_PATH)) };
  }
}

/**
 * Returns the selector that the annotation `use-selector` of the resource or its namespace names; null if no such
 * annotation has an effect.
 */
export function choiceFor(
  { inventory, settings }: CheckContext, resource: Pick<ACKResource, "namespace" | "annotations">,
): Choice | null {
  return settings.mode !== "selectors" ? null : choiceOf(inventory, resource);
}
