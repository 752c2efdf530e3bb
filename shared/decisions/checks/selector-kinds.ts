import { isACKGroup } from "../ack-resource.ts";
import type { FieldPath } from "../field-path.ts";
import type { WrittenSelector } from "../iamroleselector.ts";
import { quote } from "../quote.ts";
import { effectiveEntry, type Origin, type TypeEntry } from "../type-entry.ts";
import type { Fault, Runtime, SelectorCheck } from "./check.ts";
import { describeEntry } from "./selector-types.ts";

interface Context {
  readonly written: WrittenSelector;
  readonly origin: Origin;
  readonly runtime: Runtime;
}

/** The entries that IRS-12 has nothing to say of, repeated ones aside. */
export function* typeEntries({ written, ...context }: Context): Iterable<readonly [path: FieldPath, entry: TypeEntry]> {
  for (const [i, entry] of (written.resourceTypeSelector ?? []).entries()) {
    const effective = effectiveEntry(entry, context);
    const isRead = entry.apiVersion === null || effective !== entry;
    if (isRead && keyOf(effective) !== "//") yield [["spec", "resourceTypeSelector", i], effective];
  }
}

function keyOf({ group, version, kind }: TypeEntry): string {
  return `${group}/${version}/${kind}`;
}

export const IRS_13B: SelectorCheck = {
  id: "IRS-13b",
  severity: "deny",
  waivable: true,
  reason: "ACK manages kinds of groups that end in .services.k8s.aws alone, so the entry selects nothing.",
  fix: "write the group of an ACK controller, such as s3.services.k8s.aws",
  example: "spec: {resourceTypeSelector: [{group: s3.aws.upbound.io}]}",
  *find(subject): Iterable<Fault> {
    for (const [path, { group }] of typeEntries(subject)) {
      if (group !== "" && !isACKGroup(group)) yield { path: [...path, "group"], message: `${quote(group)} is no ACK group: it does not end in .services.k8s.aws` };
    }
  },
};

export const IRS_14: SelectorCheck = {
  id: "IRS-14",
  severity: "warn",
  waivable: false,
  reason: "An entry that a wider one covers is dead: whoever narrows or removes it changes nothing.",
  fix: "remove the entry, or narrow the wider one",
  example: "spec: {resourceTypeSelector: [{group: s3.services.k8s.aws}, {group: s3.services.k8s.aws, kind: Bucket}]}",
  *find(subject): Iterable<Fault> {
    const all = [...typeEntries(subject)];
    const written = new Map(all.map(([, entry]) => [keyOf(entry), entry]));
    for (const [path, entry] of all) {
      const wider = widerThan(entry).map((one) => written.get(keyOf(one))).find((one) => one !== undefined);
      if (wider !== undefined) yield { path, message: `the entry ${describeEntry(entry)} is covered by ${describeEntry(wider)}` };
    }
  },
};

/** Every entry that holds for all that this one holds for, and more: with any of its parts left open. */
function widerThan({ group, version, kind }: TypeEntry): TypeEntry[] {
  const all = orOpen(group).flatMap((g) => orOpen(version).flatMap((v) => orOpen(kind).map((k) => ({ group: g, version: v, kind: k }))));
  return all.slice(0, -1); // the last one is the entry itself
}

function orOpen(part: string): string[] {
  return part === "" ? [""] : ["", part];
}
