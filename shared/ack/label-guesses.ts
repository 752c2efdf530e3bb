import type { LabelNames, NearLabel } from "../core/label-index.ts";
import { type Edit, oneOf, rename, type Repair, set, unsafe } from "../core/repair.ts";
import type { FieldPath } from "../formats/json.ts";
import type { LabelRequirementSpec } from "../formats/label-selector.ts";
import { printable, quote } from "../formats/text.ts";

type Label = readonly [key: string, value: string];

/** A label selector and its path, as a manifest writes it or as a controller reads it. */
type LocatedLabels = readonly [path: FieldPath, selector: {
  readonly matchLabels: Iterable<Label>;
  readonly matchExpressions: readonly LabelRequirementSpec[];
}];

/** A name that a label selector probably means. */
interface MeantName {
  readonly value: string;
  /** The labels that the selector then requires one of. */
  readonly labels: readonly Label[];
  /** None if no object has one of the labels, or if the name is there already. */
  readonly edits: readonly Edit[];
}

/** A key or a value in a label selector that no object has, but a similar one. */
export interface LabelGuess {
  /** The label or the expression. */
  readonly condition: FieldPath;
  /** The field that contains the name. */
  readonly path: FieldPath;
  readonly written: string;
  /** The label as a text, such as `env: "production"`. */
  readonly label: string;
  /** Whether it is surely a misspelling of what is meant. */
  readonly isSure: boolean;
  readonly meant: readonly MeantName[];
}

/** The number of keys, values or names of one selector for which a similar one is searched. More take long. */
export const MAX_SEARCHED = 20;

/** Yields what a label selector probably means by each of the first 20 keys and values that no object has. */
export function* labelGuesses([path, selector]: LocatedLabels, labels: LabelNames): Iterable<LabelGuess> {
  const { matchLabels, matchExpressions } = selector;
  const names = searchedFew(labels);
  const pairs = new Map(matchLabels);
  for (const [key, value] of pairs) yield* pairGuess([...path, "matchLabels", { key }], [key, value], { pairs, names });
  for (const [i, expression] of matchExpressions.entries()) {
    const requires = expression.operator === "In" || expression.operator === "Exists";
    if (requires) yield* expressionGuesses([...path, "matchExpressions", i], expression, names);
  }
}

/** Returns labels that find something similar to the first keys and values only. */
function searchedFew(labels: LabelNames): LabelNames {
  let searched = 0;
  return {
    count: (key, value) => labels.count(key, value),
    nearest: (key, value) => {
      if (searched === MAX_SEARCHED) return NOTHING;
      const near = labels.nearest(key, value);
      const exists = near.part === "value" && (value === null || labels.count(key, value) > 0);
      if (!exists) searched += 1;
      return near;
    },
  };
}

/** Returns what is wrong, after the start `no namespace has`. */
export function guessText(start: string, { label, meant }: LabelGuess): string {
  return `${start} the label ${label}; perhaps ${meant.map(({ value }) => printable(value)).join(" or ")} was meant`;
}

/** Returns the repairs that write what is meant. */
export function guessRepairs({ meant, isSure }: LabelGuess): readonly Repair[] {
  const repairs = oneOf(meant.filter(({ edits }) => edits.length > 0));
  return isSure ? repairs : unsafe(repairs);
}

function* pairGuess(
  condition: FieldPath, [key, value]: Label,
  { pairs, names }: { readonly pairs: ReadonlyMap<string, string>; readonly names: LabelNames },
): Iterable<LabelGuess> {
  const near = names.nearest(key, value);
  const meant = near.names.map((name): MeantName => {
    if (near.part === "value") return { value: name, labels: [[key, name]], edits: [set(condition, name)] };
    const isUsable = names.count(name, value) > 0 && !pairs.has(name);
    return { value: name, labels: [[name, value]], edits: isUsable ? rename(condition, { key: name }, value) : NONE };
  });
  const written = near.part === "key" ? key : value;
  yield* guess({ condition, path: condition, written, label: labelText(key, value), isSure: near.isSure, meant });
}

function* expressionGuesses(
  condition: FieldPath, { key, operator, values }: LabelRequirementSpec, names: LabelNames,
): Iterable<LabelGuess> {
  const ofKey = names.nearest(key, null);
  if (ofKey.part === "key") {
    yield* keyGuess(condition, { key, operator, values }, { near: ofKey, names });
    return;
  }
  for (const [j, written] of (operator === "In" ? values : NONE).entries()) {
    const near = names.nearest(key, written);
    const path = [...condition, "values", j];
    // A value that is listed too is not meant by this one.
    const meant = near.names.filter((name) => !values.includes(name))
      .map((name): MeantName => ({ value: name, labels: [[key, name]], edits: [set(path, name)] }));
    yield* guess({ condition, path, written, label: labelText(key, written), isSure: near.isSure, meant });
  }
}

function* keyGuess(
  condition: FieldPath, { key, operator, values }: LabelRequirementSpec,
  { near, names }: { readonly near: NearLabel; readonly names: LabelNames },
): Iterable<LabelGuess> {
  const path = [...condition, "key"];
  const meant = near.names.map((name): MeantName => {
    const labels = values.map((value): Label => [name, value]);
    const isUsable = operator === "Exists" || labels.some((label) => names.count(...label) > 0);
    return { value: name, labels, edits: isUsable ? [set(path, name)] : NONE };
  });
  yield* guess({ condition, path, written: key, label: printable(key), isSure: near.isSure, meant });
}

function* guess(found: LabelGuess): Iterable<LabelGuess> {
  if (found.meant.length > 0) yield found;
}

function labelText(key: string, value: string): string {
  return `${printable(key)}: ${quote(value)}`;
}

const NONE: readonly never[] = [];
const NOTHING: NearLabel = { part: "value", names: NONE, isSure: false };
