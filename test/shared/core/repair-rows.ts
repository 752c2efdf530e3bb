import type { Edit } from "../../../shared/core/repair.ts";
import { type JsonObject, plainKeys } from "../../../shared/formats/json.ts";
import { checkChange, type Circumstances } from "./findings.ts";

/** A check, what is wrong, the object, and what `repairsOf` returns. */
export type RepairRow = readonly [
  code: string, what: string, object: JsonObject, expected: readonly string[], circumstances?: Circumstances,
];

/** Returns the repairs of the findings of a check, such as `safe kind="Bucket"` or `to keep it: list removed`. */
export function repairsOf(code: string, object: JsonObject, circumstances: Circumstances = {}): string[] {
  const findings = checkChange(object, circumstances).findings.filter((one) => one.code === code);
  return [...new Set(findings.flatMap(({ repairs = [] }) => repairs.map(({ when, isSafe, edits }) => (
    `${when === undefined ? "" : `${when}: `}${isSafe === true ? "safe " : ""}${edits.map(editText).join(", ")}`
  ))))];
}

function editText({ path, value, of }: Edit): string {
  const field = `${of === undefined ? "" : `${of.name} `}${plainKeys(path).at(-1) ?? "(object)"}`;
  return value === undefined ? `${field} removed` : `${field}=${JSON.stringify(value)}`;
}
