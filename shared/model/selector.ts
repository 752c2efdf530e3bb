import { REPLACES_ANNOTATION } from "../contract/annotation-keys.ts";
import type { Origin, Runtime } from "../contract/context.ts";
import { objectExcess } from "../checks/size-limits.ts";
import type { Fault, SelectorCheck, SelectorSubject } from "../checks/check.ts";
import { IRS_48 } from "../checks/selector-limits.ts";
import { SELECTOR_SELF_CHECKS } from "../checks/self-checks.ts";
import { compileSpec, type EffectiveSelector } from "./effective-selector.ts";
import { readSelectorSpec, type SelectorSpec } from "./iamroleselector.ts";
import { readExtras } from "./session-annotations.ts";
import { rewriteTypeEntries } from "./resource-types.ts";
import {
  field, type FieldPath, isJsonObject, type JsonObject, jsonPointer, type PatchOperation,
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

/**
 * An IAMRoleSelector that has been decoded and checked once. All other checks, the inventory and the grants use this
 * form.
 */
export interface DecodedSelector {
  readonly object: JsonObject;
  readonly spec: SelectorSpec;
  /** The selector as controllers apply it; null if it is malformed. */
  readonly effective: EffectiveSelector | null;
  readonly name: string;
  /** `spec.arn`; "" if it is missing. */
  readonly roleARN: string;
  readonly faults: readonly CheckedFault[];
}

/** Decodes an IAMRoleSelector, runs its self checks, and determines whether the selector is effective. */
export function decodeSelector(
  object: JsonObject, context: { readonly origin: Origin; readonly runtime: Runtime },
): DecodedSelector {
  const excess = objectExcess(object);
  const spec = readSelectorSpec(excess === null ? object : withoutLists(object));
  const faults = selectorFaults({ object, excess, spec, ...context });
  const { arn, name } = spec;
  if (arn === null || isMalformed(faults, context.runtime)) {
    return { object, spec, effective: null, name, roleARN: arn ?? "", faults };
  }
  const compiled = compileSpec({ ...spec, arn }, context);
  const annotated = { replaces: replacedBy(object), extras: readExtras(object, spec), grantable: isGrantable(faults) };
  return { object, spec, effective: { ...compiled, ...annotated }, name, roleARN: arn, faults };
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
  const names = (annotationAt(object, REPLACES_ANNOTATION) ?? "").split(",");
  return new Set(names.map((name) => name.trim()).filter((name) => name !== ""));
}

/** A fault and the check that found it. */
interface CheckedFault {
  readonly check: SelectorCheck;
  readonly fault: Fault;
}

const CHECKS_WITHIN_LIMITS = SELECTOR_SELF_CHECKS.filter((check) => check !== IRS_48);

/**
 * Returns the faults of every self check, in catalog order. If a value has a wrong type, omits all other faults of this
 * value and of its fields.
 */
function selectorFaults(subject: SelectorSubject): CheckedFault[] {
  const excess = Array.from(IRS_48.find(subject), (fault) => ({ check: IRS_48, fault }));
  if (excess.length > 0) return excess;
  const found = CHECKS_WITHIN_LIMITS.flatMap((check) => [...check.find(subject)].map((fault) => ({ check, fault })));
  const isMisshapen = ({ check, fault }: CheckedFault): boolean =>
    check.id === "IRS-00" && fault.dropsSelector === true;
  const misshapen = new Set(found.filter(isMisshapen).map(({ fault }) => JSON.stringify(fault.path)));
  return misshapen.size === 0
    ? found
    : found.filter((one) => isMisshapen(one) || !isAtOrBelow(one.fault.path, misshapen));
}

function isAtOrBelow(path: FieldPath, tops: ReadonlySet<string>): boolean {
  return path.some((_, i) => tops.has(JSON.stringify(path.slice(0, i + 1))));
}

/**
 * Whether the selector is malformed and therefore not effective. With `--runtime ack`, a selector is malformed if
 * shipped controllers drop it. With `--runtime extended`, a selector is malformed if it has a non-waivable deny fault.
 * `--check` does not change the result.
 */
function isMalformed(faults: readonly CheckedFault[], runtime: Runtime): boolean {
  return runtime === "ack" ? faults.some(({ fault }) => fault.dropsSelector === true) : !isGrantable(faults);
}

/** Whether the sidecar may grant the role of the selector: the selector has no non-waivable deny fault. */
export function isGrantable(faults: readonly CheckedFault[]): boolean {
  return !faults.some(withholdsGrant);
}

/**
 * Whether the fault withholds the role of a selector. Depends only on the check's own severity and not on `--check`, so
 * that a check that is off by default never withholds a role.
 */
export function withholdsGrant({ check, fault }: CheckedFault): boolean {
  return check.severity === "deny" && !check.waivable && fault.severity !== "warn";
}
