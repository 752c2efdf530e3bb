import { isACKGroup } from "../ack-resource.ts";
import { closest } from "../closest.ts";
import type { FieldPath } from "../field-path.ts";
import type { WrittenSelector } from "../iamroleselector.ts";
import { quote } from "../quote.ts";
import { effectiveEntry, type Origin, type TypeEntry } from "../type-entry.ts";
import type { Check, Fault, Runtime, SelectorChange, SelectorCheck } from "./check.ts";
import { describeEntry } from "./selector-types.ts";
import { someNames } from "./some-names.ts";

interface Context {
  readonly written: WrittenSelector;
  readonly origin: Origin;
  readonly runtime: Runtime;
}

/** The entries that IRS-12 has nothing to say of, repeated ones aside. */
function* entries({ written, ...context }: Context): Iterable<readonly [path: FieldPath, entry: TypeEntry]> {
  for (const [i, entry] of (written.resourceTypeSelector ?? []).entries()) {
    const effective = effectiveEntry(entry, context);
    const isRead = entry.apiVersion === null || effective !== entry;
    if (isRead && keyOf(effective) !== "//") yield [["spec", "resourceTypeSelector", i], effective];
  }
}

function keyOf({ group, version, kind }: TypeEntry): string {
  return `${group}/${version}/${kind}`;
}

export const IRS_13: Check<SelectorChange> = {
  id: "IRS-13",
  severity: "warn",
  waivable: false,
  reason: "An entry that no installed kind fits selects nothing, and what it was meant for falls to the controllers' own account.",
  fix: "write group, version and kind as kubectl get crd has them, or install the controller that brings the kind",
  example: "spec: {resourceTypeSelector: [{group: s3.services.k8s.aws, kind: Buckets}]}",
  needs: ["kinds"],
  *find({ written, origin, settings: { runtime }, inventory }): Iterable<Fault> {
    const installed = [...inventory.installedTypes()];
    for (const [path, entry] of entries({ written, origin, runtime })) {
      const fault = entry.group === "" || isACKGroup(entry.group) ? mismatch(entry, installed) : null;
      if (fault !== null) yield { path: [...path, fault.part], message: fault.message };
    }
  },
};

interface Mismatch {
  readonly part: keyof TypeEntry;
  readonly message: string;
}

/** The first part that leaves no installed kind, the group before the kind before the version; null when one is left. */
function mismatch({ group, version, kind }: TypeEntry, installed: readonly TypeEntry[]): Mismatch | null {
  const ofGroup = installed.filter((type) => group === "" || type.group === group);
  if (ofGroup.length === 0) return { part: "group", message: `no kind of the group ${quote(group)} is installed${guess(group, installed.map((type) => type.group))}` };
  const ofKind = ofGroup.filter((type) => kind === "" || type.kind === kind);
  if (ofKind.length === 0) return { part: "kind", message: `no kind ${quote(kind)} is installed${guess(kind, ofGroup.map((type) => type.kind))}` };
  if (version === "" || ofKind.some((type) => type.version === version)) return null;
  const stored = new Set(ofKind.map((type) => type.version));
  return { part: "version", message: `${quote(version)} is not the version that controllers compare with, which is the stored one: ${someNames(stored)}` };
}

function guess(text: string, known: readonly string[]): string {
  const meant = closest(text, new Set(known));
  return meant === null ? "" : `; perhaps ${meant} was meant`;
}

export const IRS_13B: SelectorCheck = {
  id: "IRS-13b",
  severity: "deny",
  waivable: true,
  reason: "ACK manages kinds of groups that end in .services.k8s.aws alone, so the entry selects nothing.",
  fix: "write the group of an ACK controller, such as s3.services.k8s.aws",
  example: "spec: {resourceTypeSelector: [{group: s3.aws.upbound.io}]}",
  *find(subject): Iterable<Fault> {
    for (const [path, { group }] of entries(subject)) {
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
    const all = [...entries(subject)];
    const written = new Map(all.map(([, entry]) => [keyOf(entry), entry]));
    for (const [path, entry] of all) {
      const wider = widerThan(entry).map((one) => written.get(keyOf(one))).find((one) => one !== undefined);
      if (wider !== undefined) yield { path, message: `the entry ${describeEntry(entry)} is covered by ${describeEntry(wider)}` };
    }
  },
};

/** Every entry that holds for all that this one holds for, and more: with any of its parts left open. */
function widerThan({ group, version, kind }: TypeEntry): TypeEntry[] {
  const open = (part: string): string[] => (part === "" ? [""] : ["", part]);
  const all = open(group).flatMap((g) => open(version).flatMap((v) => open(kind).map((k) => ({ group: g, version: v, kind: k }))));
  return all.slice(0, -1); // the last one is the entry itself
}
