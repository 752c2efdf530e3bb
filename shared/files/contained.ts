import type { TemplateContext } from "../core/context.ts";
import { LIMITS } from "../core/limits.ts";
import {
  field, type FieldPath, type FieldStep, formatFieldPath, isJsonObject, type JsonObject, stringAt,
} from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { compareText } from "../formats/text.ts";
import { asObject } from "./object-shape.ts";

/** A kind whose objects contain manifests of other objects. */
interface Container {
  /** The fields that contain a manifest. `*` stands for each item of a list, and a last `**` for any depth. */
  readonly paths: readonly string[];
  /** Whether a controller creates the objects again for each instance, in the same cluster. */
  readonly isRepeated: boolean;
  /** The fields that the controller sets in each object. */
  readonly sets?: readonly string[];
}

const OF_KRO: Container = { paths: ["spec.resources.*.template"], isRepeated: true };
const OF_PROVIDER: Container = { paths: ["spec.forProvider.manifest"], isRepeated: false };

/**
 * The kinds that contain objects. Sources: kro api/v1alpha1/resourcegraphdefinition_types.go (formerly ResourceGroup),
 * crossplane v1 apis/apiextensions/v1/composition_types.go and function-patch-and-transform input/v1beta1/resources.go,
 * provider-kubernetes apis/cluster/object/v1alpha2/types.go and apis/namespaced/object/v1alpha1/types.go, argo-cd
 * pkg/apis/application/v1alpha1/types.go.
 */
const CONTAINERS: ReadonlyMap<string, Container> = new Map([
  ["ResourceGraphDefinition.kro.run", OF_KRO],
  ["ResourceGroup.kro.run", OF_KRO],
  ["Composition.apiextensions.crossplane.io", {
    paths: ["spec.resources.*.base", "spec.pipeline.*.input.resources.*.base"], isRepeated: true,
    sets: ["metadata.name"],
  }],
  ["Object.kubernetes.crossplane.io", OF_PROVIDER],
  ["Object.kubernetes.m.crossplane.io", OF_PROVIDER],
  // Each Application of a set usually belongs to another cluster or namespace.
  ["ApplicationSet.argoproj.io", {
    paths: [
      "spec.template.spec.source.helm.valuesObject.**", "spec.template.spec.sources.*.helm.valuesObject.**",
    ],
    isRepeated: false,
  }],
  ["Application.argoproj.io", {
    paths: ["spec.source.helm.valuesObject.**", "spec.sources.*.helm.valuesObject.**"], isRepeated: false,
  }],
]);

const KINDS: ReadonlySet<unknown> = new Set(Array.from(CONTAINERS.keys(), (type) => type.slice(0, type.indexOf("."))));

/** An object in a field of another object. */
export interface Contained extends TemplateContext {
  readonly object: JsonObject;
  /** The path of the field in the outermost object. */
  readonly path: FieldPath;
}

/** Returns the objects in the fields of a container, also those in nested containers. Returns [] for other objects. */
export function containedObjects(object: JsonObject): Contained[] {
  return contentsOf(object, { nesting: LIMITS.containedLevels.value, patched: new Map() });
}

interface Search {
  readonly nesting: number;
  /** The fields that the patches of an object set, so that thousands of templates share those of their container. */
  readonly patched: Map<unknown, FieldSet>;
}

function contentsOf(object: JsonObject, { nesting, patched }: Search): Contained[] {
  // Most objects of a folder have other kinds.
  if (!KINDS.has(field(object, "kind"))) return [];
  const { group, kind } = objectReference(object);
  const container = CONTAINERS.get(`${kind}.${group}`);
  if (container === undefined || nesting === 0) return [];
  return container.paths.flatMap((pattern) => valuesAt(object, pattern)).flatMap(({ path, value, parents }) => {
    const result = asObject(value);
    if ("fault" in result) return [];
    const { isRepeated, sets = [] } = container;
    const open = [new FieldSet(sets), ...parents.map((parent) => patchedBy(parent, patched))];
    const isOpen = (fieldPath: FieldPath): boolean => open.some((fields) => fields.overlaps(fieldPath));
    const found = { object: result.object, path, isRepeated, isOpen };
    const inner = contentsOf(result.object, { nesting: nesting - 1, patched }).map((one) => ({
      ...one, path: [...path, ...one.path], isRepeated: one.isRepeated || isRepeated,
    }));
    return [found, ...inner];
  });
}

interface Value {
  readonly value: unknown;
  readonly path: FieldPath;
  /** The objects and lists that contain the value, outermost first. */
  readonly parents: readonly unknown[];
}

/** Returns the values at the paths that match the pattern. */
function valuesAt(object: JsonObject, pattern: string): Value[] {
  let values: Value[] = [{ value: object, path: [], parents: [] }];
  for (const step of pattern.split(".")) {
    if (step === "**") return values.flatMap(objectsBelow);
    values = values.flatMap((at): Value[] => {
      if (step === "*") return Array.isArray(at.value) ? at.value.map((item, index) => child(at, index, item)) : [];
      const value = field(at.value, step);
      return value === undefined ? [] : [child(at, step, value)];
    });
  }
  return values;
}

function child({ value: parent, path, parents }: Value, step: FieldStep, value: unknown): Value {
  return { value, path: [...path, step], parents: [...parents, parent] };
}

/** Returns each value below that has the fields of an object. The parsers limit the depth of a document. */
function objectsBelow(at: Value): Value[] {
  const { value } = at;
  if (isManifest(value)) return [at];
  if (Array.isArray(value)) return value.flatMap((item, index) => objectsBelow(child(at, index, item)));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => objectsBelow(child(at, key, item)));
}

/** Whether a value is an object, not a reference to one: a reference has no `metadata`. */
export function isManifest(value: unknown): value is JsonObject {
  return isJsonObject(value) && "object" in asObject(value) && isJsonObject(field(value, "metadata"));
}

function patchedBy(parent: unknown, known: Search["patched"]): FieldSet {
  const fields = known.get(parent) ?? new FieldSet(patchedFields(parent));
  known.set(parent, fields);
  return fields;
}

/**
 * Returns the fields that the patches of an object set in the objects below, so that their values are not final.
 * Crossplane names a field in the format of `formatFieldPath`.
 */
function patchedFields(parent: unknown): readonly string[] {
  const sets = itemsOf(field(parent, "patchSets")).map((set) => field(set, "patches"));
  return [field(parent, "patches"), field(parent, "references"), ...sets].flatMap(itemsOf).flatMap((patch) => {
    const target = stringAt(patch, "toFieldPath") ?? stringAt(patch, "fromFieldPath")
      ?? stringAt(patch, "patchesFrom", "fieldPath");
    // A wildcard stands for every item of the list.
    return target === null ? [] : [target.replace(/\[\*\].*$/s, "")];
  });
}

/** Fields in the format of `formatFieldPath`. */
class FieldSet {
  readonly #fields: ReadonlySet<string>;
  readonly #sorted: readonly string[];

  constructor(fields: readonly string[]) {
    this.#fields = new Set(fields);
    this.#sorted = [...this.#fields].toSorted(compareText);
  }

  /** Whether the set contains the field, a field that it is in, or a field in it. */
  overlaps(path: FieldPath): boolean {
    const outer = path.map((_, index) => formatFieldPath(path.slice(0, index + 1)));
    const text = outer.at(-1);
    if (text === undefined) return false;
    return outer.some((one) => this.#fields.has(one)) || [".", "["].some((next) => this.#hasPrefix(text + next));
  }

  #hasPrefix(prefix: string): boolean {
    let [from, to] = [0, this.#sorted.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#sorted[middle] ?? "") < prefix) from = middle + 1;
      else to = middle;
    }
    return this.#sorted[from]?.startsWith(prefix) === true;
  }
}

function itemsOf(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
}
