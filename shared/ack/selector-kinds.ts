import {
  ACK_GROUPS, CORE_KINDS, isACKGroup, nearestGroups, SELECTOR_GROUP, serviceOf,
} from "../core/ack-groups.ts";
import { DEFAULT_VERSION } from "../core/ack-resource.ts";
import type { JsonObject } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";
import { apiVersionOf, objectReference } from "../formats/object-meta.ts";
import { listOf, printable, quote, sortedListOf } from "../formats/text.ts";
import { bundledTypes } from "./bundled-types.ts";
import type { TypeEntry } from "../core/resource-types.ts";
import { meant, type Repair, safely, set } from "../core/repair.ts";
import { type UnknownPart, unknownPart } from "../core/type-index.ts";
import { type CheckContext, type Fault, isComplete, type QuickCheck } from "../core/check.ts";
import type { SelectorChange } from "./selector-change.ts";
import { hasTypes, partRepairs, typeEntries } from "./selector-types.ts";
import { NEEDS } from "../core/requirements.ts";

type Known = Pick<CheckContext, "inventory" | "settings">;

export const IRS_52: QuickCheck<SelectorChange> = {
  id: "IRS-52",
  severity: "deny",
  waivable: true,
  reason: "An entry with a misspelled group, kind or version selects nothing, and the API server rejects a resource "
    + "with one. Known are the ACK kinds of this release, the CustomResourceDefinitions of the input or cluster, and "
    + "--extra-groups. The check denies what is similar to a known name, such as its first half. It only warns about "
    + "other names, even a shorter start of a known one, because new controllers add kinds.",
  fix: "correct the name, or add the CustomResourceDefinition of a new kind to the input, or its group to "
    + "--extra-groups",
  example: "spec: {resourceTypeSelector: [{group: s3.services.k8s.aws, kind: Buckets}]}",
  when: hasTypes,
  *find({ spec, origin, settings, inventory }): Iterable<Fault> {
    for (const [path, entry] of typeEntries({ spec, origin, runtime: settings.runtime })) {
      // IRS-13b denies other groups.
      if (entry.group !== "" && !isACKGroup(entry.group)) continue;
      const unknown = unknownTo({ settings, inventory }, entry);
      if (unknown === null) continue;
      const repairs = partRepairs({ spec }, [path, entry], namesMeant(unknown));
      yield { ...unknownFault(entry, unknown), path: [...path, unknown.part], repairs: confirmed(unknown, repairs) };
    }
  },
};

interface ObjectChange extends CheckContext {
  readonly object: JsonObject;
}

/** IRS-52 for a manifest of a kind of ACK, or of an object whose group is similar to that of one. */
export const IRS_52_OF_OBJECTS: QuickCheck<ObjectChange> = {
  ...IRS_52,
  // The API server stores only objects of kinds that it knows.
  when: ({ origin }) => origin !== "cluster",
  *find({ object, inventory, settings }): Iterable<Fault> {
    const type = objectReference(object);
    if (type.version === "") {
      const [version = DEFAULT_VERSION] = bundledTypes().versionsOf(type.group, type.kind);
      const message = `the apiVersion has no version: ${quote(type.group)} is only the group`;
      yield { path: ["apiVersion"], message, repairs: safely(set(["apiVersion"], `${type.group}/${version}`)) };
    }
    const unknown = isACKGroup(type.group) ? unknownTo({ inventory, settings }, type) : misspelledPart(type);
    if (unknown === null) return;
    const { part, nearest } = namesMeant(unknown);
    const path = [part === "kind" ? "kind" : "apiVersion"];
    const values = nearest.map((name) => (part === "kind" ? name : apiVersionOf({ ...type, [part]: name })));
    yield { ...unknownFault(type, unknown), path, repairs: confirmed(unknown, meant(path, values)) };
  },
};

/** Returns the part with the names that a message may suggest. */
function namesMeant({ part, nearest, started }: UnknownPart): Pick<UnknownPart, "part" | "nearest"> {
  return { part, nearest: started === null ? nearest : [started] };
}

/** Returns the repairs, none of which is safe if the text is only the start of a name. */
function confirmed({ started }: UnknownPart, repairs: readonly Repair[]): readonly Repair[] {
  return started === null ? repairs : repairs.map(({ edits }) => ({ edits }));
}

const CORE = new NameIndex(CORE_KINDS);

/** Returns the misspelled part of a type that is not in the group of an ACK service, or null. */
function misspelledPart({ group, version, kind }: TypeEntry): UnknownPart | null {
  if (group === SELECTOR_GROUP && CORE_KINDS.includes(kind)) {
    const isKnown = version === "" || version === DEFAULT_VERSION;
    return isKnown ? null : { part: "version", nearest: [DEFAULT_VERSION], started: null };
  }
  if (group === SELECTOR_GROUP) return { part: "kind", nearest: CORE.nearest(kind), started: null };
  const nearest = nearestGroups(group);
  const meantGroups = nearest.length > 0 ? nearest : [`${serviceOf(group)}.${SELECTOR_GROUP}`];
  return { part: "group", nearest: meantGroups, started: null };
}

/** Returns the first part of the entry that neither the inventory, this release nor --extra-groups knows, or null. */
export function unknownTo({ inventory, settings }: Known, entry: TypeEntry): UnknownPart | null {
  const { group, kind } = entry;
  const unknown = unknownPart(entry, [bundledTypes(), inventory.kinds.defined]);
  if (unknown?.part !== "group") return unknown;
  // The kinds of such a group are unknown.
  if (settings.injection.extraGroups.includes(group)) return null;
  if (ACK_GROUPS.includes(group)) return kind === "" ? null : { part: "kind", nearest: [], started: null };
  return { part: "group", nearest: [...new Set([...nearestGroups(group), ...unknown.nearest])], started: null };
}

/** Returns the fault without its path. */
function unknownFault(entry: TypeEntry, unknown: UnknownPart): Omit<Fault, "path"> {
  const { group, kind } = entry;
  const { part, nearest } = namesMeant(unknown);
  const owners = { group: "", kind: group, version: [kind, group].filter((one) => one !== "").join(".") };
  const owner = owners[part] === "" ? "" : ` of ${printable(owners[part])}`;
  const message = `${part} ${quote(entry[part])}${owner} is not known`;
  if (nearest.length === 0) return { message, severity: "warn" };
  const guess = `${message}; perhaps ${listOf(nearest).replace(" and ", " or ")} was meant`;
  // It can also be the kind of a new controller.
  return { message: guess, ...(unknown.started !== null && { severity: "warn", fix: IRS_52.fix }) };
}

export const IRS_13: QuickCheck<SelectorChange> = {
  id: "IRS-13",
  severity: "warn",
  reason: "An entry that matches no installed kind selects nothing. "
    + "The intended resources fall back to the controller's own account.",
  fix: "copy group, version and kind from kubectl get crd, or install the controller that provides the kind",
  example: "# in a cluster without the S3 controller\n"
    + "spec: {resourceTypeSelector: [{group: s3.services.k8s.aws, kind: Bucket}]}",
  requires: [NEEDS.kinds],
  when: hasTypes,
  *find({ spec, origin, settings, inventory }): Iterable<Fault> {
    const { installed } = inventory.kinds;
    for (const [path, entry] of typeEntries({ spec, origin, runtime: settings.runtime })) {
      const { group } = entry;
      if (group !== "" && !isACKGroup(group)) continue;
      // Manifests may lack the CustomResourceDefinitions of some installed controllers.
      if (!isComplete({ origin, settings }) && (group === "" || !installed.hasGroup(group))) continue;
      // IRS-52 reports a name that is not known at all.
      const missing = unknownTo({ settings, inventory }, entry) === null ? unknownPart(entry, [installed]) : null;
      if (missing === null) continue;
      const message = missingText(entry, missing, inventory);
      const nearest = missing.part === "version" ? [...installed.versionsOf(group, entry.kind)] : [];
      const repairs = partRepairs({ spec }, [path, entry], { part: missing.part, nearest });
      yield { path: [...path, missing.part], message, repairs };
    }
  },
};

function missingText(
  { group, version, kind }: TypeEntry, { part }: UnknownPart, { kinds }: Known["inventory"],
): string {
  if (part === "group") return `no kind of group ${quote(group)} is installed`;
  if (part === "kind") return `kind ${quote(kind)} is not installed`;
  const storage = sortedListOf(kinds.installed.versionsOf(group, kind));
  return `${quote(version)} is not the storage version, so no controller matches it: expected ${storage}`;
}
