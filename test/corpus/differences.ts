import type { Case } from "./case.ts";
import { isObject } from "./generate/json.ts";

/** All cases whose answers differ in the same way. */
export interface Difference {
  /** For example `ACK-05 warn gone`. */
  readonly cause: string;
  readonly ids: readonly string[];
}

export interface CompareOptions {
  /** Whether texts for people are compared too. Default: false. */
  readonly messages?: boolean;
}

/** Returns the differences between two records, the most frequent ones first. */
export function differences(
  before: readonly Case[], after: readonly Case[], { messages = false }: CompareOptions = {},
): readonly Difference[] {
  const groups = new Map<string, string[]>();
  const add = (cause: string, id: string): void => {
    const ids = groups.get(cause);
    if (ids === undefined) groups.set(cause, [id]);
    else if (ids.at(-1) !== id) ids.push(id);
  };
  const old = new Map(before.map((one) => [one.id, one]));
  for (const one of after) {
    const stored = old.get(one.id);
    old.delete(one.id);
    for (const cause of stored === undefined ? ["new case"] : causesOf(stored, one, messages)) add(cause, one.id);
  }
  for (const id of old.keys()) add("case gone", id);
  return Array.from(groups, ([cause, ids]) => ({ cause, ids })).toSorted((a, b) => b.ids.length - a.ids.length);
}

function causesOf(before: Case, after: Case, messages: boolean): string[] {
  if (before.input !== after.input) return ["the input differs: the corpus or a fixture has changed"];
  const causes = [
    ...scalarCauses("outcome", before.outcome, after.outcome), ...scalarCauses("status", before.status, after.status),
    ...findingCauses(before.findings ?? [], after.findings ?? []), ...patchCauses(before, after),
    ...valueCauses("resolution", before.resolution, after.resolution),
    ...valueCauses("grant", before.grant, after.grant),
    ...valueCauses("output", before.output, after.output),
  ];
  if (messages) return [...causes, ...listCauses("message", before.messages ?? [], after.messages ?? [])];
  // A different number of warnings that findings explain is not a cause of its own.
  return causes.length > 0 ? causes : scalarCauses("number of warnings", before.warnings, after.warnings);
}

function scalarCauses(name: string, before: unknown, after: unknown): string[] {
  return before === after ? [] : [`${name}: ${shown(before)} -> ${shown(after)}`];
}

/** `CODE SEVERITY PATH...` */
function findingCauses(before: readonly string[], after: readonly string[]): string[] {
  const [gone, added] = [without(before, after), without(after, before)];
  const causes: string[] = [];
  for (const finding of gone) {
    const [code, severity] = finding.split(" ");
    const index = added.findIndex((one) => one.startsWith(`${code} `));
    const [other] = index < 0 ? [] : added.splice(index, 1);
    if (other === undefined) causes.push(`${code} ${severity} gone`);
    else if (other.split(" ")[1] === severity) causes.push(`${code} ${severity} at another place`);
    else causes.push(`${code} ${severity} -> ${other.split(" ")[1]}`);
  }
  return [...causes, ...added.map((one) => `${one.split(" ").slice(0, 2).join(" ")} new`)];
}

function patchCauses({ patch: before = [] }: Case, { patch: after = [] }: Case): string[] {
  const values = (patch: typeof before): Record<string, unknown> => Object.fromEntries(patch.flatMap(operationParts));
  return valueCauses("patch", values(before), values(after));
}

/** Returns the keys that an operation sets, because the same annotations can be added one by one or together. */
function operationParts({ op, path, value }: Readonly<Record<string, unknown>>): [string, unknown][] {
  if (
    !isObject(value) || op !== "add" || !String(path).startsWith("/metadata/")
  ) return [[`${String(op)} ${String(path)}`, value]];
  return Object.entries(value).map(([key, one]) => [`add ${String(path)}/${key.replaceAll("/", "~1")}`, one]);
}

/** Returns the places at which two JSON values differ. Lists are compared without their order. */
function valueCauses(place: string, before: unknown, after: unknown): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return listCauses(place, before, after);
  if (!isObject(before) || !isObject(after)) return [leafCause(place, before, after)];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const causes = keys.flatMap((key) => valueCauses(`${place}.${key}`, before[key], after[key]));
  return causes.length > 0 ? causes : [`${place}: another order of the fields`];
}

function leafCause(place: string, before: unknown, after: unknown): string {
  if (before === undefined) return `${place} new`;
  if (after === undefined) return `${place} gone`;
  // Counts differ in every case, so their values are not part of the cause.
  const areCounts = typeof before === "number" && typeof after === "number";
  if (areCounts) return `${place} ${before < after ? "larger" : "smaller"}`;
  return `${place}: ${shown(before)} -> ${shown(after)}`;
}

function listCauses(place: string, before: readonly unknown[], after: readonly unknown[]): string[] {
  const texts = (list: readonly unknown[]): string[] => list.map((one) => JSON.stringify(one));
  const [gone, added] = [without(texts(before), texts(after)), without(texts(after), texts(before))];
  if (gone.length === 0 && added.length === 0) return [`${place}: another order`];
  const causes = gone.slice(0, added.length).flatMap((one, i) => (
    valueCauses(`${place}[]`, JSON.parse(one), JSON.parse(added[i] ?? "null"))
  ));
  const count = added.length - gone.length;
  return count === 0 ? causes : [...causes, `${place}: ${count < 0 ? "fewer" : "more"} entries`];
}

/** Returns the items of a list without those of another, each as often as it occurs there. */
function without(list: readonly string[], other: readonly string[]): string[] {
  const rest = [...other];
  return list.filter((one) => {
    const index = rest.indexOf(one);
    if (index >= 0) rest.splice(index, 1);
    return index < 0;
  });
}

const MAX_SHOWN = 100;

/** Returns the value in the text of a cause. Values that differ in every case would put each case in its own group. */
function shown(value: unknown): string {
  if (value === undefined) return "none";
  const text = (typeof value === "string" ? value : JSON.stringify(value)).replaceAll(/\s+/g, " ");
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

const EXAMPLES = 3;

/** Returns the differences as lines: the number of cases, the cause, and three examples of each. */
export function differenceLines(found: readonly Difference[]): string[] {
  return found.flatMap(({ cause, ids }) => [
    `${String(ids.length).padStart(5)}  ${cause}`, ...ids.slice(0, EXAMPLES).map((id) => `         ${id}`),
  ]);
}
