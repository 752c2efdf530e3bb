import {
  field, type FieldPath, type FieldStep, isJsonObject, type JsonObject, stringAt, valueAt,
} from "../formats/json.ts";

// How the patches of a ClusterClass set the identityRef of a template. Source: kubernetes-sigs/cluster-api,
// internal/controllers/topology/cluster/patches/inline/json_patch_generator.go, and
// api/core/v1beta2/clusterclass_types.go.

/** A Cluster with a topology, its class, and the values of the variables that Cluster API defines. */
export interface Topology {
  readonly cluster: JsonObject;
  readonly clusterClass: JsonObject;
  readonly builtin: JsonObject;
}

/** A value, and where it is written. */
interface Source {
  readonly value: unknown;
  readonly object: JsonObject;
  readonly path: FieldPath;
}

/** A reference that patches set. */
export interface PatchedReference {
  readonly value: unknown;
  /** Where the reference, or its field of this name, is written; "" stands for the reference. */
  readonly sources: ReadonlyMap<string, Source>;
}

interface Patch {
  readonly operation: JsonObject;
  readonly isConditional: boolean;
}

const REFERENCE = "/spec/template/spec/identityRef";
const FIELDS: readonly string[] = ["", "/kind", "/name"];

/** Returns the patches of a ClusterClass that can set the identityRef of a kind of templates, in their order. */
export function identityPatches(clusterClass: JsonObject, kind: string): readonly Patch[] {
  return listAt(clusterClass, "spec", "patches").flatMap((patch) => {
    const isConditional = field(patch, "enabledIf") !== undefined;
    const definitions = listAt(patch, "definitions").filter((one) => stringAt(one, "selector", "kind") === kind);
    return definitions.flatMap((one) => listAt(one, "jsonPatches").filter(isJsonObject).filter(setsReference))
      .map((operation) => ({ operation, isConditional }));
  });
}

function setsReference(operation: JsonObject): boolean {
  const path = stringAt(operation, "path") ?? "";
  return `${path}/`.startsWith(`${REFERENCE}/`) || `${REFERENCE}/`.startsWith(`${path}/`);
}

/** Returns the reference after the patches; null if a patch is conditional, or sets something that is not computed. */
export function patchedReference(
  written: unknown, patches: readonly Patch[], topology: Topology,
): PatchedReference | null {
  let value = written;
  const sources = new Map<string, Source>();
  for (const { operation, isConditional } of patches) {
    const name = FIELDS.find((one) => stringAt(operation, "path") === REFERENCE + one)?.slice(1);
    const source = isConditional ? null : sourceOf(operation, topology);
    if (name === undefined || source === null) return null;
    if (name === "") sources.clear();
    else if (!isJsonObject(value)) return null;
    value = name === "" ? source.value : { ...Object(value), [name]: source.value };
    sources.set(name, source);
  }
  return { value, sources };
}

const SETTING: ReadonlySet<unknown> = new Set(["add", "replace"]);
/** A template that is the value of one variable. */
const ONE_VARIABLE = /^\s*\{\{-?\s*\.([\w.-]+)\s*-?\}\}\s*$/;
/** A text that YAML reads as the same text. */
const PLAIN_TEXT = /^[A-Za-z][-\w.]*$/;

/** Returns what an operation sets; null if it sets nothing, or something that is not computed. */
function sourceOf(operation: JsonObject, topology: Topology): Source | null {
  if (!SETTING.has(operation["op"])) return null;
  const { value } = operation;
  if (value !== undefined) return { value, object: topology.clusterClass, path: ["spec", "patches"] };
  const variable = stringAt(operation, "valueFrom", "variable");
  if (variable !== null) return sourceOfVariable(variable, topology);
  const [, name] = ONE_VARIABLE.exec(stringAt(operation, "valueFrom", "template") ?? "") ?? [];
  const source = name === undefined ? null : sourceOfVariable(name, topology);
  return typeof source?.value === "string" && PLAIN_TEXT.test(source.value) ? source : null;
}

/** Returns the value of a variable or of a field in it, such as `identity.name`; null if it has none. */
function sourceOfVariable(text: string, { cluster, clusterClass, builtin }: Topology): Source | null {
  const [name, ...rest] = text.split(".");
  const inCluster = indexOf(listAt(cluster, ...VARIABLES), name);
  const inClass = indexOf(listAt(clusterClass, "spec", "variables"), name);
  const [object, path]: readonly [JsonObject, readonly FieldStep[]] = name === "builtin" ? [{ builtin }, ["builtin"]]
    : inCluster >= 0 ? [cluster, [...VARIABLES, inCluster, "value"]]
      : [clusterClass, ["spec", "variables", inClass, "schema", "openAPIV3Schema", "default"]];
  const value = valueAt(object, [...path, ...rest]);
  return value === undefined ? null : { value, object, path: [...path, ...rest] };
}

const VARIABLES = ["spec", "topology", "variables"] as const;

function indexOf(variables: readonly unknown[], name: string | undefined): number {
  return variables.findIndex((one) => field(one, "name") === name);
}

/** Returns the list at the path; [] if the value is not a list. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const list = valueAt(value, path);
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
}
