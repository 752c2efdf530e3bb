import type { FieldPath } from "../formats/json.ts";
import type { LabelSelectorSpec } from "../formats/label-selector.ts";
import type { SelectorSpec } from "../model/iamroleselector.ts";
import type { Fault, SelectorCheck } from "./check.ts";

/** One of the three fields that can restrict a selector. */
interface Restriction {
  readonly path: FieldPath;
  readonly isSet: boolean;
  /** Whether the field is empty. An empty field matches everything. */
  readonly isEmpty: boolean;
}

function restrictionsOf(
  { namespaceSelector, resourceTypeSelector, resourceLabelSelector }: SelectorSpec,
): readonly Restriction[] {
  const { names = [], labelSelector = null } = namespaceSelector ?? {};
  return [
    {
      path: ["spec", "namespaceSelector"],
      isSet: namespaceSelector !== null,
      isEmpty: names.length === 0 && isEmptyLabelSelector(labelSelector),
    },
    {
      path: ["spec", "resourceTypeSelector"],
      isSet: resourceTypeSelector !== null,
      isEmpty: (resourceTypeSelector ?? []).length === 0,
    },
    {
      path: ["spec", "resourceLabelSelector"],
      isSet: resourceLabelSelector !== null,
      isEmpty: isEmptyLabelSelector(resourceLabelSelector),
    },
  ];
}

/**
 * A label selector that has `matchExpressions` is not empty here, even if controllers drop the expressions: IRS-35
 * reports such expressions.
 */
function isEmptyLabelSelector(selector: LabelSelectorSpec | null): boolean {
  return selector === null || (selector.matchLabels.size === 0 && selector.matchExpressions.length === 0);
}

export const IRS_15: SelectorCheck = {
  id: "IRS-15",
  severity: "deny",
  waivable: true,
  reason: "A selector that has no restriction moves every resource of every namespace into one account. "
    + "A common cause is that the API server pruned a field of the selector.",
  fix: "restrict the selector with namespaceSelector, resourceTypeSelector or resourceLabelSelector",
  example: "spec: {arn: 'arn:aws:iam::111122223333:role/everything'}",
  *find({ spec }): Iterable<Fault> {
    if (restrictionsOf(spec).every(({ isEmpty }) => isEmpty)) {
      yield { path: ["spec"], message: "the selector selects every resource in every namespace" };
    }
  },
};

export const IRS_15B: SelectorCheck = {
  id: "IRS-15b",
  severity: "warn",
  waivable: false,
  reason: "An empty field matches everything, which is rarely intended.",
  fix: "set or remove the field",
  example: "spec: {namespaceSelector: {names: []}, resourceTypeSelector: [{group: s3.services.k8s.aws}]}",
  *find({ spec }): Iterable<Fault> {
    const restrictions = restrictionsOf(spec);
    if (restrictions.every(({ isEmpty }) => isEmpty)) return;
    for (const { path, isSet, isEmpty } of restrictions) {
      if (isSet && isEmpty) yield { path, message: "the field is empty, so it matches everything" };
    }
  },
};
