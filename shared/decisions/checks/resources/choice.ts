import { USE_SELECTOR_ANNOTATION } from "../../annotation-keys.ts";
import type { DecisionSettings } from "../../context.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { CHOICE_PATH } from "../role-cause.ts";
import type { ResourceChange } from "./change.ts";

export const ACK_36: QuickCheck<ResourceChange> = {
  id: "ACK-36",
  severity: "warn",
  waivable: false,
  reason: `The annotation \`${USE_SELECTOR_ANNOTATION}\` of a resource or a namespace requires \`--runtime extended\`. `
    + "Shipped ACK controllers do not read the annotation, so all selectors that select the resource conflict.",
  fix: "remove it and restrict the selectors, or set --runtime extended if every controller supports it",
  example: `metadata: {annotations: {${USE_SELECTOR_ANNOTATION}: gold}} # with --runtime ack`,
  find: ({ resource, settings }) => ignoredChoiceFaults(resource, settings),
};

/** Yields a fault if the object has the annotation `use-selector`, but the annotation has no effect. */
export function* ignoredChoiceFaults(
  { annotations }: { readonly annotations: ReadonlyMap<string, string> },
  { mode, runtime }: DecisionSettings,
): Iterable<Fault> {
  if (!annotations.has(USE_SELECTOR_ANNOTATION)) return;
  if (mode === "carm") {
    const fix = "remove the annotation, or switch the controllers and --mode to selectors";
    yield { path: CHOICE_PATH, message: "the annotation has no effect with --mode carm", fix };
  } else if (runtime === "ack") {
    yield { path: CHOICE_PATH, message: "the annotation has no effect with --runtime ack" };
  }
}
