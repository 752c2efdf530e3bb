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

type TextFault = Omit<Fault, "path">;

/** Finds more faults of a valid text, for example by comparing it with a setting. */
type More<S> = (value: string, subject: S) => Iterable<TextFault>;

/**
 * Returns the check of a rule. An unchanged text is never denied: the key of a fault is the text and not the message.
 */
export function checkOf<S extends Subject>(rule: FieldRule, more: More<S> = () => NONE): FieldRule & QuickCheck<S> {
  return {
    ...rule,
    *find(subject): Iterable<Fault> {
      const judge: Judge = (value) => textFaults(rule, value, (valid) => more(valid, subject));
      for (const at of rule.at) {
        if (at.at(-1) === "*") yield* itemFaults(subject.object, at.slice(0, -1), judge);
        else for (const fault of judge(valueAt(subject.object, at))) yield { path: at, ...fault };
      }
    },
  };
}

/** Returns the faults of the value of a field. */
type Judge = (value: unknown) => Iterable<TextFault>;

function* itemFaults(object: JsonObject, at: FieldPath, judge: Judge): Iterable<Fault> {
  const list = valueAt(object, at);
  if (!Array.isArray(list)) return;
  for (const [i, item] of list.entries()) for (const fault of judge(item)) yield { path: [...at, i], ...fault };
}

function textFaults(
  { type, within, missing, says, eachFault, dropsSelector }: FieldRule, value: unknown,
  more: (valid: string) => Iterable<TextFault>,
): Iterable<TextFault> {
  const drops = dropsSelector === true && { dropsSelector };
  if (typeof value !== "string") return missing === undefined ? NONE : [{ message: missing, ...drops }];
  if (within !== undefined && within.faults(value).length > 0) return NONE;
  const faults = type.faults(value);
  if (faults.length === 0) return more(value);
  const texts = eachFault === true ? faults : [faults.join("; ")];
  return texts.map((fault) => ({ message: says(quote(value), fault), value, ...drops }));
}

const NONE: readonly TextFault[] = [];
