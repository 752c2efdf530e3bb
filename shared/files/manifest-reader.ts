import { type Document, LineCounter } from "yaml";
import { field, type FieldPath, isJsonObject, type JsonObject, plainKeys } from "../formats/json.ts";
import { printable } from "../formats/text.ts";
import { LIMITS } from "../core/limits.ts";
import { asObject, isRead, listItems, resemblesReadObject } from "./object-shape.ts";
import { mayContainSecret, removeSecretValues, withoutQuotedText } from "./secret-values.ts";
import { type NotManifest, withoutActions } from "./skip.ts";
import { DEFAULT_LIMIT, type DocumentLimit, LimitExceeded, yamlDocuments } from "./yaml-documents.ts";
import { documentsFromEvents } from "./yaml-events.ts";
import { AliasBudget, BAD_FIELD_NAME, type Positions, YamlValues } from "./yaml-values.ts";

/** One Kubernetes object and its position in the input. */
export interface Manifest {
  readonly object: JsonObject;
  /** The path of the file, as the user wrote it. The value `-` means standard input. */
  readonly file: string;
  /** The number of the YAML document in the file. The first document has number 1. */
  readonly document: number;
  /** The path of the object in its document, if it is an item of a List. */
  readonly at?: FieldPath;
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
  /** What faults with different messages have in common. Absent if faults of the same kind have the same message. */
  readonly kind?: "duplicate" | "syntax" | "value";
  /** Set if the fault is in an object of a kind that no decision reads, so that the object is not missed. */
  readonly unread?: true;
  /** Set if a document has neither the type of an object nor a part of one that is read. */
  readonly isOther?: true;
}

/** The objects that were read, and the faults of objects that could not be read. */
export interface ManifestResult {
  readonly manifests: readonly Manifest[];
  readonly faults: readonly InputFault[];
}

export interface ParsedManifests extends ManifestResult {
  /** Why the text is not a Kubernetes manifest. Null if it has no faults, or the faults are in a manifest. */
  readonly notManifest: NotManifest | null;
}

/**
 * Parses the Kubernetes objects in a YAML or JSON text. Supports multiple documents and `List` kinds. Parses scalars
 * like kubectl. The result contains no value of a Secret.
 */
export function readManifests(text: string, file: string, limit: DocumentLimit = DEFAULT_LIMIT): ParsedManifests {
  const manifests = manifestsFromEvents(text, file, limit);
  if (manifests !== null) return { manifests, faults: [], notManifest: null };
  const reader = parse(text, file, limit);
  return { ...reader.result(), notManifest: causeOf(reader, text) };
}

/** Returns the values of the documents in a text, which need not be objects. Returns [] for an invalid text. */
export function parseValues(text: string): unknown[] {
  const documents = documentsFromEvents(text);
  if (documents !== null) return documents.map(({ value }) => value);
  const context = { positions: new WeakMap(), aliases: new AliasBudget(), fault: (): void => undefined };
  try {
    return Array.from(yamlDocuments(text, new LineCounter()), ({ errors, contents }) => (
      errors.length > 0 ? null : new YamlValues(context).read(contents)
    ));
  } catch (error) {
    if (error instanceof LimitExceeded || error instanceof RangeError) return [];
    throw error;
  }
}

/** Returns the objects of a text in common syntax. Returns null for other texts, and for other data than objects. */
function manifestsFromEvents(text: string, file: string, { documents }: DocumentLimit): Manifest[] | null {
  const manifests: Manifest[] = [];
  for (const [index, { value, line, lines }] of (documentsFromEvents(text, documents) ?? []).entries()) {
    if (value === null) continue;
    const result = asObject(value);
    if ("fault" in result || listItems(result.object) !== null) return null;
    const { object } = result;
    removeSecretValues(object);
    manifests.push({ object, file, document: index + 1, lineOf: (path) => lines.lineOf(object, path, line) });
  }
  return manifests.length === 0 ? null : manifests;
}

/**
 * Returns why the text is not a manifest. A text is a template if its syntax is invalid only because of actions such as
 * `{{ .Values.name }}`. Invalid YAML, and a document without a kind next to an object, are faults of a manifest.
 */
function causeOf({ syntaxFaults, hasOnlyOtherData }: TextReader, text: string): NotManifest | null {
  if (hasOnlyOtherData) return "no-object";
  if (syntaxFaults === 0) return null;
  const rendered = withoutActions(text);
  return rendered !== null && parse(rendered, "").syntaxFaults === 0 ? "template" : null;
}

function parse(text: string, file: string, limit: DocumentLimit = DEFAULT_LIMIT): TextReader {
  const reader = new TextReader(file);
  try {
    reader.read(text, limit);
  } catch (error) {
    if (error instanceof LimitExceeded) reader.syntaxFault(error.offset, error.message);
    // The yaml package passes lists as arguments of a call. Too many arguments overflow the call stack.
    else if (error instanceof RangeError) reader.syntaxFault(0, "too complex to parse; use several files");
    else throw error;
  }
  return reader;
}

/** Returns `FILE:LINE: MESSAGE` as one line that contains no control characters. */
export function formatInputFault({ file, line, message }: InputFault): string {
  return printable(line === null ? `${file}: ${message}` : `${file}:${line}: ${message}`);
}

class TextReader {
  readonly #manifests: Manifest[] = [];
  readonly #faults: InputFault[] = [];
  /** The number of faults that are not listed because of the limit. */
  #moreFaults = 0;
  /** The number of documents that are not Kubernetes objects, and that resemble no object that is read. */
  #otherData = 0;
  /** The number of faults that actions of a template can cause. */
  syntaxFaults = 0;
  readonly #file: string;
  readonly #lines = new LineCounter();
  readonly #positions: Positions = new WeakMap();
  readonly #aliases = new AliasBudget();
  /** Whether the text may contain a Secret, whose values no fault may quote. */
  #hasSecret = false;

  constructor(file: string) {
    this.#file = file;
  }

  result(): ManifestResult {
    const last = { file: this.#file, line: null, message: `and ${this.#moreFaults} more faults` };
    return { manifests: this.#manifests, faults: this.#moreFaults === 0 ? this.#faults : [...this.#faults, last] };
  }

  /** Whether the text has documents, but none of them is a Kubernetes object or is invalid. */
  get hasOnlyOtherData(): boolean {
    const faults = this.#faults.length + this.#moreFaults;
    return faults > 0 && faults === this.#otherData && this.#manifests.length === 0;
  }

  read(text: string, limit: DocumentLimit): void {
    let number = 0;
    this.#hasSecret = mayContainSecret(text);
    for (const document of yamlDocuments(text, this.#lines, limit)) this.#document(document, ++number);
  }

  fault(offset: number, quoting: string, about: Pick<InputFault, "isOther" | "kind" | "unread"> = {}): void {
    const message = this.#hasSecret ? withoutQuotedText(quoting) : quoting;
    if (this.#faults.length >= LIMITS.faultsPerFile.value) this.#moreFaults += 1;
    else this.#faults.push({ file: this.#file, line: this.#line(offset), message, ...about });
  }

  syntaxFault(offset: number, message: string): void {
    this.syntaxFaults += 1;
    this.fault(offset, message, { kind: "syntax" });
  }

  #document(document: Document.Parsed, number: number): void {
    const [error] = document.errors;
    if (error !== undefined) {
      // Reports only the first syntax error of a document, because the first error usually causes the other errors.
      this.syntaxFault(error.pos[0], `invalid YAML: ${error.message}`);
      return;
    }
    const faults: (readonly [offset: number, message: string])[] = [];
    const fault = (offset: number, message: string): void => void faults.push([offset, message]);
    const context = { positions: this.#positions, aliases: this.#aliases, fault };
    const value = new YamlValues(context).read(document.contents);
    if (faults.length > 0) this.#valueFaults(faults, value);
    else if (value !== null) this.#object(value, { document: number, offset: document.contents?.range[0] ?? 0 });
  }

  /** Reports the faults of the values in a document. `value` is the document without the faulty values. */
  #valueFaults(faults: readonly (readonly [offset: number, message: string])[], value: unknown): void {
    const result = asObject(value);
    const isOther = "fault" in result && !resemblesReadObject(value);
    const isUnread = "object" in result && !isRead(result.object) && listItems(result.object) === null;
    for (const [offset, message] of faults) {
      if (isOther) this.#otherData += 1;
      if (message === BAD_FIELD_NAME) this.syntaxFaults += 1;
      this.fault(offset, message, isUnread ? { kind: "value", unread: isUnread } : { kind: "value" });
    }
  }

  #object(value: unknown, place: Place): void {
    const result = asObject(value);
    if ("fault" in result) {
      const isOther = place.at === undefined && !resemblesReadObject(value);
      if (isOther) this.#otherData += 1;
      this.fault(place.offset, result.fault, isOther ? { isOther } : {});
      return;
    }
    const items = listItems(result.object);
    if (items === null) this.#manifests.push(this.#manifest(result.object, place));
    else this.#list(result.object, items, place);
  }

  #list(list: JsonObject, items: readonly unknown[], place: Place): void {
    const offsets = this.#positions.get(items);
    for (const [index, item] of items.entries()) {
      const offset = offsets?.get(index) ?? place.offset;
      const at = [...place.at ?? [], "items", index];
      this.#object(this.#typed(item, list), { document: place.document, offset, at });
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

  #manifest(object: JsonObject, { document, offset, at }: Place): Manifest {
    removeSecretValues(object);
    const lineOf = (path: FieldPath): number => this.#line(this.#offsetOf(object, path, offset));
    return { object, file: this.#file, document, lineOf, ...(at !== undefined && { at }) };
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
  /** The path of the object in its document, if it is an item of a list. */
  readonly at?: FieldPath;
}
