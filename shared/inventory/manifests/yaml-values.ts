import { isAlias, isMap, isNode, isScalar, isSeq, type Node, type Scalar as ScalarNode, type YAMLMap } from "yaml";
import { isJsonObject, type JsonObject } from "../../decisions/kubernetes/json.ts";
import { plainScalar, type Scalar, scalarKey } from "./yaml-scalars.ts";

/** Where the fields of each object and list read begin, in characters from the start of the text. */
export type Positions = WeakMap<object, ReadonlyMap<string | number, number>>;

export interface YamlReading {
  readonly positions: Positions;
  /** Takes a fault at a character offset. */
  fault(offset: number, message: string): void;
}

/** yaml's own limit is for `toJS`, which is not used here: a small file must not become a large object. */
const MAX_ALIASED_VALUES = 100_000;
const CORE_TAG = "tag:yaml.org,2002:";

interface Entry {
  readonly value: unknown;
  readonly offset: number;
  readonly merged: boolean;
}

/** Turns one document's nodes into JSON as kubectl does, with every fault and the place of every field. */
export class YamlValues {
  readonly #reading: YamlReading;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  #aliasedValues = 0;
  /** Of the alias being read, the outermost one. */
  #aliasOffset = 0;

  constructor(reading: YamlReading) {
    this.#reading = reading;
  }

  /** Faults are told to the reading, and the value there is null. */
  read(node: unknown): unknown {
    if (this.#aliasDepth > 0 && ++this.#aliasedValues > MAX_ALIASED_VALUES) return this.#tooManyAliased();
    if (isAlias(node)) return this.#alias(node.source, node);
    if (isScalar(node)) return this.#scalarValue(node);
    if (!isMap(node) && !isSeq(node)) return null;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    this.#open.add(node);
    const value = isMap(node) ? this.#map(node) : this.#list(node.items);
    this.#open.delete(node);
    return value;
  }

  #list(items: readonly unknown[]): unknown[] {
    const list = items.map((item) => this.read(item));
    this.#reading.positions.set(list, new Map(items.map((item, index) => [index, startOf(item)])));
    return list;
  }

  #map(node: YAMLMap): unknown {
    const entries = new Map<string, Entry>();
    for (const { key, value } of node.items) {
      if (isMergeKey(key)) this.#merge(value, entries);
      else this.#entry(entries, key, value);
    }
    // fromEntries makes `__proto__` an own field like any other.
    const object: object = Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
    this.#reading.positions.set(object, new Map([...entries].map(([key, { offset }]) => [key, offset])));
    return object;
  }

  #entry(entries: Map<string, Entry>, keyNode: unknown, valueNode: unknown): void {
    const offset = startOf(keyNode);
    const key = this.#key(keyNode, offset);
    const value = this.read(valueNode);
    if (key === null) return;
    const earlier = entries.get(key);
    if (earlier !== undefined && !earlier.merged) {
      this.#reading.fault(offset, `the field "${key}" stands twice in one object; keep one of them`);
      return;
    }
    // In the place where a merge key has put it, or as a new one.
    entries.set(key, { value, offset, merged: false });
  }

  #key(node: unknown, offset: number): string | null {
    const target = isAlias(node) ? this.#anchors.get(node.source) : node;
    const key = isScalar(target) ? scalarKey(this.#scalar(target)) : null;
    if (key === null) this.#reading.fault(offset, "a field's name must be a string; a null, a list or an object cannot be one");
    return key;
  }

  /**
   * `<<`: the fields of one object, or of several of which the first wins. kubectl lets a merge key that comes last win over the
   * object's own field, other readers do not, so that is a fault.
   */
  #merge(node: unknown, entries: Map<string, Entry>): void {
    const sources = isSeq(node) ? [...node.items].toReversed() : [node];
    for (const source of sources) {
      const value = this.read(source);
      if (isJsonObject(value)) this.#mergeObject(value, entries);
      else this.#reading.fault(startOf(source), "a merge key (<<) takes an object or a list of objects");
    }
  }

  #mergeObject(object: JsonObject, entries: Map<string, Entry>): void {
    const offsets = this.#reading.positions.get(object);
    for (const [key, value] of Object.entries(object)) {
      const own = entries.get(key);
      if (own?.merged === false) this.#reading.fault(own.offset, `the field "${key}" stands before a merge key that sets it too; put the merge key (<<) first`);
      else entries.set(key, { value, offset: offsets?.get(key) ?? 0, merged: true });
    }
  }

  #alias(anchor: string, node: Node): unknown {
    const target = this.#anchors.get(anchor);
    if (target === undefined || this.#open.has(target)) {
      const problem = target === undefined ? "has no anchor before it" : "is inside what it stands for";
      this.#reading.fault(startOf(node), `the alias *${anchor} ${problem}`);
      return null;
    }
    if (this.#aliasDepth === 0) this.#aliasOffset = startOf(node);
    this.#aliasDepth++;
    const value = this.read(target);
    this.#aliasDepth--;
    return value;
  }

  #tooManyAliased(): null {
    if (this.#aliasedValues === MAX_ALIASED_VALUES + 1) {
      this.#reading.fault(this.#aliasOffset, `aliases stand for more than ${MAX_ALIASED_VALUES} values; write them out in several files`);
    }
    return null;
  }

  #scalarValue(node: ScalarNode): string | number | boolean | null {
    const scalar = this.#scalar(node);
    const value = typeof scalar === "bigint" ? Number(scalar) : scalar;
    if (typeof value !== "number" || Number.isFinite(value)) return value;
    this.#reading.fault(startOf(node), `${textOf(node)} has no form in JSON; quote it if it is meant as text`);
    return null;
  }

  #scalar(node: ScalarNode): Scalar {
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    const text = textOf(node);
    if (node.tag === undefined) return node.type === "PLAIN" ? plainScalar(text) : text;
    const tag = node.tag.replace(CORE_TAG, "");
    if (tag === "binary") return Buffer.from(text, "base64").toString();
    const fits = TAGGED.get(tag);
    if (fits === undefined) return text;
    const scalar = plainScalar(text);
    if (fits(scalar)) return scalar;
    this.#reading.fault(startOf(node), `"${text}" is not a !!${tag}`);
    return null;
  }
}

const TAGGED: ReadonlyMap<string, (scalar: Scalar) => boolean> = new Map<string, (scalar: Scalar) => boolean>([
  ["int", (scalar) => typeof scalar === "bigint"],
  ["float", (scalar) => typeof scalar === "number" || typeof scalar === "bigint"],
  ["bool", (scalar) => typeof scalar === "boolean"],
  ["null", (scalar) => scalar === null],
]);

/** The text as written, unquoted and unescaped; the parser's own reading of it is not used. */
function textOf(node: ScalarNode): string {
  return node.source ?? "";
}

function isMergeKey(node: unknown): boolean {
  return isScalar(node) && node.type === "PLAIN" && node.source === "<<";
}

function startOf(node: unknown): number {
  return (isNode(node) ? node.range?.[0] : null) ?? 0;
}
