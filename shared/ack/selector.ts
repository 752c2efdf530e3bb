import { REPLACES_ANNOTATION, RESOLVER_PREFIX } from "../core/annotation-keys.ts";
import type { QuickCheck } from "../core/check.ts";
import type { Origin, Runtime } from "../core/context.ts";
import { objectExcess } from "../core/limits.ts";
import { compileSpec, type EffectiveSelector } from "../core/effective-selector.ts";
import { readSelectorSpec, type SelectorSpec } from "../core/iamroleselector.ts";
import type { Repair } from "../core/repair.ts";
import { NO_EXTRAS } from "../core/session.ts";
import { readExtras } from "../core/session-annotations.ts";
import { rewriteTypeEntries } from "../core/resource-types.ts";
import {
  type Excess, field, type FieldPath, formatFieldPath, isJsonObject, type JsonObject, jsonPointer, type PatchOperation,
} from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";

/**
 * The fields that ACK's CustomResourceDefinition requires: the path of the object that must have the field, the name of
 * the field, and the empty value.
 */
const REQUIRED: readonly Completion[] = [
  { path: ["spec", "namespaceSelector"], name: "names", empty: [] },
  { path: ["spec", "namespaceSelector", "labelSelector"], name: "matchLabels", empty: {} },
  { path: ["spec", "resourceLabelSelector"], name: "matchLabels", empty: {} },
];

interface Completion {
  readonly path: readonly string[];
  readonly name: string;
  readonly empty: unknown;
}

/**
 * Returns the JSON patch that adds the empty fields that ACK's CustomResourceDefinition requires, and rewrites the
 * entries of `resourceTypeSelector`. The API server validates the schema after the patch. An empty field has the same
 * meaning as a missing field.
 */
export function completionPatch(object: JsonObject): readonly PatchOperation[] {
  const additions = REQUIRED.flatMap(({ path, name, empty }): PatchOperation[] => {
    const parent = path.reduce<unknown>(field, object);
    if (!isJsonObject(parent) || (field(parent, name) ?? null) !== null) return [];
    return [{ op: "add", path: jsonPointer(...path, name), value: empty }];
  });
  return [...additions, ...rewriteTypeEntries(object)];
}

/** The versions of the fields of a selector that its reader supports. */
export interface SelectorContext {
  readonly origin: Origin;
  readonly runtime: Runtime;
}

/** The facts of an IAMRoleSelector, read once and not judged. */
export interface DecodedSelector extends SelectorContext {
  readonly object: JsonObject;
  /** The first limit that the object exceeds, or null. The lists and maps of such an object are not read. */
  readonly excess: Excess | null;
  readonly spec: SelectorSpec;
  /** Whether it has an annotation with the prefix of this program. Only these annotations add settings. */
  readonly isAnnotated: boolean;
}

/** A check that needs only the IAMRoleSelector itself. */
export type SelectorCheck = QuickCheck<DecodedSelector>;

/** Reads an IAMRoleSelector. Accepts any JSON object. */
export function decodeSelector(object: JsonObject, { origin, runtime }: SelectorContext): DecodedSelector {
  const excess = objectExcess(object);
  const spec = readSelectorSpec(excess === null ? object : withoutLists(object));
  return { object, excess, spec, isAnnotated: isAnnotated(object), origin, runtime };
}

function isAnnotated(object: JsonObject): boolean {
  const annotations = field(field(object, "metadata"), "annotations");
  if (!isJsonObject(annotations)) return false;
  for (const key in annotations) if (key.startsWith(RESOLVER_PREFIX)) return true;
  return false;
}

/** A fault of a selector, and what it takes from the selector. */
export interface SelectorFault {
  /** The id of the check that found the fault. */
  readonly code: string;
  readonly path: FieldPath;
  readonly message: string;
  readonly fix: string;
  readonly repairs?: readonly Repair[];
  readonly severity?: "warn";
  /** Whether shipped controllers ignore the whole selector. */
  readonly dropsSelector?: boolean;
  /** Whether the sidecar does not grant the role of the selector. `--check` does not change this. */
  readonly withholdsGrant: boolean;
}

/** An IAMRoleSelector with its faults. The checks, the inventory and the grants use this form. */
export interface JudgedSelector {
  readonly object: JsonObject;
  readonly spec: SelectorSpec;
  /** The selector as controllers apply it; null if it is malformed. */
  readonly effective: EffectiveSelector | null;
  readonly name: string;
  /** `spec.arn`; "" if it is missing. */
  readonly roleARN: string;
  readonly faults: readonly SelectorFault[];
}

/** Whether the sidecar may grant the role of a selector that has the faults. */
export function isGrantable(faults: readonly SelectorFault[]): boolean {
  return !faults.some(({ withholdsGrant }) => withholdsGrant);
}

/** Returns the repairs after which controllers no longer ignore the selector; none if it has several faults. */
export function repairsOf({ faults }: JudgedSelector): readonly Repair[] {
  const [only, ...others] = faults.filter((fault) => fault.withholdsGrant || fault.dropsSelector === true);
  return others.length > 0 ? [] : only?.repairs ?? [];
}

/** Returns each fault that makes the selector malformed or withholds its role, as `IRS-03 spec.arn: MESSAGE`. */
export function decisiveFaults({ faults }: JudgedSelector): string[] {
  return faults.filter((fault) => fault.withholdsGrant || fault.dropsSelector === true)
    .map(({ code, path, message }) => `${code} ${formatFieldPath(path)}: ${message}`);
}

/**
 * Returns the selector with its faults. With `--runtime ack`, a selector is malformed if shipped controllers drop it;
 * with `--runtime extended`, if the sidecar does not grant its role.
 */
export function withFaults(decoded: DecodedSelector, faults: readonly SelectorFault[]): JudgedSelector {
  const { object, spec, runtime } = decoded;
  const { arn, name } = spec;
  const grantable = isGrantable(faults);
  const isMalformed = runtime === "ack" ? faults.some(({ dropsSelector }) => dropsSelector === true) : !grantable;
  const judged = { object, spec, name, roleARN: arn ?? "", faults };
  if (arn === null || isMalformed) return { ...judged, effective: null };
  const annotated = decoded.isAnnotated
    ? { replaces: replacedBy(object), extras: readExtras(object, spec), grantable }
    : { replaces: NO_NAMES, extras: NO_EXTRAS, grantable };
  return { ...judged, effective: { ...compileSpec({ ...spec, arn }, decoded), ...annotated } };
}

/** Returns the selector with only its name, its UID, its resource version and its ARN. */
function withoutLists(object: JsonObject): JsonObject {
  const [metadata, spec] = [field(object, "metadata"), field(object, "spec")];
  return {
    metadata: {
      name: field(metadata, "name"), uid: field(metadata, "uid"), resourceVersion: field(metadata, "resourceVersion"),
    },
    spec: { arn: field(spec, "arn") },
  };
}

/** Returns the names of the selectors that the annotation `replaces` lists. */
function replacedBy(object: JsonObject): ReadonlySet<string> {
  const names = annotationAt(object, REPLACES_ANNOTATION)?.split(",").map((name) => name.trim()) ?? [];
  return names.length === 0 ? NO_NAMES : new Set(names.filter((name) => name !== ""));
}

const NO_NAMES: ReadonlySet<string> = new Set();
