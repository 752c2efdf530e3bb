import { Composer, type Document, Lexer, LineCounter, Parser } from "yaml";
import { type FieldPath, plainKeys } from "../../decisions/kubernetes/field-path.ts";
import { field, isJsonObject, type JsonObject } from "../../decisions/kubernetes/json.ts";
import { printable } from "../../decisions/kubernetes/text.ts";
import { LIMITS } from "../../decisions/limits.ts";
import { AliasBudget, MAX_DEPTH, type Positions, TOO_DEEP, YamlValues } from "./yaml-values.ts";

/** One Kubernetes object and its position in the input. */
export interface Manifest {
  readonly object: JsonObject;
  /** The path of the file, as the user wrote it. The value `-` means standard input. */
  readonly file: string;
  /** The number of the YAML document in the file. The first document has number 1. */
  readonly document: number;
  /**
   * Returns the line number of the field at `path`, from 1. If the field is missing, returns the line of its nearest
   * parent field.
   */
  readonly lineOf: (path: FieldPath) => number | null;
}

/** A fault in an input file. `line` starts at 1. If `line` is null, the fault concerns the whole file. */
export interface InputFault {
  readonly file: string;
  readonly line: number | null;
  readonly message: string;
}

/** The objects that were read, and the faults of objects that could not be read. */
export interface ManifestResult {
  readonly manifests: readonly Manifest[];
  readonly faults: readonly InputFault[];
}

/**
 * Parses the Kubernetes objects in a YAML or JSON text. Supports multiple documents and `List` kinds. Parses scalars
 * like kubectl.
 */
export function readManifests(text: string, file: string): ManifestResult {
  const reader = new TextReader(file);
  try {
    reader.read(text);
  } catch (error) {
    if (error instanceof LimitExceeded) reader.fault(error.offset, error.message);
    // The yaml package passes lists as arguments of a call. Too many arguments overflow the call stack.
    else if (error instanceof RangeError) reader.fault(0, "too complex to parse; use several files");
    else throw error;
  }
  return reader.result();
}

/** A limit that applies to the whole file. If the file exceeds the limit, the rest of the file is not parsed. */
class LimitExceeded extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** Returns `FILE:LINE: MESSAGE` as one line that contains no control characters. */
export function formatInputFault({ file, line, message }: InputFault): string {
  return printable(line === null ? `${file}: ${message}` : `${file}:${line}: ${message}`);
}

/**
 * Returns a Composer that creates only the first error of each document, and no warnings. Creating an error takes about
 * 5 µs, and one character can cause an error.
 */
function composerOfFirstErrors(options: ConstructorParameters<typeof Composer>[0]): Composer {
  const composer = new Composer(options);
  // Overrides private members of the yaml package, because the package has no option for this.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const internals = composer as unknown as { onError: ErrorHandler; readonly errors: readonly unknown[] };
  const { onError } = internals;
  internals.onError = (source, code, message, isWarning) => {
    if (isWarning !== true && internals.errors.length === 0) onError(source, code, message);
  };
  return composer;
}

type ErrorHandler = (source: unknown, code: string, message: string, isWarning?: boolean) => void;

class TextReader {
  readonly #manifests: Manifest[] = [];
  readonly #faults: InputFault[] = [];
  /** The number of faults that are not listed because of the limit. */
  #moreFaults = 0;
  readonly #file: string;
  readonly #lines = new LineCounter();
  readonly #positions: Positions = new WeakMap();
  readonly #aliases = new AliasBudget();

  constructor(file: string) {
    this.#file = file;
  }

  result(): ManifestResult {
    const last = { file: this.#file, line: null, message: `and ${this.#moreFaults} more faults` };
    return { manifests: this.#manifests, faults: this.#moreFaults === 0 ? this.#faults : [...this.#faults, last] };
  }

  read(text: string): void {
    const { value: limit } = LIMITS.manifestBytes;
    if (text.length > limit) throw new LimitExceeded(0, `larger than ${limit} bytes; use several files`);
    // The class YamlValues parses the scalars, because no schema of the yaml package parses scalars like kubectl.
    const options = {
      version: "1.1", schema: "failsafe", uniqueKeys: false, prettyErrors: false, lineCounter: this.#lines,
    } as const;
    let number = 0;
    for (const document of composerOfFirstErrors(options).compose(this.#tokens(text))) {
      number += 1;
      if (number > LIMITS.manifestDocuments.value) {
        const message = `more than ${LIMITS.manifestDocuments.value} YAML documents; use several files`;
        throw new LimitExceeded(document.range[0], message);
      }
      this.#document(document, number);
    }
  }

  /**
   * Yields the tokens of the text, as `parseAllDocuments` of the yaml package does. Checks the depth before the
   * Composer of the package, which is recursive, reads a token. Skips errors that would not be reported: the Composer
   * takes about 7 µs for each error, and one character can cause an error.
   */
  *#tokens(text: string): ReturnType<Parser["parse"]> {
    const parser = new Parser(this.#lines.addNewLine);
    this.#lines.addNewLine(0);
    let hasError = false;
    for (const lexeme of new Lexer().lex(text)) {
      for (const token of parser.next(lexeme)) {
        if (token.type !== "error" || !hasError) yield token;
        // The Composer assigns later errors to another document.
        if (token.type === "error") hasError = true;
        else if (token.type === "document" || token.type === "directive") hasError = false;
      }
      // The stack contains the document, its open lists and objects, and at most one scalar.
      if (parser.stack.length > MAX_DEPTH + 2) throw new LimitExceeded(parser.offset, TOO_DEEP);
    }
    yield* parser.end();
  }

  fault(offset: number, message: string): void {
    if (this.#faults.length >= LIMITS.faultsPerFile.value) this.#moreFaults += 1;
    else this.#faults.push({ file: this.#file, line: this.#line(offset), message });
  }

  #document(document: Document.Parsed, number: number): void {
    const [error] = document.errors;
    if (error !== undefined) {
      // Reports only the first syntax error of a document, because the first error usually causes the other errors.
      this.fault(error.pos[0], `invalid YAML: ${error.message}`);
      return;
    }
    let isFaulty = false;
    const fault = (offset: number, message: string): void => {
      isFaulty = true;
      this.fault(offset, message);
    };
    const context = { positions: this.#positions, aliases: this.#aliases, fault };
    const value = new YamlValues(context).read(document.contents);
    if (isFaulty || value === null) return;
    this.#object(value, { document: number, offset: document.contents?.range[0] ?? 0 });
  }

  #object(value: unknown, place: Place): void {
    if (!isJsonObject(value)) {
      this.fault(place.offset, "not a Kubernetes object; expected fields such as apiVersion and kind");
      return;
    }
    const missing = ["apiVersion", "kind"].filter((name) => !isNonEmptyString(field(value, name)));
    if (missing.length > 0) {
      this.fault(place.offset, `not a Kubernetes object: ${missing.join(" and ")} must be set to a string`);
      return;
    }
    const items = listItems(value);
    if (items === null) this.#manifests.push(this.#manifest(value, place));
    else this.#list(value, items, place);
  }

  #list(list: JsonObject, items: readonly unknown[], place: Place): void {
    const offsets = this.#positions.get(items);
    for (const [index, item] of items.entries()) {
      this.#object(this.#typed(item, list), { document: place.document, offset: offsets?.get(index) ?? place.offset });
    }
  }

  /**
   * Adds apiVersion and kind to a list item. In a list from the API server, such as `NamespaceList`, items lack these
   * fields.
   */
  #typed(item: unknown, list: JsonObject): unknown {
    const kind = String(field(list, "kind")).slice(0, -"List".length);
    if (!isJsonObject(item) || kind === "") return item;
    if (Object.hasOwn(item, "kind") || Object.hasOwn(item, "apiVersion")) return item;
    const type = [["apiVersion", field(list, "apiVersion")], ["kind", kind]] as const;
    const typed: JsonObject = Object.fromEntries([...type, ...Object.entries(item)]);
    this.#positions.set(typed, this.#positions.get(item) ?? new Map());
    return typed;
  }

  #manifest(object: JsonObject, { document, offset }: Place): Manifest {
    return { object, file: this.#file, document, lineOf: (path) => this.#line(this.#offsetOf(object, path, offset)) };
  }

  #offsetOf(object: JsonObject, path: FieldPath, start: number): number {
    let offset = start;
    let value: unknown = object;
    for (const key of plainKeys(path)) {
      const next = typeof value === "object" && value !== null ? this.#positions.get(value)?.get(key) : undefined;
      if (next === undefined) return offset;
      offset = next;
      value = Array.isArray(value) ? (value as unknown[])[Number(key)] : field(value, String(key));
    }
    return offset;
  }

  #line(offset: number): number {
    return Math.max(1, this.#lines.linePos(offset).line);
  }
}

interface Place {
  readonly document: number;
  readonly offset: number;
}

/** Returns the items if the object's kind ends in `List`. Returns null for any other object. */
function listItems(object: JsonObject): readonly unknown[] | null {
  const items = field(object, "items");
  if (!String(field(object, "kind")).endsWith("List") || items === undefined) return null;
  if (items === null) return [];
  return Array.isArray(items) ? (items as unknown[]) : null;
}

function isNonEmptyString(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
