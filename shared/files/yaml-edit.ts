import { isMap, isScalar, isSeq, type YAMLMap, type YAMLSeq } from "yaml";
import { isJsonObject } from "../formats/json.ts";
import { plainScalar } from "../formats/yaml-scalars.ts";
import {
  afterColon, assertPlainNode, assertPlainTree, endOfEntry, endOfValue, type Entry, hyphensOf, indexOfKey, isAbsent,
  isBlock, isBlockScalar, isFirstInLine, keyOf, lineEnd, lineStart, raise, rangeOf, removeLines, type Splice,
} from "./yaml-nodes.ts";
import {
  blockText, fieldText, flowText, itemText, jsonLines, type Quotes, stringText, type TextStyle,
} from "./yaml-text.ts";

export type Key = string | number;

/** A document whose text is edited. */
export interface EditedText {
  readonly text: string;
  readonly contents: unknown;
  readonly style: TextStyle;
}

/** The place of a value in its parent; null for the value of the document. */
type Slot =
  | { readonly map: YAMLMap; readonly index: number; readonly entry: Entry }
  | { readonly seq: YAMLSeq; readonly index: number }
  | null;

/** Returns the value of a field or an item, and its place; null if the parent lacks it. */
function childOf(node: unknown, key: Key): { readonly slot: Slot; readonly value: unknown } | null {
  assertPlainNode(node);
  if (isMap(node)) {
    const index = indexOfKey(node, String(key));
    const entry = node.items[index];
    return entry === undefined ? null : { slot: { map: node, index, entry }, value: entry.value };
  }
  if (!isSeq(node) || typeof key !== "number" || key >= node.items.length) return null;
  return { slot: { seq: node, index: key }, value: node.items[key] };
}

/**
 * Returns the splices that remove the value at the path; [] if the document lacks it. `isMoved`: whether the value is
 * written elsewhere, without its comments.
 */
export function removal({ text, contents }: EditedText, path: readonly Key[], isMoved = false): readonly Splice[] {
  let parent: Slot = null;
  let slot: Slot = null;
  let value = contents;
  for (const key of path) {
    const child = childOf(value, key);
    if (child === null) return [];
    [parent, slot, value] = [slot, child.slot, child.value];
  }
  assertPlainTree(value);
  if (slot === null) return raise();
  if (isMoved && !isAbsent(value)) assertNoComment(value, text.slice(rangeOf(value)[0], endOfValue(value, text)));
  const collection = "map" in slot ? slot.map : slot.seq;
  const items: readonly unknown[] = collection.items;
  if (items.length === 1) return emptied(text, parent, collection);
  return isBlock(collection) ? [withoutBlock(text, slot)] : [withoutFlow(text, slot)];
}

function emptied(text: string, slot: Slot, collection: YAMLMap | YAMLSeq): readonly Splice[] {
  const empty = isMap(collection) ? "{}" : "[]";
  return replacement(text, slot, collection, empty);
}

/** Returns the splices that write a text in the place of a value, and keep the comment that follows its key. */
function replacement(text: string, slot: Slot, value: unknown, by: string): readonly Splice[] {
  const [start] = rangeOf(value);
  const end = endOfValue(value, text);
  if (!isBlock(value) || slot === null || !("entry" in slot)) return [{ start, end, text: by }];
  const colon = afterColon(slot.entry);
  if (lineStart(text, colon) === lineStart(text, start)) return [{ start, end, text: by }];
  return [{ start: colon, end: colon, text: ` ${by}` }, removeLines(text, start, end)];
}

/** Throws if the text of a map or a list contains a comment, which would get lost. */
function assertNoComment(value: unknown, text: string): void {
  if ((isMap(value) || isSeq(value)) && /(?:^|\s)#/.test(text)) raise();
}

function startOfItem(slot: NonNullable<Slot>, index: number): number {
  if ("map" in slot) return rangeOf(slot.map.items[index]?.key)[0];
  const { seq } = slot;
  return seq.flow === true ? rangeOf(seq.items[index])[0] : hyphensOf(seq)[index] ?? raise();
}

function endOfItem(slot: NonNullable<Slot>, index: number, text: string): number {
  if ("map" in slot) return endOfEntry(slot.map.items[index] ?? raise(), text);
  const value = slot.seq.items[index];
  return isBlock(slot.seq) && isAbsent(value) ? startOfItem(slot, index) + 1 : endOfValue(value, text);
}

function withoutBlock(text: string, slot: NonNullable<Slot>): Splice {
  const { index } = slot;
  if ("entry" in slot) afterColon(slot.entry);
  const [start, end] = [startOfItem(slot, index), endOfItem(slot, index, text)];
  if (isFirstInLine(text, start)) return removeLines(text, start, end);
  // The first field of a list item follows a hyphen: the next one takes its place.
  const next = startOfItem(slot, index + 1);
  return text.slice(end, next).trim() === "" ? { start, end: next, text: "" } : raise();
}

function withoutFlow(text: string, slot: NonNullable<Slot>): Splice {
  const { index } = slot;
  const [start, end] = index === 0
    ? [startOfItem(slot, 0), startOfItem(slot, 1)]
    : [endOfItem(slot, index - 1, text), endOfItem(slot, index, text)];
  return text.slice(start, end).includes("#") ? raise() : { start, end, text: "" };
}

/** Returns the splice that gives a field another name. */
export function renaming({ text, contents }: EditedText, path: readonly Key[], name: string): readonly Splice[] {
  const parent = path.slice(0, -1).reduce<unknown>((node, key) => childOf(node, key)?.value ?? raise(), contents);
  const child = childOf(parent, path.at(-1) ?? raise());
  if (child?.slot === undefined || child.slot === null || !("entry" in child.slot)) return raise();
  const { key } = child.slot.entry;
  const [start, end] = rangeOf(key);
  return [{ start, end, text: stringText(name, quotesOf(key, text), !isBlock(child.slot.map)) }];
}

function quotesOf(node: unknown, text: string): Quotes {
  const quote = text[rangeOf(node)[0]];
  if (quote === '"') return "double";
  return quote === "'" ? "single" : "plain";
}

/** Returns the splices that set the value at the path. Adds the parents that it needs. */
export function setting(edited: EditedText, path: readonly Key[], value: unknown): readonly Splice[] {
  let slot: Slot = null;
  let node = edited.contents;
  for (const [depth, key] of path.entries()) {
    const child = childOf(node, key);
    const rest = path.slice(depth + 1).reduceRight<unknown>(wrapped, value);
    if (child === null) {
      if (isMap(node)) return [newEntry(edited, node, String(key), rest)];
      if (isSeq(node) && typeof key === "number") return [newItem(edited, node, rest)];
      return written(edited, slot, node, wrapped(rest, key));
    }
    ({ slot, value: node } = child);
  }
  return written(edited, slot, node, value);
}

function wrapped(inner: unknown, key: Key): unknown {
  return typeof key === "number" ? [inner] : { [key]: inner };
}

/** Returns the splices that write another value in the place of one. */
function written(edited: EditedText, slot: Slot, node: unknown, value: unknown): readonly Splice[] {
  const { text, style } = edited;
  assertPlainTree(node);
  if (isAbsent(node)) return slot === null ? raise() : [filled(edited, slot, value)];
  // The new collection contains what the old one had, such as a list of the only item.
  if (typeof value === "object") assertNoComment(node, text.slice(rangeOf(node)[0], endOfValue(node, text)));
  const isInFlow = slot !== null && !isBlock("map" in slot ? slot.map : slot.seq);
  return replacement(text, slot, node, textFor(value, node, { text, style, isInFlow }));
}

/** Whether a number or boolean is written otherwise than its value, such as 010 or yes, and only gets quotes. */
function isOtherText(value: unknown, node: unknown): boolean {
  if (!isScalar(node) || node.type !== "PLAIN" || node.source === value) return false;
  const old = plainScalar(node.source ?? "");
  return typeof old !== "string" && String(old) === value;
}

/** Returns the text of a value that takes the place of another, with the quotes of the other. */
function textFor(
  value: unknown, node: unknown, { text, style, isInFlow }: Omit<EditedText, "contents"> & { isInFlow: boolean },
): string {
  if (isBlockScalar(node)) {
    const [start] = rangeOf(node);
    // A comment can follow the indicator of a block scalar.
    return text.slice(start, lineEnd(text, start)).includes("#") ? raise() : flowText(value, style, isInFlow);
  }
  if (isOtherText(value, node)) raise();
  const keepsQuotes = typeof value === "string" && isScalar(node);
  return keepsQuotes ? stringText(value, quotesOf(node, text), isInFlow) : flowText(value, style, isInFlow);
}

/** Returns the splice that writes the value of a field or item that has none, such as `key:`. */
function filled({ text, style }: EditedText, slot: NonNullable<Slot>, value: unknown): Splice {
  if ("seq" in slot) {
    const at = startOfItem(slot, slot.index) + 1;
    return { start: at, end: at, text: ` ${flowText(value, style, false)}` };
  }
  const colon = afterColon(slot.entry);
  const isInFlow = !isBlock(slot.map);
  const nested = isInFlow ? null : blockText(value, columnOf(text, rangeOf(slot.entry.key)[0]), style);
  if (nested === null) return { start: colon, end: colon, text: ` ${flowText(value, style, isInFlow)}` };
  const end = lineEnd(text, colon);
  return { start: end, end, text: nested };
}

function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

function newEntry({ text, style }: EditedText, map: YAMLMap, key: string, value: unknown): Splice {
  map.items.forEach(keyOf);
  if (!isBlock(map)) return newInFlow({ text, style }, map, value, `${flowText(key, style)}: `);
  const column = columnOf(text, rangeOf(map.items[0]?.key)[0]);
  const at = lineEnd(text, endOfValue(map, text));
  return { start: at, end: at, text: `${style.eol}${" ".repeat(column)}${fieldText(key, value, column, style)}` };
}

function newItem({ text, style }: EditedText, seq: YAMLSeq, value: unknown): Splice {
  if (!isBlock(seq)) return newInFlow({ text, style }, seq, value, "");
  const column = columnOf(text, hyphensOf(seq)[0] ?? raise());
  const at = lineEnd(text, endOfValue(seq, text));
  return { start: at, end: at, text: `${style.eol}${" ".repeat(column)}- ${itemText(value, column + 2, style)}` };
}

function newInFlow(
  { text, style }: Pick<EditedText, "text" | "style">, collection: YAMLMap | YAMLSeq, value: unknown, prefix: string,
): Splice {
  const [start, end] = rangeOf(collection);
  const { length } = collection.items;
  if (length === 0) return { start: start + 1, end: end - 1, text: prefix + flowText(value, style) };
  const slot: NonNullable<Slot> = isMap(collection)
    ? { map: collection, index: 0, entry: collection.items[0] ?? raise() }
    : { seq: collection, index: 0 };
  const [first, at] = [startOfItem(slot, length - 1), endOfItem(slot, length - 1, text)];
  if (!isFirstInLine(text, first)) return { start: at, end: at, text: `, ${prefix}${flowText(value, style)}` };
  const column = columnOf(text, first);
  const isNested = style.isJSON && (Array.isArray(value) || isJsonObject(value));
  const inner = isNested ? jsonLines(value, column, style) : flowText(value, style);
  return { start: at, end: at, text: `,${style.eol}${" ".repeat(column)}${prefix}${inner}` };
}
