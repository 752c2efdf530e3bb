import { field, type FieldPath, isJsonObject, type JsonObject, stringAt, valueAt } from "../formats/json.ts";

// How the patches of a ClusterClass set the identityRef of a template. Source: kubernetes-sigs/cluster-api,
// api/core/v1beta2/clusterclass_types.go, and internal/controllers/topology/cluster/patches: variables/variables.go,
// inline/json_patch_generator.go (matchesSelector, calculateValue).

/** The parts of a ClusterClass that name the template of an object with an identity, and how a selector names them. */
export const PARTS = [["infrastructure", "infrastructureCluster"], ["controlPlane", "controlPlane"]] as const;

export type Part = (typeof PARTS)[number];

/** The place of a value that patches can set. */
interface Place {
  readonly object: JsonObject;
  readonly path: FieldPath;
}

/** The places of the values of variables, by the name of the variable. */
export type Variables = ReadonlyMap<string, Place>;

interface Source extends Place {
  readonly value: unknown;
}

/** A reference that patches set. */
export interface PatchedReference {
  readonly value: unknown;
  /** Where the reference, or its field of this name, is written; "" stands for the reference. */
  readonly sources: ReadonlyMap<string, Source>;
}

/** What a patch sets: the field of the reference, or the reference (""), and what to. */
interface Patch {
  readonly name: string;
  readonly from: Source | VariableUse;
}

/** A variable or a field in it, such as `identity.name`. */
interface VariableUse {
  readonly name: string;
  readonly fields: FieldPath;
  /** Whether the value is the result of a template, which YAML reads. */
  readonly isTemplate: boolean;
}

/** The patches that set the identityRef of a template, in their order; null if their result cannot be computed. */
export type Patches = readonly Patch[] | null;

const REFERENCE = "/spec/template/spec/identityRef";
const FIELDS: readonly string[] = ["", "/kind", "/name"];

/** Returns the patches of a ClusterClass for the template that it names for a part. */
export function identityPatches(clusterClass: JsonObject, [, resource]: Part, template: TypedObject): Patches {
  const patches: Patch[] = [];
  for (const patch of listAt(clusterClass, "spec", "patches")) {
    // What an extension answers is not known.
    if (isJsonObject(field(patch, "external"))) return null;
    const definitions = listAt(patch, "definitions").filter((one) => matches(field(one, "selector"), template)
      && valueAt(one, ["selector", "matchResources", resource]) === true);
    const operations = definitions.flatMap((one) => listAt(one, "jsonPatches").filter(isJsonObject).filter(isRelevant));
    if (operations.length > 0 && field(patch, "enabledIf") !== undefined) return null;
    const compiled = operations.map((operation) => compile(operation, clusterClass)).filter((one) => one !== null);
    if (compiled.length < operations.length) return null;
    patches.push(...compiled);
  }
  return patches;
}

interface TypedObject {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Another version of the same kind does not match. */
function matches(selector: unknown, { apiVersion, kind }: TypedObject): boolean {
  return stringAt(selector, "apiVersion") === apiVersion && stringAt(selector, "kind") === kind;
}

/** Whether the operation can set the identityRef. */
function isRelevant(operation: JsonObject): boolean {
  const path = stringAt(operation, "path") ?? "";
  return `${path}/`.startsWith(`${REFERENCE}/`) || `${REFERENCE}/`.startsWith(`${path}/`);
}

const SETTING: ReadonlySet<unknown> = new Set(["add", "replace"]);
/** A template that is the value of one variable. */
const ONE_VARIABLE = /^\s*\{\{-?\s*\.([\w.-]+)\s*-?\}\}\s*$/;
/** A text that YAML reads as the same text. */
const PLAIN_TEXT = /^[A-Za-z][-\w.]*$/;

/** Returns what an operation sets; null if it sets nothing, or something that is not computed. */
function compile(operation: JsonObject, clusterClass: JsonObject): Patch | null {
  const name = FIELDS.find((one) => stringAt(operation, "path") === REFERENCE + one)?.slice(1);
  if (name === undefined || !SETTING.has(operation["op"])) return null;
  const { value } = operation;
  if (value !== undefined) return { name, from: { value, object: clusterClass, path: ["spec", "patches"] } };
  const variable = stringAt(operation, "valueFrom", "variable");
  if (variable !== null) return { name, from: variableUse(variable, false) };
  const [, ofTemplate] = ONE_VARIABLE.exec(stringAt(operation, "valueFrom", "template") ?? "") ?? [];
  return ofTemplate === undefined ? null : { name, from: variableUse(ofTemplate, true) };
}

function variableUse(text: string, isTemplate: boolean): VariableUse {
  const [name, ...fields] = text.split(".");
  return { name: String(name), fields, isTemplate };
}

/** Returns the reference after the patches; null if a patch sets something that is not computed. */
export function patchedReference(
  written: unknown, patches: Patches, variables: readonly Variables[],
): PatchedReference | null {
  let whole = written;
  const sources = new Map<string, Source>();
  if (patches === null) return null;
  for (const { name, from } of patches) {
    const source = "value" in from ? from : sourceOfVariable(from, variables);
    if (source === null) return null;
    if (name === "") {
      sources.clear();
      whole = source.value;
    } else if (!isJsonObject(whole)) return null;
    sources.set(name, source);
  }
  const fields = Array.from(sources).filter(([name]) => name !== "").map(([name, { value }]) => [name, value]);
  return { value: fields.length === 0 ? whole : { ...Object(whole), ...Object.fromEntries(fields) }, sources };
}

/** Returns the value of a variable, which the first of the maps that has it defines; null if it has none. */
function sourceOfVariable({ name, fields, isTemplate }: VariableUse, variables: readonly Variables[]): Source | null {
  const place = variables.find((some) => some.has(name))?.get(name);
  if (place === undefined) return null;
  const path = [...place.path, ...fields];
  const value = valueAt(place.object, path);
  if (value === undefined || (isTemplate && !(typeof value === "string" && PLAIN_TEXT.test(value)))) return null;
  return { value, object: place.object, path };
}

/** Returns the places of the variables of the list at the path in the object. */
export function variablesAt(object: JsonObject, path: readonly string[], valuePath: FieldPath): Variables {
  return new Map(listAt(object, ...path).flatMap((one, i) => {
    const name = stringAt(one, "name");
    return name === null ? [] : [[name, { object, path: [...path, i, ...valuePath] }]];
  }));
}

/** Returns the list at the path; [] if the value is not a list. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const list = valueAt(value, path);
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
}
