import {
  CHOMPING_MODE, COLLECTION_STYLE, EVENT_ID, type Event, getScalarValue, type MappingEvent, parseEvents, SCALAR_STYLE,
  type ScalarEvent, type SequenceEvent, YAMLException,
} from "js-yaml";
import { LIMITS } from "../core/limits.ts";
import { mayContainSecret } from "./secret-values.ts";
import { LineList, MAX_LINE, StringPool } from "./line-list.ts";
import { plainScalar } from "../formats/yaml-scalars.ts";
import { MAX_DEPTH } from "./yaml-values.ts";

/** The value of a YAML document, and the lines of its fields and items. */
export interface EventDocument {
  readonly value: unknown;
  /** The line of the value, from 1. */
  readonly line: number;
  readonly lines: LineList;
}

/** The events of a text take up to 30 times the memory of the text. A longer text usually contains a List. */
const MAX_LENGTH = 1_000_000;
/**
 * Matches syntax that the parsers read differently: tabs and other unusual characters, markers of documents that are
 * indented, directives, escapes of line breaks and of large characters, and indentation indicators of block scalars.
 */
const UNUSUAL = /[^\n\x20-\x7e\u00a1-\u1fff\u2010-\u2027\u2030-\ud7ff]|^\.\.\.|^ +---|^ *%|\\(?:U|$)|[|>][-+]?\d/m;
/** YAML limits a field name and the spaces before its colon to 1,024 characters. js-yaml has no limit. */
const MAX_KEY_LENGTH = 500;
const MANY_SPACES = " ".repeat(500);
/** Matches text after a flow collection, if the text contains one. js-yaml accepts such a text, but it is invalid. */
const AFTER_FLOW = /[\]}](?: *[^ \n,\]}#]|#)/;
const STRINGS = new StringPool();
const OTHER_SYNTAX = new Error("the text uses other syntax");

/**
 * Reads the documents of a text 10 times as fast as `yamlDocuments`, and returns the same values. Returns null for an
 * invalid text, and for rare syntax, which `yamlDocuments` reads: tags, anchors, aliases, merge keys, field names that
 * are not strings, and empty list items. See docs/decisions/0010-two-yaml-parsers.md
 */
export function documentsFromEvents(
  text: string, limit: number = LIMITS.manifestDocuments.value,
): readonly EventDocument[] | null {
  if (text.length > MAX_LENGTH || UNUSUAL.test(text) || text.includes(MANY_SPACES)) return null;
  try {
    return new EventReader(text, parseEvents(text, { maxDepth: MAX_DEPTH / 2 })).documents(limit);
  } catch (error) {
    // js-yaml reports a syntax error. The text is invalid, or one of the parsers is stricter than the other.
    if (error === OTHER_SYNTAX || error instanceof YAMLException) return null;
    throw error;
  }
}

/** Builds values from the events of a text. */
class EventReader {
  readonly #text: string;
  readonly #strings: StringPool;
  readonly #events: readonly Event[];
  #next = 0;
  /** The lines of the document that is being read. */
  #lines: number[] = [];
  /** The line that contains the offset, and the offset of its end. */
  #line = 1;
  #lineEnd: number;
  #isInFlow = false;
  #hasTextAfterFlow: boolean | null = null;

  constructor(text: string, events: readonly Event[]) {
    this.#text = text;
    // The pool of all files must not contain the values of a Secret.
    this.#strings = mayContainSecret(text) ? new StringPool() : STRINGS;
    this.#events = events;
    this.#lineEnd = endOfLine(text, 0);
  }

  documents(limit: number): EventDocument[] {
    const documents: EventDocument[] = [];
    while (this.#next < this.#events.length) {
      if (documents.length === limit) throw OTHER_SYNTAX;
      const event = this.#take();
      if (event.type !== EVENT_ID.DOCUMENT || event.directives.length > 0) throw OTHER_SYNTAX;
      this.#lines = [];
      const content = this.#take();
      const line = this.#lineOf(Math.max(0, startOf(content)));
      documents.push({ value: this.#value(content), line, lines: new LineList(this.#lines) });
      this.#take();
    }
    return documents;
  }

  #take(): Event {
    const event = this.#events[this.#next++];
    if (event === undefined) throw OTHER_SYNTAX;
    return event;
  }

  #value(event: Event): unknown {
    if (event.type === EVENT_ID.SCALAR) return this.#scalar(event);
    if (event.type !== EVENT_ID.MAPPING && event.type !== EVENT_ID.SEQUENCE) throw OTHER_SYNTAX;
    if (event.tagStart !== -1 || event.anchorStart !== -1) throw OTHER_SYNTAX;
    if (event.style === COLLECTION_STYLE.FLOW) return this.#flow(event);
    return event.type === EVENT_ID.MAPPING ? this.#object() : this.#list();
  }

  /** Reads a flow collection. The parsers differ for comments and line breaks in flow collections. */
  #flow({ type, start }: MappingEvent | SequenceEvent): unknown {
    this.#hasTextAfterFlow ??= AFTER_FLOW.test(this.#text);
    if (this.#hasTextAfterFlow) throw OTHER_SYNTAX;
    const isOutermost = !this.#isInFlow;
    if (isOutermost && !isOneLine(this.#text.slice(start, endOfLine(this.#text, start)))) throw OTHER_SYNTAX;
    this.#isInFlow = true;
    const value = type === EVENT_ID.MAPPING ? this.#object() : this.#list();
    if (isOutermost) this.#isInFlow = false;
    return value;
  }

  #object(): object {
    const object: Record<string, unknown> = {};
    for (let event = this.#take(); event.type !== EVENT_ID.POP; event = this.#take()) {
      const key = this.#key(event);
      if (Object.hasOwn(object, key)) throw OTHER_SYNTAX;
      this.#lines.push(this.#lineOf(startOf(event)));
      object[key] = this.#value(this.#take());
    }
    return object;
  }

  #key(event: Event): string {
    if (event.type !== EVENT_ID.SCALAR || event.valueStart === -1) throw OTHER_SYNTAX;
    if (event.valueEnd - event.valueStart > MAX_KEY_LENGTH) throw OTHER_SYNTAX;
    const key = this.#scalar(event);
    // JavaScript sorts the fields of an object that are numbers.
    if (typeof key !== "string" || key === "<<" || key === "__proto__" || /^\d/.test(key)) throw OTHER_SYNTAX;
    return key;
  }

  #list(): unknown[] {
    const list: unknown[] = [];
    for (let event = this.#take(); event.type !== EVENT_ID.POP; event = this.#take()) {
      const start = startOf(event);
      if (start === -1) throw OTHER_SYNTAX;
      this.#lines.push(this.#lineOf(start));
      list.push(this.#value(event));
    }
    // The copy has no spare capacity: the first `push` reserves 17 elements.
    return list.slice();
  }

  #scalar(event: ScalarEvent): string | number | boolean | null {
    if (event.tagStart !== -1 || event.anchorStart !== -1) throw OTHER_SYNTAX;
    if (event.chomping === CHOMPING_MODE.KEEP) throw OTHER_SYNTAX;
    const text = this.#strings.get(getScalarValue(this.#text, event));
    if (event.style !== SCALAR_STYLE.PLAIN) return text;
    const scalar = plainScalar(text);
    const value = typeof scalar === "bigint" ? Number(scalar) : scalar;
    if (typeof value === "number" && !Number.isFinite(value)) throw OTHER_SYNTAX;
    return value;
  }

  /** Returns the line of an offset. The offset must not be less than the one of the previous call. */
  #lineOf(offset: number): number {
    while (offset > this.#lineEnd) {
      this.#lineEnd = endOfLine(this.#text, this.#lineEnd + 1);
      this.#line += 1;
    }
    if (this.#line > MAX_LINE) throw OTHER_SYNTAX;
    return this.#line;
  }
}

/** Whether a flow collection ends in the line that starts with it. */
function isOneLine(line: string): boolean {
  return line.split(/[[{]/).length === line.split(/[\]}]/).length;
}

function endOfLine(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  return end === -1 ? text.length : end;
}

/** Returns the offset at which a value starts. A block scalar starts at its indicator, which no event contains. */
function startOf(event: Event): number {
  if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE) return event.start;
  const isKnown = event.type === EVENT_ID.SCALAR && !BLOCK_STYLES.has(event.style);
  if (!isKnown) throw OTHER_SYNTAX;
  return event.valueStart;
}

const BLOCK_STYLES: ReadonlySet<ScalarEvent["style"]> = new Set([
  SCALAR_STYLE.LITERAL_BLOCK, SCALAR_STYLE.FOLDED_BLOCK,
]);
