import { type Document, LineCounter, Parser } from "yaml";
import { applyEdits, type Edit } from "../core/repair.ts";
import {
  type FieldPath, isJsonObject, isSame, type JsonObject, parseJSON, plainKeys, valueAt,
} from "../formats/json.ts";
import { parseValues } from "./manifest-reader.ts";
import { DEFAULT_LIMIT, LimitExceeded, yamlDocuments } from "./yaml-documents.ts";
import { type EditedText, type Key, removal, renaming, setting } from "./yaml-edit.ts";
import { NOT_EDITABLE, type Splice, spliced } from "./yaml-nodes.ts";
import { fieldText, styleOf } from "./yaml-text.ts";

/** The place of an object in a text. */
export interface ObjectPlace {
  /** The number of the YAML document. The first document has number 1. */
  readonly document: number;
  /** The path of the object in its document, if it is an item of a List. */
  readonly at?: FieldPath;
  /** The object as it was read, in case the text was changed since then. Default: it is not compared. */
  readonly object?: JsonObject;
}

/**
 * Returns the text after the edits of one object. Comments, quotes, order, indentation and line ends stay. Returns null
 * if the text cannot be edited without a guess, for example at an alias, or if the result would not be what the edits
 * mean.
 */
export function editText(
  text: string, { document, at = [], object }: ObjectPlace, edits: readonly Edit[],
): string | null {
  const offsets = documentOffsets(text);
  const start = offsets[document - 1];
  if (start === undefined) return null;
  const end = offsets[document] ?? text.length;
  const part = text.slice(start, end);
  if (object !== undefined && !isSameObject(valueAt(onlyObject(part), at), object)) return null;
  const result = editDocument(part, edits.map(({ path, value }) => ({ path: plainKeys([...at, ...path]), value })));
  // The next document starts in a line of its own.
  const isCut = result === null || (result !== "" && end < text.length && !result.endsWith("\n"));
  return isCut ? null : text.slice(0, start) + result + text.slice(end);
}

/** Whether a value in a text has the kind and the name of an object. Items of a List can lack the kind. */
function isSameObject(value: unknown, object: JsonObject): boolean {
  return isJsonObject(value) && [["kind"], ["metadata", "name"]].every((path) => {
    const written = valueAt(value, path);
    return written === undefined || isSame(written, valueAt(object, path));
  });
}

/** Returns the text with another object in a document of its own; null for a JSON text. */
export function addObject(text: string, object: JsonObject): string | null {
  if (parseJSON(text) !== undefined) return null;
  const style = styleOf(text, false);
  const fields = Object.entries(object).map(([key, value]) => fieldText(key, value, 0, style) + style.eol);
  const separator = text.trim() === "" ? "" : `---${style.eol}`;
  return [text, text === "" || text.endsWith("\n") ? "" : style.eol, separator, ...fields].join("");
}

/** Returns the offset at which each document starts; [] if the text has directives. */
function documentOffsets(text: string): readonly number[] {
  const offsets: number[] = [];
  for (const { type, offset } of new Parser().parse(text)) {
    if (type === "directive") return [];
    // What precedes the first document belongs to it.
    if (type === "document") offsets.push(offsets.length === 0 ? 0 : offset);
  }
  return offsets;
}

interface PlainEdit {
  readonly path: readonly Key[];
  readonly value: unknown;
}

/** Returns the text of a document after the edits, which is empty if they delete its object; otherwise null. */
function editDocument(text: string, edits: readonly PlainEdit[]): string | null {
  const object = onlyObject(text);
  if (object === null) return null;
  const expected = applyEdits(object, edits);
  if (expected === null) return edits.length === 1 ? "" : null;
  const result = orNull(() => stepsOf(edits, object).reduce((current, step) => (
    spliced(current, splicesOf(parsed(current), step))
  ), text));
  const isSameFormat = parseJSON(text) === undefined || parseJSON(result ?? "") !== undefined;
  return result !== null && isSameFormat && isSame(expected, onlyObject(result)) ? result : null;
}

/** Returns null if the text cannot be edited or parsed. */
function orNull(edited: () => string): string | null {
  try {
    return edited();
  } catch (error) {
    if (error === NOT_EDITABLE || error instanceof LimitExceeded || error instanceof RangeError) return null;
    throw error;
  }
}

function onlyObject(text: string): JsonObject | null {
  const [value, ...others] = parseValues(text);
  return others.length === 0 && isJsonObject(value) ? value : null;
}

interface Step extends PlainEdit {
  /** The new name of the field, if it only gets another name. */
  readonly name?: string;
}

/** Returns the single changes that the edits make. */
function stepsOf(edits: readonly PlainEdit[], object: JsonObject): readonly Step[] {
  const steps: Step[] = [];
  let current: JsonObject | null = object;
  for (const [index, edit] of edits.entries()) {
    const [before, next] = [edits[index - 1], edits[index + 1]];
    // The second edit of a rename is done with the first.
    if (steps.at(-1)?.name !== undefined && steps.at(-1)?.path === before?.path) continue;
    const name = next === undefined ? null : newNameOf(edit, next, current);
    if (name === null) steps.push(...changesOf(edit, valueAt(current, edit.path)));
    else steps.push({ ...edit, name });
    current = applyEdits(current, name === null ? [edit] : edits.slice(index, index + 2));
  }
  return steps;
}

/** Returns the new name if two edits give a field another name in the same object. */
function newNameOf(edit: PlainEdit, next: PlainEdit, object: JsonObject | null): string | null {
  const [old, name] = [valueAt(object, edit.path), next.path.at(-1)];
  const isRename = edit.value === undefined && old !== undefined && isSame(old, next.value)
    && edit.path.length === next.path.length && isSame(edit.path.slice(0, -1), next.path.slice(0, -1))
    && valueAt(object, next.path) === undefined && isJsonObject(valueAt(object, next.path.slice(0, -1)));
  return isRename ? String(name) : null;
}

function splicesOf(edited: EditedText, { path, value, name }: Step): readonly Splice[] {
  if (name !== undefined) return renaming(edited, path, name);
  return value === undefined ? removal(edited, path) : setting(edited, path, value);
}

/** Returns the edits that change an old value into a new one, and keep what both have. */
function changesOf({ path, value }: PlainEdit, old: unknown): readonly PlainEdit[] {
  if (isSame(old, value)) return [];
  if (isJsonObject(old) && isJsonObject(value)) {
    const keys = [...new Set([...Object.keys(value), ...Object.keys(old)])];
    return keys.flatMap((key) => changesOf({ path: [...path, key], value: value[key] }, old[key]));
  }
  if (!Array.isArray(old) || !Array.isArray(value)) return [{ path, value }];
  const [before, after]: [readonly unknown[], readonly unknown[]] = [old, value];
  const kept = keptIndexes(before, after);
  if (kept !== null) {
    return before.map((_, i) => i).filter((i) => !kept.has(i)).toReversed()
      .map((index) => ({ path: [...path, index], value: undefined }));
  }
  const length = Math.max(before.length, after.length);
  const steps = Array.from({ length }, (_, i) => changesOf({ path: [...path, i], value: after[i] }, before[i]));
  // Items are removed from the end, so that the indexes stay.
  return [...steps.slice(0, after.length), ...steps.slice(after.length).toReversed()].flat();
}

/** Returns the indexes of the items that stay if the new list only lacks some of the old one; otherwise null. */
function keptIndexes(old: readonly unknown[], list: readonly unknown[]): ReadonlySet<number> | null {
  const kept = new Set<number>();
  for (const [index, item] of old.entries()) if (isSame(item, list[kept.size])) kept.add(index);
  return kept.size === list.length ? kept : null;
}

function parsed(text: string): EditedText {
  const documents: readonly Document.Parsed[] = [...yamlDocuments(text, new LineCounter(), DEFAULT_LIMIT, true)];
  const [document, ...others] = documents;
  if (document === undefined || others.length > 0 || document.errors.length > 0) throw NOT_EDITABLE;
  return { text, contents: document.contents, style: styleOf(text, parseJSON(text) !== undefined) };
}
