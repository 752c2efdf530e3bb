import type { Origin, Runtime } from "../core/context.ts";
import type { FieldPath } from "../formats/json.ts";
import { isACKGroup, nearestGroups } from "../core/ack-groups.ts";
import { quote } from "../formats/text.ts";
import type { SelectorSpec, TypeEntrySpec } from "../core/iamroleselector.ts";
import { effectiveEntry, readsAPIVersion, rewrittenEntry, type TypeEntry } from "../core/resource-types.ts";
import type { Fault } from "../core/check.ts";
import { by, meant, remove, type Repair, safely, set } from "../core/repair.ts";
import type { UnknownPart } from "../core/type-index.ts";
import { apiVersionOf } from "../formats/object-meta.ts";
import type { SelectorCheck } from "./selector.ts";

const PATH = ["spec", "resourceTypeSelector"] as const;

export const IRS_12: SelectorCheck = {
  id: "IRS-12",
  severity: "deny",
  reason: "Controllers drop a selector that has an empty or repeated entry. Controllers do not read apiVersion.",
  fix: "list each entry once, and set at least one of group (such as s3.services.k8s.aws), version and kind",
  example: "spec: {resourceTypeSelector: [{group: '', version: '', kind: ''}]}",
  when: hasTypes,
  *find(subject): Iterable<Fault> {
    const seen = new Set<string>();
    for (const [i, entry] of typesOf(subject).entries()) {
      const path: FieldPath = [...PATH, i];
      const apiVersionFault = apiVersionFaultOf(entry, [...path, "apiVersion"], readsAPIVersion(subject));
      if (apiVersionFault !== null) {
        yield { ...apiVersionFault, dropsSelector: true };
        continue;
      }
      const effective = effectiveEntry(entry, subject);
      const key = keyOf(effective);
      if (key === EMPTY_KEY) {
        const fix = "set at least one of group (such as s3.services.k8s.aws), version and kind";
        // Without its only entry, the list would select every kind.
        const repairs = typesOf(subject).length > 1 ? by(remove(path)) : NONE;
        const message = "the entry is empty: it has no group, version or kind";
        yield { path, message, fix, repairs, dropsSelector: true };
      } else if (seen.has(key)) {
        const message = `the entry ${formatEntry(effective)} is already listed`;
        yield { path, message, repairs: safely(remove(path)), dropsSelector: true };
      }
      seen.add(key);
    }
  },
};

function apiVersionFaultOf(entry: TypeEntrySpec, path: FieldPath, isRead: boolean): Fault | null {
  if (entry.apiVersion === null) return null;
  if (entry.group !== "" || entry.version !== "") {
    const message = "the entry sets apiVersion and also group or version, which have the same meaning";
    const same = agreeingParts(entry);
    if (same !== null) return { path, message, repairs: readableParts(path, same) };
    return { path, message, fix: "write either apiVersion or group and version" };
  }
  const rewritten = rewrittenEntry(entry);
  if (rewritten === null) {
    const fix = "set apiVersion to GROUP/VERSION, such as s3.services.k8s.aws/v1alpha1, "
      + "or set only group to select every version";
    return { path, message: `${quote(entry.apiVersion)} is not GROUP/VERSION`, fix };
  }
  if (isRead) return null;
  const message = "controllers do not read apiVersion, and the webhook did not replace it";
  // IRS-13b would deny the group of another entry.
  return { path, message, ...(isACKGroup(rewritten.group) && { repairs: readableParts(path, rewritten) }) };
}

/** Returns the group and version in apiVersion; null if the entry sets others, or if IRS-13b would deny the group. */
function agreeingParts(entry: TypeEntrySpec): TypeEntry | null {
  const both = rewrittenEntry({ ...entry, group: "", version: "" });
  if (both === null || !isACKGroup(both.group)) return null;
  return [both.group, ""].includes(entry.group) && [both.version, ""].includes(entry.version) ? both : null;
}

/** Returns the repair that replaces apiVersion by the fields that controllers read. */
function readableParts(path: FieldPath, { group, version }: TypeEntry): readonly Repair[] {
  const parent = path.slice(0, -1);
  return safely(remove(path), set([...parent, "group"], group), set([...parent, "version"], version));
}

/** Returns the entry as text for a message. */
function formatEntry({ group, version, kind }: TypeEntry): string {
  return `{group: ${quote(group)}, version: ${quote(version)}, kind: ${quote(kind)}}`;
}

const EMPTY_KEY = "//";

function keyOf({ group, version, kind }: TypeEntry): string {
  return `${group}/${version}/${kind}`;
}

interface Context {
  readonly spec: SelectorSpec;
  readonly origin: Origin;
  readonly runtime: Runtime;
}

function typesOf({ spec }: Pick<Context, "spec">): readonly TypeEntrySpec[] {
  return spec.resourceTypeSelector ?? NONE;
}

const NONE: readonly never[] = [];

/** Whether the selector lists types. */
export function hasTypes(subject: Pick<Context, "spec">): boolean {
  return typesOf(subject).length > 0;
}

/** Returns each entry that is not empty and that controllers read. */
export function typeEntries({ spec, origin, runtime }: Context): (readonly [path: FieldPath, entry: TypeEntry])[] {
  const context = { origin, runtime };
  const entries: (readonly [path: FieldPath, entry: TypeEntry])[] = [];
  for (const [i, entry] of typesOf({ spec }).entries()) {
    const effective = effectiveEntry(entry, context);
    const isRead = entry.apiVersion === null || effective !== entry;
    if (isRead && keyOf(effective) !== EMPTY_KEY) entries.push([[...PATH, i], effective]);
  }
  return entries;
}

/** Returns the repairs that write one of the values for a part of an entry, which apiVersion can contain. */
export function partRepairs(
  { spec }: Pick<Context, "spec">, [path, entry]: readonly [FieldPath, TypeEntry],
  { part, nearest }: Pick<UnknownPart, "part" | "nearest">,
): readonly Repair[] {
  const isInAPIVersion = part !== "kind" && typesOf({ spec })[Number(path.at(-1))]?.apiVersion !== null;
  if (!isInAPIVersion) return meant([...path, part], nearest);
  return meant([...path, "apiVersion"], nearest.map((name) => apiVersionOf({ ...entry, [part]: name })));
}

export const IRS_13B: SelectorCheck = {
  id: "IRS-13b",
  severity: "deny",
  waivable: true,
  reason: "ACK manages only kinds whose group ends in .services.k8s.aws, "
    + "so an entry for another group selects nothing.",
  fix: "use the group of an ACK controller, such as s3.services.k8s.aws",
  example: "spec: {resourceTypeSelector: [{group: s3.aws.upbound.io}]}",
  when: hasTypes,
  *find(subject): Iterable<Fault> {
    for (const [path, entry] of typeEntries(subject)) {
      const { group } = entry;
      if (group === "" || isACKGroup(group)) continue;
      const message = `${quote(group)} is not an ACK group: it does not end in .services.k8s.aws`;
      const repairs = partRepairs(subject, [path, entry], { part: "group", nearest: nearestGroups(group) });
      yield { path: [...path, "group"], message, repairs };
    }
  },
};
