import { field, type JsonObject, stringAt } from "../../kubernetes/json.ts";
import { labelKeyFaults, labelValueFaults, subdomainFaults } from "../../kubernetes/names.ts";
import { objectMeta } from "../../kubernetes/object-meta.ts";
import { shapeChecker } from "../../kubernetes/shape.ts";
import { quote } from "../../kubernetes/text.ts";
import { STRICT_SELECTOR_SCHEMA } from "../../selectors/schema.ts";
import type { Fault, SelectorCheck } from "../check.ts";

const shapeFaults = shapeChecker(STRICT_SELECTOR_SCHEMA);
const NAME = ["metadata", "name"] as const;

export const IRS_00: SelectorCheck = {
  id: "IRS-00",
  severity: "deny",
  waivable: false,
  reason: "The API server refuses an object that does not fit the schema, or prunes what it does not know.",
  fix: "write the field as the schema has it (kubectl explain iamroleselector.spec)",
  example: "spec: {namespaceSelector: {names: team-a}}",
  *find({ object }): Iterable<Fault> {
    for (const { path, message, unknownField } of shapeFaults(object)) yield { path, message, dropsSelector: !unknownField };
    yield* nameFaults(object);
    yield* metadataFaults(object);
  },
};

function* nameFaults(object: JsonObject): Iterable<Fault> {
  const name = stringAt(object, "metadata", "name");
  const generated = stringAt(object, "metadata", "generateName");
  const absent = (field(field(object, "metadata"), "name") ?? null) === null;
  if (absent && generated === null) {
    yield { path: NAME, message: "the name is missing", fix: "give the selector a name", dropsSelector: true };
  } else if (name !== null && subdomainFaults(name).length > 0) {
    yield { path: NAME, message: `${quote(name)} is not an object's name: ${subdomainFaults(name).join("; ")}`, fix: "rename the selector" };
  }
}

/** The selector's own labels and annotations, whose keys have the form of label keys (an annotation's in any case). */
function* metadataFaults(object: JsonObject): Iterable<Fault> {
  const { labels, annotations } = objectMeta(object);
  for (const [key, value] of labels) {
    const faults = [...labelKeyFaults(key), ...labelValueFaults(value)];
    if (faults.length > 0) yield { path: ["metadata", "labels", { key }], message: `not a label: ${faults.join("; ")}`, fix: LABEL_FIX };
  }
  for (const key of annotations.keys()) {
    const faults = labelKeyFaults(key.toLowerCase());
    if (faults.length > 0) yield { path: ["metadata", "annotations", { key }], message: `not an annotation's key: ${faults.join("; ")}`, fix: LABEL_FIX };
  }
}

const LABEL_FIX = "write it as Kubernetes takes it: [prefix/]name: value";
