import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { subdomainFaults } from "../formats/names.ts";
import { shapeChecker } from "../contract/shape.ts";
import { quote } from "../formats/text.ts";
import { STRICT_SELECTOR_SCHEMA } from "../model/selector-schema.ts";
import type { Fault, SelectorCheck } from "./check.ts";
import { metadataFaults } from "./any-kind.ts";

/** Maps names that users often write by mistake to the correct names of the fields of `spec`. */
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
  reason: "The API server rejects an object that does not match the schema, and prunes unknown fields. "
    + "The CRD in ACK's charts requires some fields even if they are empty, such as names: the webhook adds them, so "
    + "the check denies a missing one only with `lint --no-webhook`.",
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
