import { isJsonObject } from "../formats/json.ts";
import { printable, UNPRINTABLE } from "../formats/text.ts";
import { plainScalar } from "../formats/yaml-scalars.ts";

/** How a text writes new values. */
export interface TextStyle {
  /** The line break. */
  readonly eol: string;
  /** The number of spaces by which a nested object is indented. */
  readonly step: number;
  /** Whether the items of a list have the indentation of the field that contains the list. */
  readonly hasCompactLists: boolean;
  readonly isJSON: boolean;
}

export type Quotes = "plain" | "single" | "double";

const FIRST_INDENTATION = /^( +)[^\s#-]/m;
const COMPACT_LIST = /^( *)[^\s#-][^\n]*:[^\S\n]*(?:#[^\n]*)?\n\1- /m;

/** Returns the style of a YAML or JSON text. */
export function styleOf(text: string, isJSON: boolean): TextStyle {
  return {
    eol: text.includes("\r\n") ? "\r\n" : "\n",
    step: FIRST_INDENTATION.exec(text)?.[1]?.length ?? 2,
    hasCompactLists: COMPACT_LIST.test(text),
    isJSON,
  };
}

/** Matches a text that every YAML parser reads as the same string without quotes. In `[a:b]`, parsers differ. */
const PLAIN = /^[A-Za-z_/](?:[\w/.@+*=~:-]| (?=\w))*$/;
const ENDS_AS_KEY = /:(?: |$)/;

function isPlain(text: string, isInFlow: boolean): boolean {
  if (!PLAIN.test(text) || ENDS_AS_KEY.test(text) || (isInFlow && text.includes(":"))) return false;
  return plainScalar(text) === text;
}

/** Returns a string with the quotes, or with others if the string needs them. */
export function stringText(value: string, quotes: Quotes, isInFlow: boolean): string {
  if (quotes === "plain" && isPlain(value, isInFlow)) return value;
  const isSimple = value.search(UNPRINTABLE) === -1;
  return quotes === "single" && isSimple ? `'${value.replaceAll("'", "''")}'` : printable(JSON.stringify(value));
}

/** Returns a value in one line. */
export function flowText(value: unknown, { isJSON }: Pick<TextStyle, "isJSON">, isInFlow = true): string {
  const quotes = isJSON ? "double" : "plain";
  if (typeof value === "string") return stringText(value, quotes, isInFlow);
  if (Array.isArray(value)) return `[${value.map((item) => flowText(item, { isJSON })).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, inner]) => (
    `${stringText(key, quotes, true)}: ${flowText(inner, { isJSON })}`
  ));
  return `{${fields.join(", ")}}`;
}

/** Returns a field of a block mapping. `column` is that of its key. Its first line is not indented. */
export function fieldText(key: string, value: unknown, column: number, style: TextStyle): string {
  const name = stringText(key, "plain", false);
  const nested = blockText(value, column, style);
  return nested === null ? `${name}: ${flowText(value, style, false)}` : `${name}:${nested}`;
}

/**
 * Returns the lines of a list or an object that follow the key of its field; null if the value fits into the line of
 * the key. `column` is that of the key.
 */
export function blockText(value: unknown, column: number, style: TextStyle): string | null {
  const isList = Array.isArray(value);
  const own = column + (isList && style.hasCompactLists ? 0 : style.step);
  if (isList) {
    const lines = value.map((item: unknown) => `- ${itemText(item, own + 2, style)}`);
    return lines.length === 0 ? null : indented(lines, own, style);
  }
  if (!isJsonObject(value) || Object.keys(value).length === 0) return null;
  return indented(Object.entries(value).map(([key, inner]) => fieldText(key, inner, own, style)), own, style);
}

function indented(lines: readonly string[], column: number, { eol }: TextStyle): string {
  return lines.map((line) => `${eol}${" ".repeat(column)}${line}`).join("");
}

/** Returns an item of a block sequence. `column` is that of its text, which follows the hyphen. */
export function itemText(item: unknown, column: number, style: TextStyle): string {
  if (!isJsonObject(item) || Object.keys(item).length === 0) return flowText(item, style, false);
  const fields = Object.entries(item).map(([key, inner]) => fieldText(key, inner, column, style));
  return fields.join(`${style.eol}${" ".repeat(column)}`);
}

/** Returns a value of a JSON text that has several lines. `column` is the indentation of its first line. */
export function jsonLines(value: unknown, column: number, { step, eol }: TextStyle): string {
  return JSON.stringify(value, null, step).replaceAll("\n", `${eol}${" ".repeat(column)}`);
}
