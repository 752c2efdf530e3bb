import { SELECTOR_GROUP } from "../core/ack-groups.ts";
import { kindOf, KINDS } from "../kinds.ts";
import { isJsonObject, type JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { containedObjects, isManifest } from "./contained.ts";

/** The reasons for which objects that can choose a role are not judged, and how to have them judged. */
export const UNJUDGED = {
  unrendered: ["in templates that are not rendered", "helm template . | ack-role-resolver lint -"],
  patch: ["in Kustomize patches", "kubectl kustomize DIR | ack-role-resolver lint -"],
  reference: ["to identities in variables or unknown fields", "lint the clusters that result", "references"],
  topology: [
    "to identities that a ClusterClass sets, which are not computed",
    "set them with valueFrom.variable and without enabledIf or external patches, and add the ClusterClass",
    "references",
  ],
  embedded: ["in other objects or files, in an unknown form", "write them to a file that lint reads"],
  "unknown-kind": ["of an unknown kind", "correct the kind, or report it"],
  unreadable: ["in unreadable files", "correct the files, or exclude them with --ignore"],
  template: ["in templates of other objects", "ack-role-resolver lint"],
  unlisted: ["that the cluster does not list", "grant the right to list them", "kinds"],
} as const satisfies Record<string, readonly [where: string, how: string, what?: string]>;

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
  if (isOfUnknownKind(object)) return [{ reason: "unknown-kind", count: 1 }];
  const judged = new Set<unknown>(containedObjects(object).map((one) => one.object));
  const all = [
    { reason: "embedded", count: countHidden(object, judged) },
    { reason: "reference", count: countValues(object, judged, countReference) },
  ] as const;
  return all.filter(({ count }) => count > 0);
}

const REFERENCES = KINDS.flatMap((kind) => kind.isReference ?? []);
const RESEMBLES = KINDS.flatMap(({ resembles }) => resembles ?? []);

/** Whether a value refers to an object that chooses a role. */
export function isReference(value: unknown): boolean {
  return isJsonObject(value) && REFERENCES.some((matches) => matches(value));
}

/** Counts no reference in an object that is counted itself. */
function countReference(value: unknown): number | null {
  if (isReference(value)) return 1;
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

/** Whether the object has the group of a kind that can choose a role, but no such kind is known. */
export function isOfUnknownKind(object: JsonObject): boolean {
  return RESEMBLES.some((resembles) => resembles(object));
}

const OTHER_KINDS = "no ACK or CAPA kind";

/**
 * Returns `2 objects not judged: in Kustomize patches`, with the numbers if there are several reasons; null if there is
 * none. `others` is the number of objects that cannot choose a role.
 */
export function unjudgedText(counts: Partial<Record<UnjudgedReason, number>>, others = 0): string | null {
  const reasons = [
    [OTHER_KINDS, others] as const, ...reasonsIn(counts).map(([reason, count]) => [whyOf(reason), count] as const),
  ].filter(([, count]) => count > 0);
  if (reasons.length === 0) return null;
  const sum = reasons.reduce((total, [, count]) => total + count, 0);
  const texts = reasons.map(([why, count]) => (reasons.length === 1 ? why : `${why} (${shown(count)})`));
  return `${shown(sum)} ${sum === 1 ? "object" : "objects"} not judged: ${texts.join(", ")}`;
}

/** Returns where the objects are, or what is not judged instead of objects. */
function whyOf(reason: UnjudgedReason): string {
  const [where, , what]: readonly [string, string, string?] = UNJUDGED[reason];
  return what === undefined ? where : `${what} ${where}`;
}

function shown(count: number): string {
  return count.toLocaleString("en");
}

function reasonsIn(counts: Partial<Record<UnjudgedReason, number>>): (readonly [UnjudgedReason, number])[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
  return (Object.keys(UNJUDGED) as UnjudgedReason[]).map((reason) => [reason, counts[reason] ?? 0] as const);
}

/** The objects of a kind that cannot choose a role. */
export interface OtherKind {
  readonly kind: string;
  readonly count: number;
  /** The number of the objects in each file; empty for a cluster. */
  readonly files: ReadonlyMap<string, number>;
}

/** Returns for each reason how to have the objects judged, and how many each file contains. */
export function unjudgedLines(all: readonly Unjudged[], otherKinds: readonly OtherKind[] = []): string[] {
  const others = otherKinds.flatMap(({ kind, count, files }) => [
    `    ${kind}: ${shown(count)}`, ...Array.from(files, ([file, own]) => `        ${file}: ${shown(own)}`),
  ]);
  const byReason = Map.groupBy(all, ({ reason }) => reason);
  return [
    ...(others.length === 0 ? [] : [`not judged: ${OTHER_KINDS}`, ...others]),
    ...[...byReason].flatMap(([reason, own]) => {
      const files = own.flatMap(({ file, count }) => (file === null ? [] : [`    ${file}: ${shown(count)}`]));
      return [`not judged: ${whyOf(reason)}; to judge them: ${UNJUDGED[reason][1]}`, ...files];
    }),
  ];
}
