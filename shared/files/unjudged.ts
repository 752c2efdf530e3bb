import { SELECTOR_GROUP } from "../core/ack-groups.ts";
import { kindOf, KINDS } from "../kinds.ts";
import { isJsonObject, type JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { countOf } from "../formats/text.ts";
import { containedObjects, isManifest } from "./contained.ts";

/** The reasons for which objects that can choose a role are not judged, and how to have them judged. */
export const UNJUDGED = {
  unrendered: ["in templates that are not rendered", "helm template . | ack-role-resolver lint -"],
  patch: ["in Kustomize patches", "kubectl kustomize DIR | ack-role-resolver lint -"],
  reference: ["to identities in variables or unknown fields", "lint the clusters that result", "reference"],
  embedded: ["in other objects or files, in an unknown form", "write them to a file that lint reads"],
  "unknown-kind": ["of an unknown kind", "correct the kind, or report it"],
  unreadable: ["in unreadable files", "correct the files, or exclude them with --ignore"],
  template: ["in templates of other objects", "ack-role-resolver lint"],
  unlisted: ["that the cluster does not list", "grant the right to list them", "kind"],
} as const satisfies Record<string, readonly [where: string, command: string, what?: string]>;

export type UnjudgedReason = keyof typeof UNJUDGED;

/** The objects of a file, or a kind of a cluster, that can choose a role and were not judged. */
export interface Unjudged {
  readonly file: string | null;
  readonly reason: UnjudgedReason;
  /** At least 1. Of a text that is not parsed, the number of its documents that mention such an object. */
  readonly count: number;
}

/** Whether the object can choose a role. */
export function choosesRole(object: JsonObject): boolean {
  return kindOf(objectReference(object))?.choosesRole === true;
}

const CHOOSING = KINDS.filter((kind) => kind.choosesRole === true);
/** The kinds of which every object can choose a role, and the names of the objects of the others. */
const NAMED = CHOOSING.flatMap(({ types, names }) => (
  typeof types === "function" || names !== undefined ? [] : types.map((type) => type.replace(/\..*/, ""))
));
const NAMES = CHOOSING.flatMap(({ watch }) => watch?.names ?? []);
/** Matches the type of an object that can choose a role, in YAML or JSON. */
const MENTION = new RegExp([
  `apiVersion["']?: {0,9}["']?[\\w.-]{0,99}\\b${SELECTOR_GROUP.replaceAll(".", "\\.")}/`,
  `kind["']?: {0,9}["']?(?:${NAMED.join("|")})\\b`, ...NAMES.map((name) => `name["']?: {0,9}["']?${name}\\b`),
].join("|"));

/** Returns the number of documents in a text that mention an object that can choose a role. */
export function mentionsIn(text: string): number {
  return MENTION.test(text) ? text.split(/^---/m).filter((document) => MENTION.test(document)).length : 0;
}

/**
 * Returns what can choose a role in an object that no decision reads: objects in an unknown form, references to
 * identities, such as a variable of a Cluster with a topology, or its unknown kind. Visits every value, so the caller
 * should exclude texts without mentions.
 */
export function hiddenIn(object: JsonObject): readonly Pick<Unjudged, "reason" | "count">[] {
  if (RESEMBLES.some((resembles) => resembles(object))) return [{ reason: "unknown-kind", count: 1 }];
  const judged = new Set<unknown>(containedObjects(object).map((one) => one.object));
  const all = [
    { reason: "embedded", count: countHidden(object, judged) },
    { reason: "reference", count: countValues(object, judged, countReference) },
  ] as const;
  return all.filter(({ count }) => count > 0);
}

const REFERENCES = KINDS.flatMap(({ isReference }) => isReference ?? []);
const RESEMBLES = KINDS.flatMap(({ resembles }) => resembles ?? []);

/** Counts no reference in an object that is counted itself. */
function countReference(value: unknown): number | null {
  if (isJsonObject(value) && REFERENCES.some((isReference) => isReference(value))) return 1;
  return isChoosingManifest(value) ? 0 : null;
}

function isChoosingManifest(value: unknown): boolean {
  return isManifest(value) && choosesRole(value);
}

/** Returns the number of objects that can choose a role in a list or object, and in its texts, except `judged`. */
export function countHidden(root: JsonObject | readonly unknown[], judged: ReadonlySet<unknown> = new Set()): number {
  return countValues(root, judged, (value) => {
    if (typeof value === "string") return value.includes("\n") ? mentionsIn(value) : 0;
    return isChoosingManifest(value) ? 1 : null;
  });
}

/** Returns the sum of the counts of the values, and of those below each value whose count is null. Omits `judged`. */
function countValues(
  root: JsonObject | readonly unknown[], judged: ReadonlySet<unknown>, countOne: (value: unknown) => number | null,
): number {
  const open: unknown[] = Object.values(root);
  let sum = 0;
  while (open.length > 0) {
    const value = open.pop();
    const count = judged.has(value) ? 0 : countOne(value);
    if (count !== null) sum += count;
    // A call with a hundred thousand arguments would overflow the stack.
    else for (const item of itemsOf(value)) open.push(item);
  }
  return sum;
}

function itemsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  return isJsonObject(value) ? Object.values(value) : [];
}

/** Returns the number of objects by reason. */
export function countUnjudged(all: readonly Unjudged[]): Partial<Record<UnjudgedReason, number>> {
  const counts: Partial<Record<UnjudgedReason, number>> = {};
  for (const { reason, count } of all) counts[reason] = (counts[reason] ?? 0) + count;
  return counts;
}

/** Returns `2 not judged: 2 objects in Kustomize patches (COMMAND)`. */
export function unjudgedText(counts: Partial<Record<UnjudgedReason, number>>): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
  const reasons = (Object.keys(UNJUDGED) as UnjudgedReason[]).flatMap((reason) => {
    const count = counts[reason] ?? 0;
    const [where, command, what = "object"]: readonly [string, string, string?] = UNJUDGED[reason];
    return count === 0 ? [] : [{ count, text: `${countOf(count, what)} ${where} (${command})` }];
  });
  const sum = reasons.reduce((total, { count }) => total + count, 0);
  return sum === 0 ? "0 not judged" : `${sum} not judged: ${reasons.map(({ text }) => text).join(", ")}`;
}
