import { OWNER_ACCOUNT_ANNOTATION } from "./annotation-keys.ts";
import type { DecisionSettings, Requester } from "./context.ts";
import { isACKController } from "./exemptions.ts";
import { metadataExcess } from "./limits.ts";
import { field, type FieldPath, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { labelKeyFaults, labelValueFaults, subdomainFaults } from "../formats/names.ts";
import { objectReference } from "../formats/object-meta.ts";
import { quote } from "../formats/text.ts";
import type { CheckEntry, Fault, QuickCheck } from "./check.ts";
import { NEEDS } from "./requirements.ts";

/**
 * The check applies to ACK resources, Namespaces and CARM ConfigMaps. Check IRS-00 has the same rules for
 * IAMRoleSelectors.
 */
export const META_01: QuickCheck<JsonObject> = {
  id: "META-01",
  severity: "deny",
  reason: "The API server rejects an object whose name, labels or annotations are not valid. "
    + "YAML reads an unquoted number or boolean as a value that is not a string.",
  fix: "use the Kubernetes syntax: [prefix/]name: value",
  example: `metadata: {annotations: {${OWNER_ACCOUNT_ANNOTATION}: 111122223333}}`,
  // A stored object can exceed a limit. Its faults then remain unknown, so that each fault of the new object is new.
  find: (object) => (metadataExcess(object) !== null ? NONE : [
    ...invalidName(object), ...typeFaults(object, "labels"), ...typeFaults(object, "annotations"),
    ...metadataFaults(object),
  ]),
};

// Each review reads all labels and annotations, so nothing copies them, and a list costs less than a generator.
const NO_ENTRIES: JsonObject = {};
const NONE: readonly never[] = [];

function invalidName(object: JsonObject): readonly Fault[] {
  const { name } = objectReference(object);
  const faults = name === "" ? NONE : subdomainFaults(name);
  if (faults.length === 0) return NONE;
  const message = `${quote(name)} is not a valid object name: ${faults.join("; ")}`;
  return [{ path: ["metadata", "name"], message, fix: "rename the object" }];
}

function typeFaults(object: JsonObject, map: "labels" | "annotations"): readonly Fault[] {
  const values = field(field(object, "metadata"), map) ?? null;
  if (values === null) return NONE;
  if (!isJsonObject(values)) return [{ path: ["metadata", map], message: `the ${map} are not a map` }];
  const faults: Fault[] = [];
  for (const key in values) {
    const value = field(values, key);
    // Skips null values, because the API server reads null as "".
    if (typeof value === "string" || value === null || value === undefined) continue;
    const found = typeof value === "object" ? "an object or a list" : `the ${typeof value} ${JSON.stringify(value)}`;
    const message = `the value is ${found}, and the API server accepts only strings`;
    faults.push({ path: ["metadata", map, { key }], message, fix: "put the value in quotes" });
  }
  return faults;
}

/**
 * Returns the faults in the syntax of labels and annotations. Unlike the prefix of a label key, the prefix of an
 * annotation key may contain upper-case letters.
 */
export function metadataFaults(object: JsonObject): readonly Fault[] {
  const metadata = field(object, "metadata");
  const [labels, annotations] = [field(metadata, "labels"), field(metadata, "annotations")];
  const found: Fault[] = [];
  for (const key in isJsonObject(labels) ? labels : NO_ENTRIES) {
    const value = stringAt(labels, key);
    const faults = value === null ? NONE : labelFaults(key, value);
    if (faults.length === 0) continue;
    const message = `the label is not valid: ${faults.join("; ")}`;
    found.push({ path: ["metadata", "labels", { key }], message, fix: META_01.fix });
  }
  for (const key in isJsonObject(annotations) ? annotations : NO_ENTRIES) {
    const faults = stringAt(annotations, key) === null ? NONE : labelKeyFaults(key.toLowerCase());
    if (faults.length === 0) continue;
    const message = `the annotation key is not valid: ${faults.join("; ")}`;
    found.push({ path: ["metadata", "annotations", { key }], message, fix: META_01.fix });
  }
  return found;
}

function labelFaults(key: string, value: string): readonly string[] {
  const [ofKey, ofValue] = [labelKeyFaults(key), labelValueFaults(value)];
  return ofKey.length + ofValue.length === 0 ? NONE : [...ofKey, ...ofValue];
}

interface ControllerWrite {
  /** Null offline. */
  readonly requester: Requester | null;
  readonly settings: DecisionSettings;
}

/** What differs between the kinds of objects that decide roles. */
type ControllerCheck = Pick<CheckEntry, "id" | "reason" | "fix" | "example"> & {
  /** The objects, in the plural. */
  readonly objects: string;
  readonly path: FieldPath;
};

/** Returns the check that denies ACK controllers each write of an object that decides which roles they use. */
export function controllerCheck({ objects, path, ...texts }: ControllerCheck): QuickCheck<ControllerWrite> {
  return {
    ...texts,
    severity: "deny",
    requires: [NEEDS.requester, NEEDS.controllerUsers],
    on: ["CREATE", "UPDATE", "DELETE"],
    ofChange: true, // the webhook does not know who wrote the stored object
    *find({ requester, settings }): Iterable<Fault> {
      if (requester === null || !isACKController(requester, settings)) return;
      const name = quote(requester.username);
      const message = `the requester ${name} is an ACK controller, and ACK controllers must not write ${objects}`;
      yield { path, message };
    },
  };
}
