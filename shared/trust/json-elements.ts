import { quote } from "../formats/text.ts";
import { parseUniqueJSON, RepeatedKey } from "../formats/unique-json.ts";

/**
 * A part of a large JSON text: a member of the top-level object, or an element of a list that is such a member. A list
 * is itself a member, without its elements, and follows them.
 */
export interface JSONElement {
  /** The name of the member. */
  readonly key: string;
  /** The position in the list; null for a member. */
  readonly index: number | null;
  readonly value: unknown;
}

/** The maximum size of one element, in bytes. A role of 5,000 policies has fewer. */
const MAX_ELEMENT_BYTES = 64 * 1024 * 1024;
/** A policy has 6 nested levels. Deeper values would need recursion later, for example in JSON.stringify. */
const MAX_DEPTH = 1_000;

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x22, 0x5C, 0x2C, 0x5B, 0x5D, 0x7B, 0x7D,
] as const;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Splits a JSON object that is too large for the memory into the elements of its lists. Throws a SyntaxError with the
 * position if the text is not such an object. Several objects may follow each other, such as pages.
 */
export class ElementReader {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** The bytes of the current member or element, from earlier chunks. */
  #parts: Uint8Array[] = [];
  #bytes = 0;
  /** The list that is being read. */
  #list: { readonly key: string; length: number } | null = null;
  /** The number of objects that have been read. */
  #objects = 0;
  /** The keys of the current object. */
  #keys = new Set<string>();

  /** Reads the next bytes, and returns the elements that end in them. */
  *read(chunk: Uint8Array): Generator<JSONElement, void, void> {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = Number(chunk[i]);
      if (this.#isText) this.#readTextByte(byte);
      else if (byte === QUOTE) this.#isText = true;
      else if (isStructure(byte)) {
        const isEnd = this.#endsAt(byte);
        if (!isEnd) continue;
        this.#keep(chunk.subarray(start, i));
        start = i + 1;
        yield* this.#end(byte);
      }
    }
    this.#keep(chunk.subarray(start).slice());
  }

  /** Checks that the text is complete. */
  finish(): void {
    if (this.#depth > 0) throw new SyntaxError("the text ends inside an object; it is cut off");
    if (this.#take().trim() !== "") throw new SyntaxError("text follows the object");
    if (this.#objects === 0) throw new SyntaxError("the text is empty");
  }

  #readTextByte(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isText = false;
  }

  /** Counts the depth. Returns whether a member, an element, or the head of a list or object ends here. */
  #endsAt(byte: number): boolean {
    const before = this.#depth;
    this.#depth += changeOfDepth(byte);
    if (this.#depth < 0) throw new SyntaxError("a bracket closes nothing");
    if (this.#depth > MAX_DEPTH) {
      const place = this.#list === null ? "a member" : `${this.#list.key}[${this.#list.length}]`;
      throw new SyntaxError(`${place} is nested deeper than ${MAX_DEPTH} levels`);
    }
    const level = this.#list === null ? 1 : 2;
    if (byte === COMMA || before === 0) return before <= level;
    return before === level && (this.#depth < level || (byte === OPEN_LIST && this.#list === null));
  }

  *#end(byte: number): Generator<JSONElement, void, void> {
    const text = this.#take();
    if (this.#list !== null) {
      if (text.trim() !== "") {
        const { key } = this.#list;
        yield { key, index: this.#list.length++, value: parse(text, key) };
      }
      if (byte === COMMA) return;
      if (byte !== CLOSE_LIST) throw new SyntaxError(`${this.#list.key} ends with the wrong bracket`);
      yield { key: this.#list.key, index: null, value: [] };
      this.#list = null;
    } else if (this.#depth === 2) this.#list = { key: this.#unique(keyOf(text)), length: 0 };
    else yield* this.#endMember(byte, text);
  }

  *#endMember(byte: number, text: string): Generator<JSONElement, void, void> {
    const isBlank = text.trim() === "";
    if (byte === OPEN_OBJECT || byte === OPEN_LIST || (this.#depth === 0 && byte !== CLOSE_OBJECT)) {
      if (byte !== OPEN_OBJECT || !isBlank) throw new SyntaxError("the text is not a JSON object");
      this.#objects++;
      this.#keys = new Set();
    } else if (!isBlank) {
      for (const [key, value] of Object.entries(parseObject(`{${text}}`))) {
        yield { key: this.#unique(key), index: null, value };
      }
    }
  }

  #unique(key: string): string {
    if (this.#keys.has(key)) throw new SyntaxError(`the key ${quote(key)} is stated twice; remove one`);
    this.#keys.add(key);
    return key;
  }

  #keep(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_ELEMENT_BYTES) throw new SyntaxError(`an element has more than ${MAX_ELEMENT_BYTES} bytes`);
    if (bytes.length > 0) this.#parts.push(bytes);
  }

  #take(): string {
    const all = new Uint8Array(this.#bytes);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    this.#parts = [];
    this.#bytes = 0;
    return decode(all);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (error) {
    throw new SyntaxError("the text is not UTF-8", { cause: error });
  }
}

function changeOfDepth(byte: number): number {
  if (byte === OPEN_OBJECT || byte === OPEN_LIST) return 1;
  return byte === COMMA ? 0 : -1;
}

function isStructure(byte: number): boolean {
  return byte === COMMA || byte === OPEN_LIST || byte === CLOSE_LIST || byte === OPEN_OBJECT || byte === CLOSE_OBJECT;
}

/** Returns the key in the text between a comma and the list, such as `"Policies": `. */
function keyOf(text: string): string {
  return Object.keys(parseObject(`{${text}0}`)).join("");
}

function parse(text: string, key: string): unknown {
  try {
    return parseUniqueJSON(text);
  } catch (error) {
    const reason = error instanceof RepeatedKey ? `: ${error.message}` : " is not JSON";
    throw new SyntaxError(`an element of ${key}${reason}`, { cause: error });
  }
}

function parseObject(text: string): object {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the text has braces around it
  return parse(text, "the object") as object;
}
