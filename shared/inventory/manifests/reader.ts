import { type Document, LineCounter, parseAllDocuments } from "yaml";
import { type FieldPath, plainKeys } from "../../decisions/kubernetes/field-path.ts";
import { field, isJsonObject, type JsonObject } from "../../decisions/kubernetes/json.ts";
import { printable } from "../../decisions/kubernetes/text.ts";
import { type Positions, YamlValues } from "./yaml-values.ts";

/** One Kubernetes object as it was written. */
export interface Manifest {
  readonly object: JsonObject;
  /** As the user named it; `-` for standard input. */
  readonly file: string;
  /** The place of its document in the file, from 1. */
  readonly document: number;
  /** The line, from 1, of the field at `path`, or of the nearest field around it that was written. */
  readonly lineOf: (path: FieldPath) => number | null;
}

/** What is wrong with an input, where (`line` from 1, null for the file as a whole), and what was expected. */
export interface InputFault {
  readonly file: string;
  readonly line: number | null;
  readonly message: string;
}

/** Everything that could be read, and everything that could not. */
export interface ManifestReading {
  readonly manifests: readonly Manifest[];
  readonly faults: readonly InputFault[];
}

/** Reads the objects of a YAML or JSON text, multi-document and `List` kinds included, with scalars as kubectl reads them. */
export function readManifests(text: string, file: string): ManifestReading {
  const reader = new TextReader(file);
  try {
    reader.read(text);
  } catch (error) {
    // Parser and reader recurse, so that a text nested too deeply ends in a RangeError.
    if (!(error instanceof RangeError)) throw error;
    reader.fault(0, TOO_DEEP);
  }
  return reader;
}

/** `FILE:LINE: MESSAGE`, on one line that a terminal can print whatever the file holds. */
export function formatInputFault({ file, line, message }: InputFault): string {
  return printable(line === null ? `${file}: ${message}` : `${file}:${line}: ${message}`);
}

const TOO_DEEP = "objects are nested too deeply to be read";

class TextReader implements ManifestReading {
  readonly manifests: Manifest[] = [];
  readonly faults: InputFault[] = [];
  readonly #file: string;
  readonly #lines = new LineCounter();
  readonly #positions: Positions = new WeakMap();

  constructor(file: string) {
    this.#file = file;
  }

  read(text: string): void {
    // The scalars are read by YamlValues, not by a schema of the parser's: none of them is kubectl's.
    const options = { version: "1.1", schema: "failsafe", uniqueKeys: false, prettyErrors: false, lineCounter: this.#lines } as const;
    for (const [index, document] of [...parseAllDocuments(text, options)].entries()) this.#document(document, index + 1);
  }

  fault(offset: number, message: string): void {
    this.faults.push({ file: this.#file, line: this.#line(offset), message });
  }

  #document(document: Document.Parsed, number: number): void {
    const [error] = document.errors;
    if (error !== undefined) {
      // Of a document's syntax errors the first alone: those after it are mostly of its making.
      this.fault(error.pos[0], error.message.includes("call stack") ? TOO_DEEP : `not YAML: ${error.message}`);
      return;
    }
    const before = this.faults.length;
    const value = new YamlValues({ positions: this.#positions, fault: (offset, message) => this.fault(offset, message) }).read(document.contents);
    if (this.faults.length > before || value === null) return;
    this.#object(value, { document: number, offset: document.contents?.range[0] ?? 0 });
  }

  #object(value: unknown, place: Place): void {
    if (!isJsonObject(value)) {
      this.fault(place.offset, "not a Kubernetes object; expected fields such as apiVersion and kind");
      return;
    }
    const absent = ["apiVersion", "kind"].filter((name) => !isNonEmptyString(field(value, name)));
    if (absent.length > 0) {
      this.fault(place.offset, `not a Kubernetes object: ${absent.join(" and ")} must be set, as a string`);
      return;
    }
    const items = listItems(value);
    if (items === null) this.manifests.push(this.#manifest(value, place));
    else this.#list(value, items, place);
  }

  #list(list: JsonObject, items: readonly unknown[], place: Place): void {
    const offsets = this.#positions.get(items);
    for (const [index, item] of items.entries()) {
      this.#object(this.#typed(item, list), { document: place.document, offset: offsets?.get(index) ?? place.offset });
    }
  }

  /** The items of an API server's own `NamespaceList` carry no type: they have the list's. */
  #typed(item: unknown, list: JsonObject): unknown {
    const kind = String(field(list, "kind")).slice(0, -"List".length);
    if (!isJsonObject(item) || kind === "" || Object.hasOwn(item, "kind") || Object.hasOwn(item, "apiVersion")) return item;
    const typed: JsonObject = Object.fromEntries([["apiVersion", field(list, "apiVersion")], ["kind", kind], ...Object.entries(item)]);
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

/** The items of a `List` kind, null for any other object. */
function listItems(object: JsonObject): readonly unknown[] | null {
  const items = field(object, "items");
  if (!String(field(object, "kind")).endsWith("List") || items === undefined) return null;
  if (items === null) return [];
  return Array.isArray(items) ? (items as unknown[]) : null;
}

function isNonEmptyString(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
