import { isACKGroup, nearestGroups } from "../core/ack-groups.ts";
import {
  compileSpec, type EffectiveSelector, selectsNamespace, selectsWithinNamespace,
} from "../core/effective-selector.ts";
import { KINDS_OF_CLUSTER, type KindStore } from "../core/kind-store.ts";
import { NAMESPACES, type NamespaceStore } from "../core/namespaces.ts";
import { readsAPIVersion, type TypeEntry } from "../core/resource-types.ts";
import { type Edit, set } from "../core/repair.ts";
import { NO_EXTRAS } from "../core/session.ts";
import type { InventoryContext, StoreKey, Stores } from "../core/store.ts";
import { type UnknownPart, unknownPart } from "../core/type-index.ts";
import { type FieldPath, isSame } from "../formats/json.ts";
import { bundledTypes } from "./bundled-types.ts";
import { labelGuesses, MAX_SEARCHED } from "./label-guesses.ts";
import { type ComparedResource, conditionsOf } from "./selector-conditions.ts";
import type { JudgedSelector } from "./selector.ts";
import { SELECTORS, type SelectorStore } from "./selectors.ts";

/** A name in a selector that nothing has, and that is similar to one that exists. */
export interface Misspelling {
  readonly selector: EffectiveSelector;
  /** The condition of the selector that the name belongs to. */
  readonly condition: FieldPath;
  readonly written: string;
  readonly meant: string;
  /** The edits that write what is meant; none if the field also contains something else. */
  readonly edits: readonly Edit[];
}

interface Indexed extends Misspelling {
  /** What the name probably means: `namespace NAME`, `label KEY=VALUE` or `type GROUP VERSION KIND`. */
  readonly key: string;
}

const NAMES: FieldPath = ["spec", "namespaceSelector", "names"];
const LABELS: FieldPath = ["spec", "namespaceSelector", "labelSelector"];
const TYPES: FieldPath = ["spec", "resourceTypeSelector"];

/** The number of selectors with one misspelling, or of malformed ones of a namespace, that are compared. */
const MAX_COMPARED = 20;

/**
 * The selectors that nearly select something: those with a misspelled name, and the malformed ones. Built at the first
 * lookup after a change, in time that is proportional to the number of selectors.
 */
export class MissIndex {
  readonly #context: InventoryContext;
  readonly #selectors: SelectorStore;
  readonly #namespaces: NamespaceStore;
  readonly #kinds: KindStore;
  #revision = "";
  #misspelled: ReadonlyMap<string, readonly Misspelling[]> = new Map();
  /** The malformed selectors, by a namespace that they list or a label that they require; "" for neither. */
  #malformed: ReadonlyMap<string, readonly JudgedSelector[]> = new Map();

  constructor(stores: Stores) {
    this.#context = stores.context;
    this.#selectors = stores.of(SELECTORS);
    this.#namespaces = stores.of(NAMESPACES);
    this.#kinds = stores.of(KINDS_OF_CLUSTER);
  }

  /** The number of what is misspelled. */
  get size(): number {
    this.#update();
    return this.#misspelled.size;
  }

  /** Returns the misspellings without which a selector would select the resource. */
  misspelledFor(compared: ComparedResource): Misspelling[] {
    this.#update();
    const { query: { namespace }, type } = compared;
    const keys = [
      `namespace ${namespace}`, ...typeKeys(type),
      ...Array.from(this.#namespaces.labelsOf(namespace), ([key, value]) => `label ${key}=${value}`),
    ];
    const found = keys.flatMap((key) => (this.#misspelled.get(key) ?? []).slice(0, MAX_COMPARED));
    return found.filter(({ selector, condition }) => (
      conditionsOf(selector).every(({ path, compare }) => isSame(path, condition) || compare(compared).holds)
    ));
  }

  /** Returns the malformed selectors that would select the resource. */
  malformedFor({ query, type }: ComparedResource): JudgedSelector[] {
    this.#update();
    const labels = this.#namespaces.labelsOf(query.namespace);
    const keys = [`namespace ${query.namespace}`, ...Array.from(labels, ([key, value]) => `label ${key}=${value}`)];
    const found = new Set(keys.flatMap((key) => (this.#malformed.get(key) ?? []).slice(0, MAX_COMPARED)));
    return [...found].filter((judged) => {
      const selector = this.#compiled(judged);
      return selectsNamespace(selector, query.namespace, labels)
        && selectsWithinNamespace(selector, type, query.labels);
    });
  }

  #compiled({ spec, roleARN }: JudgedSelector): EffectiveSelector {
    const compiled = compileSpec({ ...spec, arn: roleARN }, this.#context);
    return { ...compiled, replaces: NONE, extras: NO_EXTRAS, grantable: false };
  }

  #update(): void {
    const revision = `${this.#selectors.revision} ${this.#namespaces.revision} ${this.#kinds.size}`;
    if (revision === this.#revision) return;
    this.#revision = revision;
    const misspellings = [...this.#selectors.values()].flatMap((selector) => [...this.#misspellingsIn(selector)]);
    this.#misspelled = Map.groupBy(misspellings, ({ key }) => key);
    const malformed = [...this.#selectors.malformed.values()];
    this.#malformed = new Map(Array.from(
      Map.groupBy(malformed.flatMap((judged) => keysOf(judged).map((key) => ({ key, judged }))), ({ key }) => key),
      ([key, entries]) => [key, entries.map(({ judged }) => judged)],
    ));
  }

  *#misspellingsIn(selector: EffectiveSelector): Iterable<Indexed> {
    const unknown = Array.from(selector.namespaces ?? [], (written, i) => ({ written, i }))
      .filter(({ written }) => !this.#namespaces.has(written));
    for (const { written, i } of unknown.slice(0, MAX_SEARCHED)) {
      for (const meant of this.#namespaces.misspelledBy(written)) {
        const path = [...NAMES, i];
        const edits = [set(path, meant)];
        yield { key: `namespace ${meant}`, selector, condition: NAMES, written, meant, edits };
      }
    }
    yield* this.#misspelledLabels(selector);
    yield* this.#misspelledTypes(selector);
  }

  *#misspelledLabels(selector: EffectiveSelector): Iterable<Indexed> {
    const { namespaceLabels } = selector;
    if (namespaceLabels === null) return;
    for (const guess of labelGuesses([LABELS, namespaceLabels], this.#namespaces.labels)) {
      const { condition, written } = guess;
      for (const { value: meant, labels, edits } of guess.meant) {
        for (const [key, value] of labels) {
          yield { key: `label ${key}=${value}`, selector, condition, written, meant, edits };
        }
      }
    }
  }

  *#misspelledTypes(selector: EffectiveSelector): Iterable<Indexed> {
    for (const [i, entry] of (selector.types?.entries ?? []).entries()) {
      const { part, nearest } = this.#unknownPart(entry) ?? { part: "version", nearest: [] };
      // An apiVersion contains the group and the version.
      const isField = part === "kind" || !readsAPIVersion(this.#context);
      for (const name of part === "version" ? [] : nearest) {
        const type = part === "kind" ? { ...entry, kind: name } : { ...entry, group: name };
        yield {
          key: typeKey(type), selector, condition: TYPES, written: typeText(entry), meant: typeText(type),
          edits: isField ? [set([...TYPES, i, part], name)] : [],
        };
      }
    }
  }

  /** Returns the part of an entry that no kind has, and the names that are similar to it. */
  #unknownPart(entry: TypeEntry): Pick<UnknownPart, "part" | "nearest"> | null {
    const { group, kind } = entry;
    if (group !== "" && !isACKGroup(group)) return { part: "group", nearest: nearestGroups(group) };
    return group === "" || kind === "" ? null : unknownPart(entry, [bundledTypes(), this.#kinds.defined]);
  }
}

const NONE: ReadonlySet<string> = new Set();

function typeKey({ group, version, kind }: TypeEntry): string {
  return `type ${group} ${version} ${kind}`;
}

/** Returns the keys of the entries that match the type. An empty part of an entry matches every type. */
function typeKeys({ group, version, kind }: TypeEntry): string[] {
  return [kind, ""].flatMap((oneKind) => [version, ""].map((one) => typeKey({ group, version: one, kind: oneKind })));
}

function typeText({ group, kind }: TypeEntry): string {
  return kind === "" ? group : `${kind}.${group}`;
}

/** Returns the keys by which a malformed selector is found. */
function keysOf({ spec: { namespaceSelector } }: JudgedSelector): string[] {
  const names = namespaceSelector?.names ?? [];
  const [label] = namespaceSelector?.labelSelector?.matchLabels ?? [];
  if (names.length > 0) return [...new Set(names)].map((name) => `namespace ${name}`);
  return label === undefined ? [] : [`label ${label[0]}=${label[1]}`];
}

/** The index of the selectors that nearly select something. */
export const MISSES: StoreKey<MissIndex> = { name: "misses", open: (stores) => new MissIndex(stores) };
