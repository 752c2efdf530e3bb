import type { FieldPath } from "../../kubernetes/field-path.ts";
import type { LabelSelectorSpec, SelectorSpec } from "../../selectors/iamroleselector.ts";
import type { Fault, SelectorCheck } from "../check.ts";

interface Part {
  readonly path: FieldPath;
  readonly spec: boolean;
  readonly empty: boolean;
}

function parts({ namespaceSelector, resourceTypeSelector, resourceLabelSelector }: SelectorSpec): readonly Part[] {
  const anyNamespace = (namespaceSelector?.names ?? []).length === 0 && isEmpty(namespaceSelector?.labelSelector ?? null);
  return [
    { path: ["spec", "namespaceSelector"], spec: namespaceSelector !== null, empty: anyNamespace },
    { path: ["spec", "resourceTypeSelector"], spec: resourceTypeSelector !== null, empty: (resourceTypeSelector ?? []).length === 0 },
    { path: ["spec", "resourceLabelSelector"], spec: resourceLabelSelector !== null, empty: isEmpty(resourceLabelSelector) },
  ];
}

/** Expressions count even where controllers drop them: IRS-35 speaks of those. */
function isEmpty(selector: LabelSelectorSpec | null): boolean {
  return selector === null || (selector.matchLabels.size === 0 && selector.matchExpressions.length === 0);
}

export const IRS_15: SelectorCheck = {
  id: "IRS-15",
  severity: "deny",
  waivable: true,
  reason: "A selector without any restriction puts every resource of every namespace into one account; usually something was pruned.",
  fix: "restrict it with namespaceSelector, resourceTypeSelector or resourceLabelSelector",
  example: "spec: {arn: 'arn:aws:iam::111122223333:role/everything'}",
  *find({ spec }): Iterable<Fault> {
    if (parts(spec).every((part) => part.empty)) {
      yield { path: ["spec"], message: "the selector selects every resource in every namespace" };
    }
  },
};

export const IRS_15B: SelectorCheck = {
  id: "IRS-15b",
  severity: "warn",
  waivable: false,
  reason: "A part that is written out empty holds for everything, which is seldom what its author meant.",
  fix: "fill it, or leave it out",
  example: "spec: {namespaceSelector: {names: []}, resourceTypeSelector: [{group: s3.services.k8s.aws}]}",
  *find({ spec }): Iterable<Fault> {
    const all = parts(spec);
    if (all.every((part) => part.empty)) return;
    for (const part of all) {
      if (part.spec && part.empty) yield { path: part.path, message: "the part is written but empty, so it holds for everything" };
    }
  },
};
