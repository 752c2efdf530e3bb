import {
  isAlias, isMap, isNode, isScalar, isSeq, type Node, type Scalar as ScalarNode, type YAMLMap, type YAMLSeq,
} from "yaml";
import { isJsonObject, type JsonObject } from "../formats/json.ts";
import { LIMITS } from "../core/limits.ts";
import { plainScalar, type Scalar, scalarKey } from "../formats/yaml-scalars.ts";

/** For each object and list, the offsets of its fields or elements, in characters from the start of the text. */
export type Positions = WeakMap<object, ReadonlyMap<string | number, number>>;

interface YamlContext {
  readonly positions: Positions;
  readonly aliases: AliasBudget;
  /** Records a fault at a character offset. */
  fault(offset: number, message: string): void;
}

/**
 * Counts the values that the aliases of one file expand to, so that a small file cannot expand to large objects. The
 * yaml package applies its own limit only in `toJS`, which is not used here.
 */
export class AliasBudget {
  #values = 0;

  /** Counts one value. Returns false if the limit is exceeded. */
  take(): boolean {
    this.#values += 1;
    return this.#values <= LIMITS.aliasedValues.value;
  }
}

export const MAX_DEPTH = LIMITS.objectDepth.value;
export const TOO_DEEP = `nested deeper than ${MAX_DEPTH} levels`;
const TOO_MANY_ALIASED = `aliases expand to more than ${LIMITS.aliasedValues.value} values; use several files`;
/** The fault of a field name that is not a scalar. A template causes it, because `{{ x }}` is a map in YAML. */
export const BAD_FIELD_NAME = "the field name is not a string";
const CORE_TAG = "tag:yaml.org,2002:";

interface Entry {
  readonly value: unknown;
  readonly offset: number;
  readonly merged: boolean;
}

/** Converts the nodes of one YAML document to JSON like kubectl. Records faults and the offset of each field. */
export class YamlValues {
  readonly #context: YamlContext;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  /** The offset of the outermost alias that is being expanded. */
  #aliasOffset = 0;
  readonly #reported = new Set<string>();

  constructor(context: YamlContext) {
    this.#context = context;
  }

  /** Returns the value of a node. If the node has a fault, reports the fault to the context and returns null. */
  read(node: unknown): unknown {
    if (this.#aliasDepth > 0 && !this.#context.aliases.take()) return this.#excess(node, TOO_MANY_ALIASED);
    if (isAlias(node)) return this.#alias(node.source, node);
    if (isScalar(node)) return this.#scalarValue(node);
    return isMap(node) || isSeq(node) ? this.#collection(node) : null;
  }

  #collection(node: YAMLMap | YAMLSeq): unknown {
    // The set contains each open list and object. The depth is checked here too, because aliases increase the depth.
    if (this.#open.size >= MAX_DEPTH) return this.#excess(node, TOO_DEEP);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    this.#open.add(node);
    const value = isMap(node) ? this.#map(node) : this.#list(node.items);
    this.#open.delete(node);
    return value;
  }

  #list(items: readonly unknown[]): unknown[] {
    const list = items.map((item) => this.read(item));
    this.#context.positions.set(list, new Map(items.map((item, index) => [index, startOf(item)])));
    return list;
  }

  #map(node: YAMLMap): unknown {
    const entries = new Map<string, Entry>();
    for (const { key, value } of node.items) {
      if (isMergeKey(key)) this.#merge(value, entries);
      else this.#entry(entries, key, value);
    }
    // fromEntries treats the key `__proto__` like any other key.
    const object: object = Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
    this.#context.positions.set(object, new Map([...entries].map(([key, { offset }]) => [key, offset])));
    return object;
  }

  #entry(entries: Map<string, Entry>, keyNode: unknown, valueNode: unknown): void {
    const offset = startOf(keyNode);
    const key = this.#key(keyNode, offset);
    const value = this.read(valueNode);
    if (key === null) return;
    const earlier = entries.get(key);
    if (earlier !== undefined && !earlier.merged) {
      this.#context.fault(offset, `duplicate field "${key}"; remove one of them`);
      return;
    }
    entries.set(key, { value, offset, merged: false });
  }

  #key(node: unknown, offset: number): string | null {
    const target = isAlias(node) ? this.#anchors.get(node.source) : node;
    const key = isScalar(target) ? scalarKey(this.#scalar(target)) : null;
    if (key === null) this.#context.fault(offset, BAD_FIELD_NAME);
    return key;
  }

  /**
   * Merges the fields of the value of a merge key (`<<`): one object or a list of objects. In a list, the first object
   * has priority. A merge key must not follow a field that it also sets: kubectl would override the field, but other
   * parsers would not.
   */
  #merge(node: unknown, entries: Map<string, Entry>): void {
    const sources = isSeq(node) ? [...node.items].toReversed() : [node];
    for (const source of sources) {
      const value = this.read(source);
      if (isJsonObject(value)) this.#mergeObject(value, entries);
      else this.#context.fault(startOf(source), "the value of a merge key (<<) must be an object or a list of objects");
    }
  }

  #mergeObject(object: JsonObject, entries: Map<string, Entry>): void {
    const offsets = this.#context.positions.get(object);
    for (const [key, value] of Object.entries(object)) {
      const own = entries.get(key);
      if (own?.merged === false) {
        const problem = `the field "${key}" precedes a merge key (<<) that also sets it`;
        this.#context.fault(own.offset, `${problem}; move the merge key first`);
      } else entries.set(key, { value, offset: offsets?.get(key) ?? 0, merged: true });
    }
  }

  #alias(anchor: string, node: Node): unknown {
    const target = this.#anchors.get(anchor);
    if (target === undefined || this.#open.has(target)) {
      const problem = target === undefined ? "has no preceding anchor" : "refers to a node that contains it";
      this.#context.fault(startOf(node), `the alias *${anchor} ${problem}`);
      return null;
    }
    if (this.#aliasDepth === 0) this.#aliasOffset = startOf(node);
    this.#aliasDepth++;
    const value = this.read(target);
    this.#aliasDepth--;
    return value;
  }

  /** Reports a limit once for each document, because all later values exceed the limit too. */
  #excess(node: unknown, message: string): null {
    const offset = this.#aliasDepth > 0 ? this.#aliasOffset : startOf(node);
    if (!this.#reported.has(message)) this.#context.fault(offset, message);
    this.#reported.add(message);
    return null;
  }

  #scalarValue(node: ScalarNode): string | number | boolean | null {
    const scalar = this.#scalar(node);
    const value = typeof scalar === "bigint" ? Number(scalar) : scalar;
    if (typeof value !== "number" || Number.isFinite(value)) return value;
    this.#context.fault(startOf(node), `${textOf(node)} is not a JSON number; quote it to make it a string`);
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
    this.#context.fault(startOf(node), `"${text}" is not a !!${tag}`);
    return null;
  }
}

const TAGGED: ReadonlyMap<string, (scalar: Scalar) => boolean> = new Map<string, (scalar: Scalar) => boolean>([
  ["int", (scalar) => typeof scalar === "bigint"],
  ["float", (scalar) => typeof scalar === "number" || typeof scalar === "bigint"],
  ["bool", (scalar) => typeof scalar === "boolean"],
  ["null", (scalar) => scalar === null],
]);

/** Returns the unquoted and unescaped text of a scalar. */
function textOf(node: ScalarNode): string {
  return node.source ?? "";
}

function isMergeKey(node: unknown): boolean {
  return isScalar(node) && node.type === "PLAIN" && node.source === "<<";
}

function startOf(node: unknown): number {
  return (isNode(node) ? node.range?.[0] : null) ?? 0;
}
