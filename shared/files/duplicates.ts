import { isIdentity } from "../core/capa-kinds.ts";
import { field, type JsonObject } from "../formats/json.ts";
import {
  definedKind, isKindDefinition, isNamespace, SELECTOR_KIND,
} from "../core/ack-groups.ts";
import { objectMeta, objectReference } from "../formats/object-meta.ts";
import { placeholderIn } from "../formats/names.ts";
import { compareText, countOf, quote } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { IGNORE_FILE } from "./given-folders.ts";
import { objectKey, storedName } from "./object-key.ts";
import { isRead } from "./object-shape.ts";
import type { InputFault, Manifest } from "./manifest-reader.ts";

const FIX = `keep one of them; to choose between folders, exclude the others with --ignore GLOB or in ${IGNORE_FILE}`;

/**
 * Returns a fault for each object that several manifests define. The fault is at the first manifest, and its message
 * names the first of them. Reports only kinds that decisions read, and no copies that are equal for every decision.
 */
export function* duplicateFaults(manifests: readonly Manifest[]): Paced<InputFault[]> {
  return (yield* duplicatesIn(manifests)).map(duplicateFault);
}

/** Returns the manifests of each object that several manifests define, as `duplicateFaults` reports them. */
export function* duplicatesIn(manifests: readonly Manifest[]): Paced<Duplicate[]> {
  const byKey = new Map<string, Manifest[]>();
  yield* paced(manifests, STEP, (manifest) => {
    const key = isRead(manifest.object) && !isUnrendered(manifest.object) ? objectKey(manifest.object) : null;
    if (key === null) return true;
    const copies = byKey.get(key);
    if (copies === undefined) byKey.set(key, [manifest]);
    else copies.push(manifest);
    return true;
  });
  return [...byKey.values()].flatMap(([first, ...others]) => (
    first !== undefined && others.some(({ object }) => !areEqualCopies(first.object, object))
      ? [[first, ...others] as const]
      : []
  ));
}

type Duplicate = readonly [Manifest, ...Manifest[]];

/** The number of objects between pauses. */
const STEP = 100;

/** Whether a template sets the name or the namespace. Two such objects are usually different objects. */
function isUnrendered(object: JsonObject): boolean {
  const { namespace = "", name = "" } = storedName(object) ?? {};
  return placeholderIn(name) !== null || placeholderIn(namespace) !== null;
}

/**
 * Whether every decision is the same for both copies of an object. Folders often contain equal copies of a Namespace or
 * of the identity of clusters, and every ACK controller has copies of its CustomResourceDefinitions. Copies of other
 * kinds always differ, because commands list each copy.
 */
export function areEqualCopies(first: JsonObject, other: JsonObject): boolean {
  const content = contentOf(other);
  return content !== null && JSON.stringify(content) === JSON.stringify(contentOf(first));
}

/** Returns the part of an object of these kinds that decisions read. Returns null for other kinds. */
function contentOf(object: JsonObject): unknown {
  if (isNamespace(object)) return metadataOf(object);
  if (isIdentity(object)) return [field(object, "apiVersion"), metadataOf(object), field(object, "spec")];
  if (!isKindDefinition(object)) return null;
  const spec = field(object, "spec");
  const { group, kind } = definedKind(object);
  if (kind === SELECTOR_KIND) return spec;
  const versions = field(spec, "versions");
  const list = Array.isArray(versions) ? (versions as unknown[]) : [];
  return [group, kind, list.map((one) => ["name", "served", "storage"].map((name) => field(one, name)))];
}

function metadataOf(object: JsonObject): unknown {
  const { labels, annotations } = objectMeta(object);
  return [labels, annotations].map((map) => [...map].toSorted(([a], [b]) => compareText(a, b)));
}

/** The number of places that a fault names. */
const MAX_PLACES = 10;

function duplicateFault(all: Duplicate): InputFault {
  const [first] = all;
  const places = all.slice(0, MAX_PLACES).map(({ file, lineOf }) => `${file}:${lineOf([]) ?? 1}`);
  const more = all.length > MAX_PLACES ? ` and ${countOf(all.length - MAX_PLACES, "more place")}` : "";
  const message = `duplicate ${nameOf(first.object)}, defined at ${places.join(", ")}${more}; ${FIX}`;
  return { file: first.file, line: first.lineOf([]), message, kind: "duplicate" };
}

function nameOf(object: JsonObject): string {
  const { kind, name } = objectReference(object);
  const namespace = storedName(object)?.namespace ?? "";
  return `${kind} ${quote(name)}${namespace === "" ? "" : ` in namespace ${namespace}`}`;
}
