import { SELECTOR_ANNOTATIONS } from "../contract/annotation-keys.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { type Limit, LIMITS } from "../contract/limits.ts";
import type { LabelSelectorSpec } from "../formats/label-selector.ts";
import type { SelectorSpec } from "../model/iamroleselector.ts";
import type { Fault, SelectorCheck } from "./check.ts";

export const IRS_48: SelectorCheck = {
  id: "IRS-48",
  severity: "deny",
  waivable: false,
  fixed: true,
  reason: "A very large selector delays the webhook, the sidecars and the controllers. No other check runs on such a "
    + "selector, and the sidecar does not grant its role.",
  fix: "split the selector into several selectors, or select by label instead of by name",
  example: "spec: {namespaceSelector: {names: [team-0001, team-0002]}} # and so on, up to team-1001",
  ofChange: true,
  *find({ object, spec, excess }): Iterable<Fault> {
    if (excess !== null) {
      yield { ...excess };
      return;
    }
    for (const { path, size, limit } of sizesOf(spec)) {
      if (size > limit.value) yield { path, message: tooMany(size, limit) };
    }
    const limit = LIMITS.annotationCharacters;
    for (const key of SELECTOR_ANNOTATIONS) {
      const { length } = annotationAt(object, key) ?? "";
      if (length > limit.value) yield { path: annotationPath(key), message: tooMany(length, limit) };
    }
  },
};

function tooMany(size: number, { value, unit }: Limit): string {
  return `${size} ${unit} exceed the limit of ${value}`;
}

interface Size {
  readonly path: FieldPath;
  readonly size: number;
  readonly limit: Limit;
}

function* sizesOf({ namespaceSelector, resourceTypeSelector, resourceLabelSelector }: SelectorSpec): Iterable<Size> {
  yield {
    path: ["spec", "namespaceSelector", "names"],
    size: namespaceSelector?.names.length ?? 0,
    limit: LIMITS.selectorNamespaces,
  };
  const types = resourceTypeSelector?.length ?? 0;
  yield { path: ["spec", "resourceTypeSelector"], size: types, limit: LIMITS.selectorTypes };
  yield* labelSizes(["spec", "namespaceSelector", "labelSelector"], namespaceSelector?.labelSelector ?? null);
  yield* labelSizes(["spec", "resourceLabelSelector"], resourceLabelSelector);
}

function* labelSizes(path: FieldPath, selector: LabelSelectorSpec | null): Iterable<Size> {
  if (selector === null) return;
  const limit = LIMITS.selectorLabels;
  yield { path: [...path, "matchLabels"], size: selector.matchLabels.size, limit };
  yield { path: [...path, "matchExpressions"], size: selector.matchExpressions.length, limit };
}
