import { type FieldPath, type JsonObject, valueAt } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import type { CheckEntry, Fault, QuickCheck } from "./check.ts";
import type { ValueType } from "./value-types.ts";

/** A rule about the text of one field. The check and the part of an admission policy come from the same row. */
export interface FieldRule extends CheckEntry {
  /** The fields. The last step `*` stands for each item of a list. */
  readonly at: readonly FieldPath[];
  readonly type: ValueType;
  /** Judges only texts of this type, so that one mistake has one code. Default: every text. */
  readonly within?: ValueType;
  /** The message for a missing text. Default: a missing text is valid. */
  readonly missing?: string;
  /** Returns the message for a quoted text and its faults. A message of a confidential text does not quote it. */
  readonly says: (value: string, faults: string) => string;
  /** Whether each fault of a text is reported alone. Default: `says` receives all faults. */
  readonly eachFault?: true;
  /** The message of a policy, which cannot quote the text. */
  readonly policySays: string;
  readonly dropsSelector?: true;
}

interface Subject {
  readonly object: JsonObject;
}

/** Finds more faults of a valid text, for example by comparing it with a setting. */
type More<S> = (value: string, subject: S) => Iterable<Omit<Fault, "path">>;

const NO_MORE = (): readonly [] => [];

/**
 * Returns the check of a rule. An unchanged text is never denied: the key of a fault is the text and not the message.
 */
export function checkOf<S extends Subject>(rule: FieldRule, more: More<S> = NO_MORE): FieldRule & QuickCheck<S> {
  return {
    ...rule,
    *find(subject): Iterable<Fault> {
      for (const at of rule.at) {
        for (const [path, value] of fieldsAt(subject.object, at)) {
          for (const fault of textFaults(rule, value, (valid) => more(valid, subject))) yield { path, ...fault };
        }
      }
    },
  };
}

function fieldsAt(object: JsonObject, path: FieldPath): readonly (readonly [FieldPath, unknown])[] {
  if (path.at(-1) !== "*") return [[path, valueAt(object, path)]];
  const parent = path.slice(0, -1);
  const list = valueAt(object, parent);
  return Array.isArray(list) ? list.map((item: unknown, i) => [[...parent, i], item]) : [];
}

function* textFaults(
  { type, within, missing, says, eachFault, dropsSelector }: FieldRule, value: unknown,
  more: (valid: string) => Iterable<Omit<Fault, "path">>,
): Iterable<Omit<Fault, "path">> {
  const drops = dropsSelector === true && { dropsSelector };
  if (typeof value !== "string") {
    if (missing !== undefined) yield { message: missing, ...drops };
    return;
  }
  if (within !== undefined && within.faults(value).length > 0) return;
  const faults = type.faults(value);
  for (const fault of eachFault === true || faults.length === 0 ? faults : [faults.join("; ")]) {
    yield { message: says(quote(value), fault), value, ...drops };
  }
  if (faults.length === 0) yield* more(value);
}
