import { type FieldPath, type JsonObject, valueAt } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import type { CheckEntry, Fault, QuickCheck } from "./check.ts";
import type { Repair } from "./repair.ts";
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
  /** Returns the repairs of a text at the path in the object. Default: only a person can know what is meant. */
  readonly repairs?: (value: string, path: FieldPath, object: JsonObject) => readonly Repair[];
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
  const fields = rule.at.map((at) => ({ at, list: at.at(-1) === "*" ? at.slice(0, -1) : null }));
  const faultsOf = textFaults(rule, more);
  const located = locator(rule);
  // Most texts have no fault, so a list costs less than a generator.
  const find = (subject: S): readonly Fault[] => {
    const found: Fault[] = [];
    for (const { at, list } of fields) {
      const value = valueAt(subject.object, list ?? at);
      if (list === null) for (const fault of faultsOf(value, subject)) found.push(located(fault, at, subject));
      else if (Array.isArray(value)) {
        value.forEach((item, i) => {
          for (const fault of faultsOf(item, subject)) found.push(located(fault, [...list, i], subject));
        });
      }
    }
    return found;
  };
  return { ...rule, find };
}

/** Returns a function that adds the path and the repairs of a fault. The faults of `more` have their own repairs. */
function locator({ repairs }: FieldRule): (fault: TextFault, path: FieldPath, subject: Subject) => Fault {
  return (fault, path, { object }) => (
    repairs === undefined || fault.value === undefined
      ? { path, ...fault }
      : { path, ...fault, repairs: repairs(fault.value, path, object) }
  );
}

/**
 * Returns a function that returns the faults of the value of a field. Reads the rule only once: hardly two rules have
 * the same fields, so that V8 needs ten times as long to read one.
 */
function textFaults<S extends Subject>(
  { type, within, missing, says, eachFault, dropsSelector }: FieldRule, more: More<S>,
): (value: unknown, subject: S) => Iterable<TextFault> {
  const drops = dropsSelector === true && { dropsSelector };
  return (value, subject) => {
    if (typeof value !== "string") return missing === undefined ? NONE : [{ message: missing, ...drops }];
    if (within !== undefined && within.faults(value).length > 0) return NONE;
    const faults = type.faults(value);
    if (faults.length === 0) return more(value, subject);
    const texts = eachFault === true ? faults : [faults.join("; ")];
    return texts.map((fault) => ({ message: says(quote(value), fault), value, ...drops }));
  };
}

const NONE: readonly never[] = [];
