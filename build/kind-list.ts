import { isACKGroup } from "../shared/core/ack-groups.ts";
import { compareText } from "../shared/formats/text.ts";
import type { KindList, KindsByGroup } from "../shared/ack/bundled-types.ts";
import type { TypeEntry } from "../shared/core/resource-types.ts";

/**
 * Returns the list with the types, which replace all kinds of their groups. Other groups stay, because a cluster has
 * the CustomResourceDefinitions of few controllers.
 */
export function renewedList(list: KindList, types: readonly TypeEntry[], date: string): KindList {
  const renewed: Record<string, Record<string, string[]>> = {};
  for (const { group, version, kind } of types) {
    if (isACKGroup(group)) ((renewed[group] ??= {})[version] ??= []).push(kind);
  }
  return { date, kinds: { ...list.kinds, ...renewed } };
}

/** Returns the file of a list: sorted, with one kind in each line, so that its history shows what was added. */
export function kindListText({ date, kinds }: KindList): string {
  const sorted = byName(kinds, (versions: KindsByGroup[string]) => (
    byName(versions, (names: readonly string[]) => [...new Set(names)].toSorted(compareText))
  ));
  return `${JSON.stringify({ date, kinds: sorted }, null, 1)}\n`;
}

function byName<Value>(record: Readonly<Record<string, Value>>, sort: (value: Value) => unknown): object {
  const entries = Object.entries(record).toSorted(([a], [b]) => compareText(a, b));
  return Object.fromEntries(entries.map(([name, value]) => [name, sort(value)]));
}
