import { quote } from "./text.ts";

const [QUOTE, COLON, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x3A, 0x7B, 0x7D] as const;

/** An object that has the same key twice. */
export class RepeatedKey extends SyntaxError {}

/**
 * Parses a JSON text in which no object has the same key twice, of which `JSON.parse` would ignore all but the last.
 * Throws a RepeatedKey for such a text, and a SyntaxError for one that is not JSON. `colons` is the number of colons
 * outside of strings, if it is known.
 */
export function parseUniqueJSON(text: string, colons: number | null = null): unknown {
  const value: unknown = JSON.parse(text);
  // Counting is faster than a search for the key.
  if (keysIn(value) === (colons ?? colonsIn(text))) return value;
  throw new RepeatedKey(`the key ${quote(repeatedKey(text))} is stated twice; remove one`);
}

/** Returns the number of keys of all objects in a JSON value, which can be nested deeply. */
function keysIn(root: unknown): number {
  let count = 0;
  const open = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    const items: readonly unknown[] = Object.values(value);
    if (!Array.isArray(value)) count += items.length;
    for (const item of items) if (typeof item === "object") open.push(item);
  }
  return count;
}

/** Returns the number of colons outside of strings, each of which follows a key. */
function colonsIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COLON) count++;
  }
  return count;
}

/** Returns the position of the quote that ends the string that starts at a position. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}

/** Returns the first key that an object has twice, apart from escapes. There must be one. */
function repeatedKey(text: string): string {
  const open: Set<string>[] = [];
  let [last, repeated]: [string, string | null] = ["", null];
  for (let at = 0; repeated === null; at++) {
    const code = text.charCodeAt(at);
    if (code === OPEN_OBJECT) open.push(new Set());
    else if (code === CLOSE_OBJECT) open.pop();
    else if (code === QUOTE) {
      const end = endOfString(text, at);
      last = text.slice(at, end + 1);
      at = end;
    } else if (code === COLON) {
      const key = String(JSON.parse(last));
      const keys = open.at(-1);
      if (keys?.has(key) === true) repeated = key;
      keys?.add(key);
    }
  }
  return repeated;
}
