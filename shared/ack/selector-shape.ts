import { metadataFaults } from "../core/any-kind.ts";
import { DURATION_SECONDS_ANNOTATION, LAST_APPLIED, SELECTOR_ANNOTATIONS } from "../core/annotation-keys.ts";
import type { Fault } from "../core/check.ts";
import type { SelectorSpec } from "../core/iamroleselector.ts";
import type { Aliases } from "../core/meant-field.ts";
import { STRICT_SELECTOR_SCHEMA } from "../core/selector-schema.ts";
import { by, type Repair, set } from "../core/repair.ts";
import { shapeChecker } from "../core/shape.ts";
import { SESSION_SECONDS } from "../core/value-types.ts";
import { parseRoleARN } from "../formats/arn.ts";
import { field, type FieldPath, formatFieldPath, isSame, type JsonObject, stringAt } from "../formats/json.ts";
import { labelKeyFaults, labelValueFaults, subdomainFaults } from "../formats/names.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { quote } from "../formats/text.ts";
import type { SelectorCheck } from "./selector.ts";
import { effectOfDropped } from "./selector-breadth.ts";

/** The names that users often write by mistake in `spec` and in the fields below it. */
const ALIASES: Aliases = new Map<string, readonly string[] | string>([
  ...["roleARN", "roleArn", "rolearn", "role", "iamRole", "iamRoleARN"].map((name) => [name, ["arn"]] as const),
  ...["accountID", "accountId", "account", "awsAccountId", "ownerAccountID", "targetAccountID", "targetAccountId"]
    .map((name) => [name, "the account is that of the ARN"] as const),
  ["selector", ["namespaceSelector", "resourceLabelSelector"]],
  ["namespaces", ["namespaceSelector.names", "namespaceSelector"]],
  ["labelSelector", ["resourceLabelSelector"]],
  ...["matchLabels", "matchExpressions"].map((name) => (
    [name, [`labelSelector.${name}`, `resourceLabelSelector.${name}`]] as const
  )),
]);
const shapeFaults = shapeChecker(STRICT_SELECTOR_SCHEMA, ALIASES);
const NAME = ["metadata", "name"] as const;
const NONE: readonly never[] = [];

export const IRS_00: SelectorCheck = {
  id: "IRS-00",
  severity: "deny",
  reason: "The API server rejects an object that does not match the schema, and prunes unknown fields. "
    + "The CRD in ACK's charts requires some fields even if they are empty, such as names: the webhook adds them, so "
    + "the check denies a missing one only with `lint --no-webhook`.",
  fix: "write the field as the schema defines it (kubectl explain iamroleselector.spec)",
  example: "spec: {namespaceSelector: {names: team-a}}",
  find: ({ object, spec }) => [
    ...shapeFaults(object).map((fault) => shapeFault(fault, object, spec)),
    ...nameFaults(object), ...metadataFaults(object),
  ],
};

type ShapeFault = ReturnType<typeof shapeFaults>[number];

function shapeFault(fault: ShapeFault, object: JsonObject, spec: SelectorSpec): Fault {
  const { path, message, fix, repairs, unknownField } = fault;
  const effect = unknownField ? effectOfDropped(meantPaths(fault), spec) : "";
  return {
    path, dropsSelector: !unknownField, ...(fix !== null && { fix }),
    message: effect === "" ? message : `${message}; controllers do not read it${effect}`,
    repairs: isPruned(object, unknownField) ? NONE : repairs.filter(isUsable),
  };
}

/** Returns the paths of the fields that an unknown field can mean, and its own, which is below a known field or not. */
function meantPaths({ path, repairs }: ShapeFault): readonly FieldPath[] {
  return [path, ...repairs.flatMap(({ edits }) => edits.map((edit) => edit.path))];
}

/**
 * Returns a function that returns what a selector selects because a field of its manifest was not stored, as
 * `effectOfDropped` says it.
 */
export function effectsOfPruned(applied: JsonObject, spec: SelectorSpec): (path: FieldPath) => string {
  const meant = new Map(shapeFaults(applied).map((fault) => [formatFieldPath(fault.path), meantPaths(fault)]));
  return (path) => effectOfDropped(meant.get(formatFieldPath(path)) ?? [path], spec);
}

/** Whether the API server prunes the field again at the next `kubectl apply`, so that the manifest must change. */
function isPruned(object: JsonObject, isUnknown: boolean): boolean {
  return isUnknown && annotationAt(object, LAST_APPLIED) !== null;
}

/** Whether the repair writes no text that other checks deny: as the role, or as a label. */
function isUsable({ edits }: Repair): boolean {
  return edits.every(({ path, value }) => {
    if (isSame(path, ROLE)) return parseRoleARN(String(value)) !== null;
    const [last, map] = [path.at(-1), path.at(-2)];
    if (typeof last !== "object") return true;
    const isValue = map === "annotations"
      ? !SELECTOR_ANNOTATIONS.has(last.key) || isDuration(last.key, String(value))
      : labelValueFaults(String(value)).length === 0;
    return isValue && labelKeyFaults(last.key.toLowerCase()).length === 0;
  });
}

/** Whether the value is a duration. A number can be no other setting, and an external ID is confidential. */
function isDuration(annotation: string, value: string): boolean {
  return annotation === DURATION_SECONDS_ANNOTATION && SESSION_SECONDS.faults(value).length === 0;
}

const ROLE: FieldPath = ["spec", "arn"];

function nameFaults(object: JsonObject): readonly Fault[] {
  const name = stringAt(object, "metadata", "name");
  const generateName = stringAt(object, "metadata", "generateName");
  const isAbsent = (field(field(object, "metadata"), "name") ?? null) === null;
  if (isAbsent && generateName === null) {
    return [{ path: NAME, message: "the name is missing", fix: "set metadata.name", dropsSelector: true }];
  }
  const faults = name === null ? NONE : subdomainFaults(name);
  if (name === null || faults.length === 0) return NONE;
  const message = `${quote(name)} is not a valid object name: ${faults.join("; ")}`;
  const allowed = name.trim().toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-");
  const repairs = subdomainFaults(allowed).length > 0 ? NONE : by(set(NAME, allowed));
  return [{ path: NAME, message, repairs, ...(repairs.length === 0 && { fix: "rename the selector" }) }];
}
