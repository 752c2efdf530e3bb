import type { FieldPath } from "../../kubernetes/field-path.ts";
import type { WrittenLabelSelector, WrittenSelector } from "../../selectors/iamroleselector.ts";
import type { Fault, SelectorCheck } from "../check.ts";

interface Part {
  readonly path: FieldPath;
  readonly written: boolean;
  readonly empty: boolean;
}

function parts({ namespaceSelector, resourceTypeSelector, resourceLabelSelector }: WrittenSelector): readonly Part[] {
  const anyNamespace = (namespaceSelector?.names ?? []).length === 0 && isEmpty(namespaceSelector?.labelSelector ?? null);
  return [
    { path: ["spec", "namespaceSelector"], written: namespaceSelector !== null, empty: anyNamespace },
    { path: ["spec", "resourceTypeSelector"], written: resourceTypeSelector !== null, empty: (resourceTypeSelector ?? []).length === 0 },
    { path: ["spec", "resourceLabelSelector"], written: resourceLabelSelector !== null, empty: isEmpty(resourceLabelSelector) },
  ];
}

/** Expressions count even where controllers drop them: IRS-35 speaks of those. */
function isEmpty(selector: WrittenLabelSelector | null): boolean {
  return selector === null || (selector.matchLabels.size === 0 && selector.matchExpressions.length === 0);
}

export const IRS_15: SelectorCheck = {
  id: "IRS-15",
  severity: "deny",
  waivable: true,
  reason: "A selector without any restriction puts every resource of every namespace into one account; usually something was pruned.",
  fix: "restrict it with namespaceSelector, resourceTypeSelector or resourceLabelSelector",
  example: "spec: {arn: 'arn:aws:iam::111122223333:role/everything'}",
  ofWhole: true,
  *find({ written }): Iterable<Fault> {
    if (parts(written).every((part) => part.empty)) {
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
  ofWhole: true,
  *find({ written }): Iterable<Fault> {
    const all = parts(written);
    if (all.every((part) => part.empty)) return;
    for (const part of all) {
      if (part.written && part.empty) yield { path: part.path, message: "the part is written but empty, so it holds for everything" };
    }
  },
};
