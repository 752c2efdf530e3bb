import type { Origin, Runtime } from "../../context.ts";
import type { FieldPath } from "../../kubernetes/field-path.ts";
import { isACKGroup } from "../../kubernetes/kinds.ts";
import { quote } from "../../kubernetes/text.ts";
import type { SelectorSpec, TypeEntrySpec } from "../../selectors/iamroleselector.ts";
import { effectiveEntry, readsAPIVersion, rewrittenEntry, type TypeEntry } from "../../selectors/type-entry.ts";
import type { Fault, SelectorCheck } from "../check.ts";

const PATH = ["spec", "resourceTypeSelector"] as const;

export const IRS_12: SelectorCheck = {
  id: "IRS-12",
  severity: "deny",
  waivable: false,
  reason: "Controllers drop a selector with an entry that names nothing or is repeated, and do not know the apiVersion form.",
  fix: "name a group such as s3.services.k8s.aws, a version, a kind, or several of them, once; leave resourceTypeSelector out to select every kind",
  example: "spec: {resourceTypeSelector: [{group: '', version: '', kind: ''}]}",
  *find(subject): Iterable<Fault> {
    const seen = new Set<string>();
    for (const [i, entry] of (subject.spec.resourceTypeSelector ?? []).entries()) {
      const path: FieldPath = [...PATH, i];
      const formFault = apiVersionFault(entry, path, readsAPIVersion(subject));
      if (formFault !== null) {
        yield formFault;
        continue;
      }
      const effective = effectiveEntry(entry, subject);
      const key = `${effective.group}/${effective.version}/${effective.kind}`;
      if (key === "//") yield { path, message: "the entry is empty: it names no group, version or kind", dropsSelector: true };
      else if (seen.has(key)) yield { path, message: `the entry ${describeEntry(effective)} is listed already`, dropsSelector: true };
      seen.add(key);
    }
  },
};

function apiVersionFault(entry: TypeEntrySpec, path: FieldPath, read: boolean): Fault | null {
  if (entry.apiVersion === null) return null;
  const at: FieldPath = [...path, "apiVersion"];
  if (entry.group !== "" || entry.version !== "") {
    return { path: at, message: "apiVersion stands beside group or version, which say the same", fix: "write group and version alone", dropsSelector: true };
  }
  const rewritten = rewrittenEntry(entry);
  if (rewritten === null) {
    return { path: at, message: `${quote(entry.apiVersion)} is not GROUP/VERSION`, fix: "write both, such as s3.services.k8s.aws/v1alpha1, or group alone for any version", dropsSelector: true };
  }
  if (read) return null;
  const fix = `write group: ${rewritten.group} and version: ${rewritten.version} instead, or let the webhook's /mutate/iamroleselectors rewrite it`;
  return { path: at, message: "apiVersion was not rewritten, and controllers do not read it", fix, dropsSelector: true };
}

/** As messages show an entry. */
export function describeEntry({ group, version, kind }: TypeEntry): string {
  return `{group: ${quote(group)}, version: ${quote(version)}, kind: ${quote(kind)}}`;
}

interface Context {
  readonly spec: SelectorSpec;
  readonly origin: Origin;
  readonly runtime: Runtime;
}

/** The entries that IRS-12 has nothing to say of, repeated ones aside. */
export function* typeEntries({ spec, ...context }: Context): Iterable<readonly [path: FieldPath, entry: TypeEntry]> {
  for (const [i, entry] of (spec.resourceTypeSelector ?? []).entries()) {
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
    const spec = new Map(all.map(([, entry]) => [keyOf(entry), entry]));
    for (const [path, entry] of all) {
      const wider = widerThan(entry).map((one) => spec.get(keyOf(one))).find((one) => one !== undefined);
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
