import { OWNER_ACCOUNT_ANNOTATION } from "./annotation-keys.ts";
import { isConfidentialAt } from "./confidential.ts";
import type { DecisionSettings, Requester } from "./context.ts";
import { isACKController } from "./exemptions.ts";
import { metadataExcess } from "./limits.ts";
import { isCertainText } from "./meant-field.ts";
import { by, remove, rename, type Repair, safely, set } from "./repair.ts";
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
  const path = ["metadata", "name"];
  const valid = validName(name.toLowerCase().replaceAll("_", "-"));
  const repairs = subdomainFaults(valid).length === 0 ? by(set(path, valid)) : NONE;
  return [{ path, message, fix: "rename the object", repairs }];
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
    const path = ["metadata", map, { key }];
    faults.push({ path, message, fix: "put the value in quotes", repairs: quotedValue(path, map, value) });
  }
  return faults;
}

/** Returns the repairs of a value without quotes. */
function quotedValue(path: FieldPath, map: "labels" | "annotations", value: unknown): readonly Repair[] {
  if ((typeof value !== "boolean" && typeof value !== "number") || isConfidentialAt(path)) return NONE;
  const text = String(value);
  if (map === "labels" && labelValueFaults(text).length > 0) return NONE;
  return isCertainText(value) ? safely(set(path, text)) : by(set(path, text));
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
    const path = ["metadata", "labels", { key }];
    found.push({ path, message, fix: META_01.fix, repairs: labelRepairs(path, key, labels) });
  }
  for (const key in isJsonObject(annotations) ? annotations : NO_ENTRIES) {
    const value = stringAt(annotations, key);
    const faults = value === null ? NONE : labelKeyFaults(key.toLowerCase());
    if (faults.length === 0) continue;
    const message = `the annotation key is not valid: ${faults.join("; ")}`;
    const path = ["metadata", "annotations", { key }];
    found.push({ path, message, fix: META_01.fix, repairs: keyRepairs(path, key, annotations) });
  }
  return found;
}

function labelFaults(key: string, value: string): readonly string[] {
  const [ofKey, ofValue] = [labelKeyFaults(key), labelValueFaults(value)];
  return ofKey.length + ofValue.length === 0 ? NONE : [...ofKey, ...ofValue];
}

/** Returns the repairs that write the label with the nearest valid key or value. Blanks around them mean nothing. */
function labelRepairs(path: FieldPath, key: string, labels: unknown): readonly Repair[] {
  if (labelKeyFaults(key).length > 0) return keyRepairs(path, key, labels);
  const value = String(field(labels, key));
  const valid = validName(value);
  if (valid === "" || labelValueFaults(valid).length > 0) return NONE;
  return valid === value.trim() ? safely(set(path, valid)) : by(set(path, valid));
}

function keyRepairs(path: FieldPath, key: string, entries: unknown): readonly Repair[] {
  const valid = key.split("/").map(validName).join("/");
  if (labelKeyFaults(valid).length > 0 || field(entries, valid) !== undefined) return by(remove(path));
  if (isConfidentialAt([{ key: valid }])) return NONE;
  const edits = rename(path, { key: valid }, field(entries, key));
  return valid === key.trim() ? safely(...edits) : by(...edits);
}

/** Returns the text with `-` for each character that no name may contain. */
function validName(text: string): string {
  return text.trim().replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, "");
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
