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

/** A YAML or JSON text, split into its documents so that an edit of one does not parse the others. */
export class EditableText {
  readonly #parts: readonly DocumentText[];
  #text: string | null = null;

  private constructor(parts: readonly DocumentText[]) {
    this.#parts = parts;
  }

  static of(text: string): EditableText {
    const offsets = documentOffsets(text);
    return new EditableText(offsets.map((start, i) => new DocumentText(text.slice(start, offsets[i + 1]))));
  }

  toString(): string {
    return this.#text ??= this.#parts.map(({ text }) => text).join("");
  }

  /** Returns the number of characters that an edit of the document parses. */
  lengthOf(document: number): number {
    return this.#parts[document - 1]?.text.length ?? 0;
  }

  /**
   * Returns the text after the edits of one object. Comments, quotes, order, indentation and line ends stay. Returns
   * null if the text cannot be edited without a guess, for example at an alias, or if the result would not be what the
   * edits mean.
   */
  edited({ document, at = [], object }: ObjectPlace, edits: readonly Edit[]): EditableText | null {
    const part = this.#parts[document - 1];
    if (part === undefined) return null;
    if (object !== undefined && !isSameObject(valueAt(part.object, at), object)) return null;
    const result = editDocument(part, edits.map(({ path, value }) => ({ path: plainKeys([...at, ...path]), value })));
    // The next document starts in a line of its own.
    const isCut = result === null || (result !== "" && document < this.#parts.length && !result.endsWith("\n"));
    return isCut ? null : new EditableText(this.#parts.with(document - 1, new DocumentText(result)));
  }

  /** Returns the text with another object in a document of its own; null for a JSON text. */
  with(object: JsonObject): EditableText | null {
    const text = this.toString();
    if (parseJSON(text) !== undefined) return null;
    const style = styleOf(text, false);
    const end = text === "" || text.endsWith("\n") ? "" : style.eol;
    const separator = text.trim() === "" ? "" : `---${style.eol}`;
    return new EditableText([...this.#parts, new DocumentText(end + separator + objectText(object, style))]);
  }
}

/** The text of one document. Parses it once, because each repair of a finding edits the same text. */
class DocumentText {
  readonly text: string;
  #object: JsonObject | null | undefined;
  #parsed: EditedText | null = null;

  constructor(text: string) {
    this.text = text;
  }

  /** The object; null if the text is not exactly one. */
  get object(): JsonObject | null {
    if (this.#object !== undefined) return this.#object;
    const [value, ...others] = parseValues(this.text);
    this.#object = others.length === 0 && isJsonObject(value) ? value : null;
    return this.#object;
  }

  /** @throws NOT_EDITABLE, LimitExceeded or RangeError if the text cannot be parsed. */
  get parsed(): EditedText {
    this.#parsed ??= parsed(this.text);
    return this.#parsed;
  }
}

/** Returns an object as YAML. */
export function objectText(object: JsonObject, style = styleOf("", false)): string {
  return Object.entries(object).map(([key, value]) => fieldText(key, value, 0, style) + style.eol).join("");
}

/** Whether a value in a text has the kind and the name of an object. Items of a List can lack the kind. */
function isSameObject(value: unknown, object: JsonObject): boolean {
  return isJsonObject(value) && [["kind"], ["metadata", "name"]].every((path) => {
    const written = valueAt(value, path);
    return written === undefined || isSame(written, valueAt(object, path));
  });
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
function editDocument(document: DocumentText, edits: readonly PlainEdit[]): string | null {
  const { object, text } = document;
  if (object === null) return null;
  const expected = applyEdits(object, edits);
  if (expected === null) return edits.length === 1 ? "" : null;
  const result = orNull(() => stepsOf(edits, object).reduce((current, step) => (
    new DocumentText(spliced(current.text, splicesOf(current.parsed, step)))
  ), document));
  const isSameFormat = parseJSON(text) === undefined || parseJSON(result?.text ?? "") !== undefined;
  return result !== null && isSameFormat && isSame(expected, result.object) ? result.text : null;
}

/** Returns null if the text cannot be edited or parsed. */
function orNull<Result>(edited: () => Result): Result | null {
  try {
    return edited();
  } catch (error) {
    if (error === NOT_EDITABLE || error instanceof LimitExceeded || error instanceof RangeError) return null;
    throw error;
  }
}

interface Step extends PlainEdit {
  /** The new name of the field, if it only gets another name. */
  readonly name?: string;
  /** Whether another edit writes the removed value elsewhere. */
  readonly isMoved?: boolean;
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
    if (name === null) steps.push(...changesOf(edit, valueAt(current, edit.path)).map(stepBefore(next)));
    else steps.push({ ...edit, name });
    current = applyEdits(current, name === null ? [edit] : edits.slice(index, index + 2));
  }
  return steps;
}

function stepBefore(next: PlainEdit | undefined): (edit: PlainEdit) => Step {
  return (edit) => ({ ...edit, isMoved: edit.value === undefined && next?.value !== undefined });
}

/** Returns the new name if two edits give a field another name in the same object. */
function newNameOf(edit: PlainEdit, next: PlainEdit, object: JsonObject | null): string | null {
  const [old, name] = [valueAt(object, edit.path), next.path.at(-1)];
  const isRename = edit.value === undefined && old !== undefined && isSame(old, next.value)
    && edit.path.length === next.path.length && isSame(edit.path.slice(0, -1), next.path.slice(0, -1))
    && valueAt(object, next.path) === undefined && isJsonObject(valueAt(object, next.path.slice(0, -1)));
  return isRename ? String(name) : null;
}

function splicesOf(edited: EditedText, { path, value, name, isMoved }: Step): readonly Splice[] {
  if (name !== undefined) return renaming(edited, path, name);
  return value === undefined ? removal(edited, path, isMoved) : setting(edited, path, value);
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
