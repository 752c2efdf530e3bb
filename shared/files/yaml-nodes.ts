import { isAlias, isMap, isNode, isScalar, isSeq, type Pair, type YAMLMap, type YAMLSeq } from "yaml";
import { plainScalar, scalarKey } from "../formats/yaml-scalars.ts";

/** A change of a text: the characters from `start` to `end` are replaced. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Thrown where a text cannot be edited without a guess, for example at an alias. */
export const NOT_EDITABLE = new Error("the text cannot be edited here");

export type Entry = Pair;

/** Returns the splices as one text. They must not overlap. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let result = text;
  for (const { start, end, text: part } of splices.toSorted((a, b) => b.start - a.start)) {
    result = result.slice(0, start) + part + result.slice(end);
  }
  return result;
}

/** Returns the name of a field as kubectl reads it. */
export function keyOf({ key }: Entry): string {
  if (!isScalar(key) || key.tag !== undefined || key.anchor !== undefined) throw NOT_EDITABLE;
  const source = key.source ?? "";
  const name = key.type === "PLAIN" ? scalarKey(plainScalar(source)) : source;
  if (name === null || (key.type === "PLAIN" && source === "<<")) throw NOT_EDITABLE;
  return name;
}

/** Returns the index of a field, or -1. */
export function indexOfKey(map: YAMLMap, name: string): number {
  const names = map.items.map(keyOf);
  const index = names.indexOf(name);
  if (index !== names.lastIndexOf(name)) throw NOT_EDITABLE;
  return index;
}

/** Throws if the value has an anchor or a tag, or is an alias, so that its text is not its own or not plain. */
export function assertPlainNode(node: unknown): void {
  if (isAlias(node)) throw NOT_EDITABLE;
  if (isNode(node) && (node.anchor !== undefined || node.tag !== undefined)) throw NOT_EDITABLE;
}

/** Throws like `assertPlainNode` for the value and all that it contains. */
export function assertPlainTree(node: unknown): void {
  assertPlainNode(node);
  if (isSeq(node)) for (const item of node.items) assertPlainTree(item);
  if (!isMap(node)) return;
  for (const { key, value } of node.items) {
    assertPlainNode(key);
    assertPlainTree(value);
  }
}

export function rangeOf(node: unknown): readonly [start: number, end: number] {
  const range = isNode(node) ? node.range : null;
  if (range === null || range === undefined) throw NOT_EDITABLE;
  return [range[0], range[1]];
}

/** Whether a value is an empty text, as in `key:`. */
export function isAbsent(node: unknown): boolean {
  return node === null || (isScalar(node) && node.type === "PLAIN" && node.source === "");
}

export function isBlock(node: unknown): node is YAMLMap | YAMLSeq {
  return (isMap(node) || isSeq(node)) && node.flow !== true;
}

export function isBlockScalar(node: unknown): boolean {
  return isScalar(node) && (node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED");
}

/** Returns the offset after the colon of a field. */
export function afterColon(entry: Entry): number {
  const colon = entry.srcToken?.sep?.find(({ type }) => type === "map-value-ind");
  const isExplicit = entry.srcToken?.start.some(({ type }) => type === "explicit-key-ind");
  if (colon === undefined || isExplicit === true) throw NOT_EDITABLE;
  return colon.offset + 1;
}

/** Returns the offset of the hyphen of each item of a block sequence. */
export function hyphensOf(seq: YAMLSeq): readonly number[] {
  const { srcToken } = seq;
  if (srcToken?.type !== "block-seq") throw NOT_EDITABLE;
  return srcToken.items.flatMap(({ start }) => (
    start.filter(({ type }) => type === "seq-item-ind").map(({ offset }) => offset)
  ));
}

/** Returns the offset after the last character of a value, without comments and blank lines that follow. */
export function endOfValue(node: unknown, text: string): number {
  if (!isBlock(node)) {
    const [start, end] = rangeOf(node);
    return isBlockScalar(node) ? start + text.slice(start, end).trimEnd().length : end;
  }
  const last = node.items.length - 1;
  if (isMap(node)) return endOfEntry(node.items[last] ?? raise(), text);
  const value = node.items[last];
  return isAbsent(value) ? (hyphensOf(node)[last] ?? raise()) + 1 : endOfValue(value, text);
}

export function endOfEntry(entry: Entry, text: string): number {
  if (!isAbsent(entry.value)) return endOfValue(entry.value, text);
  return entry.srcToken?.sep === undefined ? rangeOf(entry.key)[1] : afterColon(entry);
}

export function raise(): never {
  throw NOT_EDITABLE;
}

export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** Returns the offset of the line break that ends the line, or the length of the text. */
export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  if (end === -1) return text.length;
  return text[end - 1] === "\r" && end > offset ? end - 1 : end;
}

/** Returns the splice that removes whole lines. */
export function removeLines(text: string, first: number, last: number): Splice {
  const start = lineStart(text, first);
  const next = text.indexOf("\n", last);
  if (next !== -1) return { start, end: next + 1, text: "" };
  return { start: start === 0 ? 0 : lineEnd(text, lineStart(text, start - 1)), end: text.length, text: "" };
}

/** Whether only spaces precede the offset in its line. */
export function isFirstInLine(text: string, offset: number): boolean {
  return text.slice(lineStart(text, offset), offset).trim() === "";
}
