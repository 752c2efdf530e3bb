import { STRICT_SELECTOR_SCHEMA } from "../iamroleselector-schema.ts";
import { subdomainFaults } from "../kubernetes-names.ts";
import { field, stringAt } from "../json.ts";
import { shapeChecker } from "../shape.ts";
import type { Check, Fault, SelectorSubject } from "./check.ts";
import { quote } from "../quote.ts";

const shapeFaults = shapeChecker(STRICT_SELECTOR_SCHEMA);
const NAME = ["metadata", "name"] as const;

export const IRS_00: Check<SelectorSubject> = {
  id: "IRS-00",
  severity: "deny",
  waivable: false,
  reason: "The API server refuses an object that does not fit the schema, or prunes what it does not know.",
  fix: "write the field as the schema has it (kubectl explain iamroleselector.spec)",
  example: "spec: {namespaceSelector: {names: team-a}}",
  *find({ object }): Iterable<Fault> {
    for (const { path, message, unknownField } of shapeFaults(object)) yield { path, message, dropsSelector: !unknownField };
    const name = stringAt(object, "metadata", "name");
    const generated = stringAt(object, "metadata", "generateName");
    const absent = (field(field(object, "metadata"), "name") ?? null) === null;
    if (absent && generated === null) {
      yield { path: NAME, message: "the name is missing", fix: "give the selector a name", dropsSelector: true };
    } else if (name !== null && subdomainFaults(name).length > 0) {
      yield { path: NAME, message: `${quote(name)} is not an object's name: ${subdomainFaults(name).join("; ")}`, fix: "rename the selector" };
    }
  },
};
