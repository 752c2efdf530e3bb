import { isFieldExportKind } from "../core/ack-groups.ts";
import { LIMITS } from "../core/limits.ts";
import {
  eachObject, field, type FieldPath, type FieldStep, isJsonObject, type JsonObject, stringAt,
} from "../formats/json.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";

/**
 * How an object uses one of another namespace: takes the ARN or ID of a resource, reads or writes a key of a Secret, or
 * exports a field.
 */
type CrossingKind = "reference" | "secret" | "secret-output" | "export";

/** A use of an object of another namespace. */
export interface Crossing {
  readonly kind: CrossingKind;
  /** The path of the object with the fields `namespace` and `name`. */
  readonly path: FieldPath;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Returns each use of another namespace in the spec of an ACK resource or a FieldExport, in the order of the fields. A
 * missing, empty or equal namespace is the own one. Visits the levels that a reviewed object may have.
 * Source: aws-controllers-k8s/runtime pkg/runtime/resource_reference.go, ValidateCrossNamespaceReference.
 */
export function crossingsOf(object: JsonObject): readonly Crossing[] {
  const reference = objectReference(object);
  const own = namespaceOrDefault(reference.namespace);
  const spec = field(object, "spec");
  if (!isFieldExportKind(reference)) return crossingsIn(spec, own);
  const target = targetIn(field(spec, "to"), own);
  return target === null ? [] : [{ kind: "export", path: ["spec", "to"], ...target }];
}

/** Returns the fields of an object that names one of another namespace, else null. */
function targetIn(value: unknown, own: string): Pick<Crossing, "namespace" | "name"> | null {
  const [namespace, name] = [stringAt(value, "namespace"), stringAt(value, "name")];
  if (namespace === null || namespace === "" || namespace === own) return null;
  return name === null || name === "" ? null : { namespace, name };
}

function crossingsIn(spec: unknown, own: string): readonly Crossing[] {
  const found: Crossing[] = [];
  eachObject(isJsonObject(spec) ? spec : null, LIMITS.objectDepth.value, (value, path) => {
    const crossing = Object.hasOwn(value, "namespace") ? crossingAt(value, path, own) : null;
    if (crossing !== null) found.push(crossing);
  });
  return found;
}

function crossingAt(value: object, path: readonly FieldStep[], own: string): Crossing | null {
  const target = targetIn(value, own);
  const kind = target === null ? null : kindOfCrossing(value, path.at(-1));
  return target === null || kind === null ? null : { kind, path: ["spec", ...path], ...target };
}

/**
 * Recognizes a reference or a SecretKeyReference by its fields, because the definition of the kind may be unknown. In
 * the definitions of all 61 ACK controllers (2026-11), no other object has exactly these fields, and the three fields
 * that a controller writes are named `exportTo`, or end in `Output`. A map of tags with the same keys looks the same.
 */
function kindOfCrossing(value: object, step: FieldStep | undefined): CrossingKind | null {
  const fields = Object.keys(value).length;
  if (step === "from") return fields === 2 ? "reference" : null;
  if (fields !== 3 || stringAt(value, "key") === null) return null;
  return typeof step === "string" && /^exportTo$|Output$/.test(step) ? "secret-output" : "secret";
}
