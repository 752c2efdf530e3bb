import { field, type JsonObject, stringAt } from "../../kubernetes/json.ts";
import { labelKeyFaults, labelValueFaults, subdomainFaults } from "../../kubernetes/names.ts";
import { objectMeta } from "../../kubernetes/object-meta.ts";
import { shapeChecker } from "../../kubernetes/shape.ts";
import { quote } from "../../kubernetes/text.ts";
import { STRICT_SELECTOR_SCHEMA } from "../../selectors/schema.ts";
import type { Fault, SelectorCheck } from "../check.ts";

/** The fields of `spec`, by a wrong name that users write. */
const ALIASES = new Map([
  ...["roleARN", "roleArn", "rolearn", "role", "iamRole", "iamRoleARN"].map((name) => [name, "arn"] as const),
  ...["selector", "namespaces"].map((name) => [name, "namespaceSelector"] as const),
]);
const shapeFaults = shapeChecker(STRICT_SELECTOR_SCHEMA, ALIASES);
const NAME = ["metadata", "name"] as const;

export const IRS_00: SelectorCheck = {
  id: "IRS-00",
  severity: "deny",
  waivable: false,
  reason: "The API server rejects an object that does not match the schema, and prunes unknown fields.",
  fix: "write the field as the schema defines it (kubectl explain iamroleselector.spec)",
  example: "spec: {namespaceSelector: {names: team-a}}",
  *find({ object }): Iterable<Fault> {
    for (const { path, message, unknownField } of shapeFaults(object)) {
      yield { path, message, dropsSelector: !unknownField };
    }
    yield* nameFaults(object);
    yield* metadataFaults(object);
  },
};

function* nameFaults(object: JsonObject): Iterable<Fault> {
  const name = stringAt(object, "metadata", "name");
  const generateName = stringAt(object, "metadata", "generateName");
  const isAbsent = (field(field(object, "metadata"), "name") ?? null) === null;
  if (isAbsent && generateName === null) {
    yield { path: NAME, message: "the name is missing", fix: "set metadata.name", dropsSelector: true };
  } else if (name !== null && subdomainFaults(name).length > 0) {
    const message = `${quote(name)} is not a valid object name: ${subdomainFaults(name).join("; ")}`;
    yield { path: NAME, message, fix: "rename the selector" };
  }
}

/** Yields the faults of the selector's own labels and annotations. Annotation keys may have upper case. */
function* metadataFaults(object: JsonObject): Iterable<Fault> {
  const { labels, annotations } = objectMeta(object);
  for (const [key, value] of labels) {
    const faults = [...labelKeyFaults(key), ...labelValueFaults(value)];
    if (faults.length === 0) continue;
    const message = `the label is not valid: ${faults.join("; ")}`;
    yield { path: ["metadata", "labels", { key }], message, fix: LABEL_FIX };
  }
  for (const key of annotations.keys()) {
    const faults = labelKeyFaults(key.toLowerCase());
    if (faults.length === 0) continue;
    const message = `the annotation key is not valid: ${faults.join("; ")}`;
    yield { path: ["metadata", "annotations", { key }], message, fix: LABEL_FIX };
  }
}

const LABEL_FIX = "use the Kubernetes syntax: [prefix/]name: value";
