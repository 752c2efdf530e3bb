import { quote } from "./text.ts";

const [QUOTE, COLON, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x3A, 0x7B, 0x7D] as const;

/** An object that has the same key twice. */
export class RepeatedKey extends SyntaxError {}

/** Matches every number that is not written as its value is: with a fraction, an exponent or many digits, or -0. */
const OTHER_NUMBER = /[:,[]\s*(?:-?(?:[0-9]+[.eE]|[0-9]{16})|-0)/;

/**
 * Parses a JSON text in which no object has the same key twice, of which `JSON.parse` would ignore all but the last.
 * Throws a RepeatedKey for such a text, and a SyntaxError for one that is not JSON. `colons` is the number of colons
 * outside of strings, if it is known. A number that is not written as its value is, such as `1.0`, remains a text,
 * because IAM compares what a policy has.
 */
export function parseUniqueJSON(text: string, colons: number | null = null): unknown {
  const value: unknown = JSON.parse(text);
  // Counting is faster than a search for the key.
  const { keys, hasNumbers } = contentsOf(value);
  if (keys === (colons ?? colonsIn(text))) {
    return hasNumbers && OTHER_NUMBER.test(text) ? JSON.parse(text, asWritten) : value;
  }
  throw new RepeatedKey(`the key ${quote(repeatedKey(text))} is stated twice; remove one`);
}

function asWritten(_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  return typeof value === "number" && String(value) !== source ? source : value;
}

/** Counts the keys of all objects in a JSON value, which can be nested deeply, and tells whether it has numbers. */
function contentsOf(root: unknown): { readonly keys: number; readonly hasNumbers: boolean } {
  let keys = 0;
  let hasNumbers = false;
  const open = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    const items: readonly unknown[] = Object.values(value);
    if (!Array.isArray(value)) keys += items.length;
    for (const item of items) {
      if (typeof item === "object") open.push(item);
      else if (typeof item === "number") hasNumbers = true;
    }
  }
  return { keys, hasNumbers };
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
