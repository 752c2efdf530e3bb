import ackKinds from "../core/ack-kinds.json" with { type: "json" };
import type { TypeEntry } from "../core/resource-types.ts";
import { TypeIndex } from "../core/type-index.ts";

/** For each group and version, the kinds. */
export type KindsByGroup = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** The kinds of ACK controllers. `npm run renew-kinds` writes the file. */
export interface KindList {
  /** The month in which the kinds were last read from CustomResourceDefinitions, such as `2026-11`. */
  readonly date: string;
  readonly kinds: KindsByGroup;
}

export const BUNDLED_KINDS: KindList = ackKinds;

/** Yields the kinds of a list, one by one. */
export function* typesIn({ kinds: groups }: KindList): Iterable<TypeEntry> {
  for (const [group, versions] of Object.entries(groups)) {
    for (const [version, kinds] of Object.entries(versions)) for (const kind of kinds) yield { group, version, kind };
  }
}

let bundled: TypeIndex | null = null;

/** Returns the kinds that this release knows. Indexes them at the first call. */
export function bundledTypes(): TypeIndex {
  bundled ??= new TypeIndex(typesIn(BUNDLED_KINDS));
  return bundled;
}
