import {
  annotationPath, type FieldPath, type FieldStep, formatFieldPath, isJsonObject, isSame, type JsonObject, jsonPointer,
  omitField, type PatchOperation, plainKeys, valueAt,
} from "../formats/json.ts";
import { listOf, printable, quote } from "../formats/text.ts";

/** The name of an object, as a manifest writes it. */
export interface ObjectName {
  readonly apiVersion: string;
  readonly kind: string;
  /** Null if the object is cluster-scoped, or its manifest has no namespace. */
  readonly namespace: string | null;
  readonly name: string;
}

/**
 * A change of one field. The path [] stands for the whole object, which the edit then creates or deletes. Edits that
 * follow each other are applied in their order, so list items are removed from the end.
 */
export interface Edit {
  readonly path: FieldPath;
  /** The new value. If it is undefined, the field is removed. */
  readonly value: unknown;
  /** Default: the judged object. */
  readonly of?: ObjectName;
}

/** One way to correct what a check found. All of its edits belong together. */
export interface Repair {
  /** When to choose this way, such as `to keep storefront`. Absent if it is the only one. */
  readonly when?: string;
  /** Whether exactly one value can have been meant, so that a program may write it without asking. */
  readonly isSafe?: true;
  readonly edits: readonly Edit[];
}

const NO_REPAIRS: readonly never[] = [];

/** Returns the edit that sets a field. */
export function set(path: FieldPath, value: unknown): Edit {
  return { path, value };
}

export function remove(path: FieldPath): Edit {
  return { path, value: undefined };
}

/** Returns the edits that give a field, and its value, another name in the same object. */
export function rename(path: FieldPath, name: FieldStep, value: unknown): readonly Edit[] {
  return [remove(path), set([...path.slice(0, -1), name], value)];
}

/** Returns the only repair, which a program may apply without asking. */
export function safely(...edits: readonly Edit[]): readonly Repair[] {
  return [{ isSafe: true, edits }];
}

/** Returns the only repair, which a person should confirm. */
export function by(...edits: readonly Edit[]): readonly Repair[] {
  return [{ edits }];
}

/**
 * Returns the repairs that write one of the values that are probably meant. Safe if there is only one. Several are
 * alternatives, in their order.
 */
export function meant(path: FieldPath, values: readonly unknown[]): readonly Repair[] {
  return oneOf(values.map((value) => ({ value, edits: [set(path, value)] })));
}

/** The same for values that are written with several edits. */
export function oneOf(choices: readonly Choice[]): readonly Repair[] {
  const [first, ...others] = choices;
  if (first === undefined) return NO_REPAIRS;
  if (others.length === 0) return safely(...first.edits);
  return choices.slice(0, MAX_DESCRIBED)
    .map(({ value, edits }) => ({ when: `if ${shown(value)} is meant`, edits }));
}

interface Choice {
  readonly value: unknown;
  readonly edits: readonly Edit[];
}

/** Returns the property of a fault that has the repairs; nothing if there are none. */
export function repairsOf(repairs: readonly Repair[]): { readonly repairs?: readonly Repair[] } {
  return repairs.length === 0 ? {} : { repairs };
}

/** Returns the same repairs, none of which a program may apply without asking. */
export function unsafe(repairs: readonly Repair[]): readonly Repair[] {
  return repairs.map(({ when, edits }) => (when === undefined ? { edits } : { when, edits }));
}

/** Returns the repair that restores the fields of the old object. */
export function restore(old: JsonObject, ...paths: readonly FieldPath[]): readonly Repair[] {
  return by(...paths.map((path) => set(path, valueAt(old, path))));
}

/** Returns the edits that restore the entries of a map: labels or annotations. */
export function restoreEntries(
  at: FieldPath, before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>,
): readonly Edit[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
  return keys.map((key) => set([...at, { key }], before.get(key)));
}

/** Returns the repair that restores annotations of the old object. */
export function restoreAnnotations(old: JsonObject, ...keys: readonly string[]): readonly Repair[] {
  return restore(old, ...keys.map(annotationPath));
}

/** The longest value of a list that a patch tests. */
const MAX_TESTED = 200;

/**
 * Returns the JSON Patch (RFC 6902) of edits of one object. Adds the parents that a field needs, and removes no field
 * that the object lacks. Tests the old entry of a list, because somebody could have moved it. The object is null if it
 * does not exist yet.
 */
export function patchOf(object: JsonObject | null, edits: readonly Edit[]): readonly PatchOperation[] {
  const patch: PatchOperation[] = [];
  let current: unknown = object ?? undefined;
  for (const edit of edits) {
    const operation = operationOf(current, edit);
    if (operation === null) continue;
    patch.push(...testsOf(current, edit), operation);
    current = edited(current, edit.path, edit.value);
  }
  return patch;
}

function testsOf(object: unknown, { path }: Edit): readonly PatchOperation[] {
  const depth = path.findLastIndex((step) => typeof step === "number") + 1;
  const tested = [path, path.slice(0, depth)].find((one) => valueAt(object, one) !== undefined);
  if (depth === 0 || tested === undefined) return [];
  const value = valueAt(object, tested);
  return JSON.stringify(value).length > MAX_TESTED ? [] : [{ op: "test", path: pointerTo(tested), value }];
}

function operationOf(object: unknown, { path, value }: Edit): PatchOperation | null {
  const old = valueAt(object, path);
  if (value === undefined) return old === undefined ? null : { op: "remove", path: pointerTo(path) };
  if (path.length > 0 && isSame(old, value)) return null;
  const missing = path.findIndex((_, depth) => depth > 0 && !isContainer(valueAt(object, path.slice(0, depth))));
  if (missing < 1) return { op: old === undefined ? "add" : "replace", path: pointerTo(path), value };
  const parent = path.slice(0, missing);
  const isThere = valueAt(object, parent) !== undefined;
  return { op: isThere ? "replace" : "add", path: pointerTo(parent), value: wrapped(path.slice(missing), value) };
}

function isContainer(value: unknown): boolean {
  return isJsonObject(value) || Array.isArray(value);
}

function pointerTo(path: FieldPath): string {
  return jsonPointer(...plainKeys(path));
}

/** Returns the value in new parents. */
function wrapped(path: FieldPath, value: unknown): unknown {
  return plainKeys(path).reduceRight<unknown>((inner, key) => (
    typeof key === "number" ? [inner] : { [key]: inner }
  ), value);
}

/** Returns a copy of the object after the edits; null if an edit deletes it. */
export function applyEdits(object: JsonObject | null, edits: readonly Edit[]): JsonObject | null {
  const result = edits.reduce<unknown>((current, { path, value }) => edited(current, path, value), object ?? undefined);
  return isJsonObject(result) ? result : null;
}

function edited(current: unknown, [step, ...rest]: FieldPath, value: unknown): unknown {
  if (step === undefined) return value;
  const key = typeof step === "object" ? step.key : step;
  if (Array.isArray(current) && typeof key === "number") return editedList(current, key, { rest, value });
  if (!isJsonObject(current)) return value === undefined ? current : wrapped([step, ...rest], value);
  const inner = edited(valueAt(current, [step]), rest, value);
  return inner === undefined ? omitField(current, String(key)) : { ...current, [key]: inner };
}

function editedList(
  list: readonly unknown[], index: number, { rest, value }: { readonly rest: FieldPath; readonly value: unknown },
): unknown[] {
  const inner = edited(list[index], rest, value);
  if (inner === undefined) return list.filter((_, i) => i !== index);
  return index < list.length ? list.with(index, inner) : [...list, inner];
}

/** Returns the edits with other paths, for an object that another one contains. */
export function moveEdits(repairs: readonly Repair[], moved: (path: FieldPath) => FieldPath): readonly Repair[] {
  return repairs.map((repair) => ({
    ...repair, edits: repair.edits.map((edit) => (edit.of === undefined ? { ...edit, path: moved(edit.path) } : edit)),
  }));
}

/** The number of repairs that a text describes. */
const MAX_DESCRIBED = 3;

/**
 * Returns what repairs do, as an imperative without a full stop: `write "delete"`, or `to keep it, write "retain"; to
 * delete it, write "delete"`. Null if there is no repair. `path` is that of the finding.
 */
export function describeRepairs(repairs: readonly Repair[], path: FieldPath): string | null {
  const texts = repairs.slice(0, MAX_DESCRIBED).map(({ when, edits }) => {
    const text = describeEdits(edits, path);
    return when === undefined ? text : `${when}, ${text}`;
  });
  return texts.length === 0 ? null : texts.join("; or ");
}

function describeEdits(edits: readonly Edit[], path: FieldPath): string {
  const renamed = renamedTo(edits, path);
  if (renamed !== null) return `write ${printable(renamed)}`;
  return listOf(edits.map((edit) => describeEdit(edit, path)));
}

/** Returns the new name if the edits only rename the field of the finding. */
function renamedTo(edits: readonly Edit[], path: FieldPath): string | null {
  const [removed, added, ...others] = edits;
  if (removed === undefined || added === undefined || others.length > 0) return null;
  if (removed.value !== undefined || added.value === undefined || !isSame(removed.path, path)) return null;
  const depth = path.length - 1;
  if (added.path.length < depth || !isSame(added.path.slice(0, depth), path.slice(0, depth))) return null;
  return formatFieldPath(added.path.slice(depth));
}

function describeEdit({ path, value, of }: Edit, ofFinding: FieldPath): string {
  if (of !== undefined) return describeOther(path, value, of);
  if (path.length === 0) return "delete the object";
  const isHere = isSame(path, ofFinding);
  if (value === undefined) return isHere ? `remove ${nounOf(path)}` : `remove ${formatFieldPath(path)}`;
  return isHere ? `write ${shown(value)}` : `set ${formatFieldPath(path)} to ${shown(value)}`;
}

function describeOther(path: FieldPath, value: unknown, { kind, name, namespace }: ObjectName): string {
  const object = printable(`${kind} ${namespace === null ? "" : `${namespace}/`}${name}`);
  if (path.length === 0) return `${value === undefined ? "delete" : "create"} ${object}`;
  const field = formatFieldPath(path);
  return value === undefined ? `remove ${field} from ${object}` : `set ${field} of ${object} to ${shown(value)}`;
}

function nounOf(path: FieldPath): string {
  if (typeof path.at(-1) === "number") return "this entry";
  const parent = path.at(-2);
  return parent === "annotations" ? "the annotation" : parent === "labels" ? "the label" : "the field";
}

/** The maximum length of a value in a text. */
const MAX_VALUE = 80;

function shown(value: unknown): string {
  if (typeof value === "string") return quote(value);
  const text = printable(JSON.stringify(value));
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}
