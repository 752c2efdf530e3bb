import { annotationPath, type FieldPath, isSame, type JsonObject } from "../formats/json.ts";
import type { LabelSelectorSpec } from "../formats/label-selector.ts";
import { namespaceNameFaults } from "../formats/names.ts";
import type { SelectorSpec } from "../core/iamroleselector.ts";
import type { Fault } from "../core/check.ts";
import { by, remove, type Repair, set } from "../core/repair.ts";
import { SELECTOR_ANNOTATIONS } from "../core/annotation-keys.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { type Limit, LIMITS } from "../core/limits.ts";
import type { SelectorCheck } from "./selector.ts";

/** A field that can restrict a selector. */
interface Restriction {
  readonly path: FieldPath;
  /** What an empty field selects. */
  readonly everything: string;
  readonly isSet: (spec: SelectorSpec) => boolean;
  /** Whether the field is empty. An empty field matches everything. */
  readonly isEmpty: (spec: SelectorSpec) => boolean;
}

const RESTRICTIONS: readonly Restriction[] = [
  {
    path: ["spec", "namespaceSelector"],
    everything: "every namespace",
    isSet: ({ namespaceSelector }) => namespaceSelector !== null,
    isEmpty: ({ namespaceSelector }) => namespaceSelector === null
      || (namespaceSelector.names.length === 0 && isEmptyLabelSelector(namespaceSelector.labelSelector)),
  },
  {
    path: ["spec", "resourceTypeSelector"],
    everything: "every kind of resource",
    isSet: ({ resourceTypeSelector }) => resourceTypeSelector !== null,
    isEmpty: ({ resourceTypeSelector }) => resourceTypeSelector === null || resourceTypeSelector.length === 0,
  },
  {
    path: ["spec", "resourceLabelSelector"],
    everything: "resources with any labels",
    isSet: ({ resourceLabelSelector }) => resourceLabelSelector !== null,
    isEmpty: ({ resourceLabelSelector }) => isEmptyLabelSelector(resourceLabelSelector),
  },
];

/**
 * A label selector that has `matchExpressions` is not empty here, even if controllers drop the expressions: IRS-35
 * reports such expressions.
 */
function isEmptyLabelSelector(selector: LabelSelectorSpec | null): boolean {
  return selector === null || (selector.matchLabels.size === 0 && selector.matchExpressions.length === 0);
}

/**
 * Returns `, so the selector selects every namespace` if a field that is not stored was meant to restrict the selector,
 * and nothing else restricts it in this way; else "". `meant` are the paths of the fields that can be meant.
 */
export function effectOfDropped(meant: readonly FieldPath[], spec: SelectorSpec): string {
  const [only, ...others] = RESTRICTIONS.filter(({ path }) => meant.some((one) => isSame(one.slice(0, 2), path)));
  const isOne = only !== undefined && others.length === 0;
  return isOne && only.isEmpty(spec) ? `, so the selector selects ${only.everything}` : "";
}

export const IRS_15: SelectorCheck = {
  id: "IRS-15",
  severity: "deny",
  waivable: true,
  reason: "A selector that has no restriction moves every resource of every namespace into one account. "
    + "A common cause is that the API server pruned a field of the selector. The check only warns about an empty field "
    + "beside another restriction: it matches everything, which is rarely intended.",
  fix: "restrict the selector with namespaceSelector, resourceTypeSelector or resourceLabelSelector",
  example: "spec: {arn: 'arn:aws:iam::111122223333:role/everything'}",
  find({ spec }): readonly Fault[] {
    const empty = RESTRICTIONS.filter(({ isEmpty }) => isEmpty(spec));
    if (empty.length === RESTRICTIONS.length) {
      const message = "the selector selects every resource in every namespace";
      return [{ path: ["spec"], message, fix: IRS_15.fix, repairs: ownNamespace(spec) }];
    }
    const message = "the field is empty, so it matches everything";
    const fix = "set or remove the field";
    return empty.filter(({ isSet }) => isSet(spec))
      .map(({ path }) => ({ path, message, fix, repairs: by(remove(path)), severity: "warn" }));
  },
};

/** Returns the repair that restricts a selector to the namespace of its name, as most selectors of one are named. */
function ownNamespace({ name }: SelectorSpec): readonly Repair[] {
  if (namespaceNameFaults(name).length > 0) return [];
  const edits = [set(["spec", "namespaceSelector"], { names: [name] })];
  return [{ when: `if namespace ${name} is meant`, edits }];
}

export const IRS_48: SelectorCheck = {
  id: "IRS-48",
  severity: "deny",
  fixed: true,
  reason: "A very large selector delays the webhook, the sidecars and the controllers. No other check runs on such a "
    + "selector, and the sidecar does not grant its role.",
  fix: "split the selector into several selectors, or select by label instead of by name",
  example: "spec: {namespaceSelector: {names: [team-0001, team-0002]}} # and so on, up to team-1001",
  ofChange: true,
  find({ object, spec, excess, isAnnotated }): readonly Fault[] {
    if (excess !== null) return [{ ...excess }];
    const faults: Fault[] = [];
    for (const { path, limit, sizeOf } of SIZES) {
      const size = sizeOf(spec);
      if (size > limit.value) faults.push({ path, message: tooMany(size, limit) });
    }
    return isAnnotated ? [...faults, ...longAnnotations(object)] : faults;
  },
};

function* longAnnotations(object: JsonObject): Iterable<Fault> {
  const limit = LIMITS.annotationCharacters;
  for (const key of SELECTOR_ANNOTATIONS) {
    const { length } = annotationAt(object, key) ?? "";
    if (length > limit.value) yield { path: annotationPath(key), message: tooMany(length, limit) };
  }
}

function tooMany(size: number, { value, unit }: Limit): string {
  return `${size} ${unit} exceed the limit of ${value}`;
}

interface Size {
  readonly path: FieldPath;
  readonly limit: Limit;
  readonly sizeOf: (spec: SelectorSpec) => number;
}

const SIZES: readonly Size[] = [
  {
    path: ["spec", "namespaceSelector", "names"], limit: LIMITS.selectorNamespaces,
    sizeOf: ({ namespaceSelector }) => namespaceSelector?.names.length ?? 0,
  },
  {
    path: ["spec", "resourceTypeSelector"], limit: LIMITS.selectorTypes,
    sizeOf: ({ resourceTypeSelector }) => resourceTypeSelector?.length ?? 0,
  },
  ...labelSizes(["spec", "namespaceSelector", "labelSelector"], (spec) => spec.namespaceSelector?.labelSelector),
  ...labelSizes(["spec", "resourceLabelSelector"], (spec) => spec.resourceLabelSelector),
];

function labelSizes(
  path: FieldPath, selectorOf: (spec: SelectorSpec) => LabelSelectorSpec | null | undefined,
): readonly Size[] {
  const limit = LIMITS.selectorLabels;
  return [
    { path: [...path, "matchLabels"], limit, sizeOf: (spec) => selectorOf(spec)?.matchLabels.size ?? 0 },
    { path: [...path, "matchExpressions"], limit, sizeOf: (spec) => selectorOf(spec)?.matchExpressions.length ?? 0 },
  ];
}
