import { fail } from "node:assert/strict";
import { type CheckInput, type Finding, operationOf } from "../../../shared/core/check.ts";
import type { AccessByName, DecisionSettings } from "../../../shared/core/context.ts";
import { LIMITS } from "../../../shared/core/limits.ts";
import { applyEdits, type Edit, type ObjectName, type Repair } from "../../../shared/core/repair.ts";
import type { CheckResult } from "../../../shared/core/run.ts";
import { field, formatFieldPath, type JsonObject } from "../../../shared/formats/json.ts";
import { apiVersionOf, objectReference } from "../../../shared/formats/object-meta.ts";
import { runChecks } from "../../../shared/judges.ts";
import { inventoryWith } from "../objects.ts";

/** How many repairs corrected their finding and were not denied, by code. */
export const REPAIRED = new Map<string, number>();

interface Judged {
  readonly input: CheckInput;
  readonly settings: DecisionSettings;
  /** The objects of the inventory; null if the inventory of the input was made otherwise. */
  readonly known: readonly JsonObject[] | null;
}

/** What is wrong with a repair. */
export interface FailedRepair {
  readonly code: string;
  /**
   * `ineffective`: the finding is still there; `masked`: it is still there, beside another denial; `denied`: something
   * new is denied.
   */
  readonly problem: "ineffective" | "masked" | "denied";
  readonly text: string;
}

/** Fails unless each repair of each finding corrects it, and nothing new is denied. */
export function applyRepairs(judged: Judged, result: Pick<CheckResult, "findings">): void {
  for (const { problem, text } of failedRepairs(judged, result)) if (problem !== "masked") fail(`${problem}: ${text}`);
}

/**
 * Applies each repair of each finding. Repairs of other objects are applied to the inventory first. Yields the repairs
 * after which the finding is still there, or after which something new is denied.
 */
export function* failedRepairs(judged: Judged, { findings }: Pick<CheckResult, "findings">): Iterable<FailedRepair> {
  for (const finding of findings) {
    const { code, message, path } = finding;
    for (const repair of finding.repairs ?? []) {
      const repaired = afterRepair(judged, repair);
      const problem = repaired === null ? null : problemOf(finding, findings, repaired.findings);
      if (problem !== null) {
        const text = `${code} ${formatFieldPath(path)}: ${message}: ${JSON.stringify(repair)}`;
        yield { code, text: `${problem.text}${text}`, problem: problem.kind };
      } else if (repaired !== null) REPAIRED.set(code, (REPAIRED.get(code) ?? 0) + 1);
    }
  }
}

interface Problem {
  readonly kind: FailedRepair["problem"];
  readonly text: string;
}

function problemOf(finding: Finding, before: readonly Finding[], after: readonly Finding[]): Problem | null {
  // A repair of a waiver user waives the finding.
  const same = (one: Finding): boolean => keyOf(one) === keyOf(finding) && one.waived === finding.waived;
  const isThere = after.filter(same).length >= before.filter(same).length && !isListCut(finding, before, after);
  if (!isThere) {
    const denied = newDenials(before, after);
    return denied === "" ? null : { kind: "denied", text: `${denied}: ` };
  }
  // Another fault can cause the same: controllers ignore a selector until all of its faults are corrected.
  const isMasked = after.some((one) => one.severity === "deny" && one.code !== finding.code);
  return { kind: isMasked ? "masked" : "ineffective", text: "" };
}

/** Whether so many faults were found that the list lacks some, and the fault at this path is gone. */
function isListCut({ code, path }: Finding, before: readonly Finding[], after: readonly Finding[]): boolean {
  const isOver = before.filter((one) => one.code === code).length > LIMITS.faultsPerCheck.value;
  return isOver && !after.some((one) => one.code === code && formatFieldPath(one.path) === formatFieldPath(path));
}

/** Returns the findings after the repair; null if it cannot be tried here. */
function afterRepair({ input, settings, known }: Judged, { edits }: Repair): Pick<CheckResult, "findings"> | null {
  const [own, others] = [edits.filter(({ of }) => of === undefined), edits.filter(({ of }) => of !== undefined)];
  if (others.length > 0 && known === null) return null;
  const { runtime } = settings;
  const object = applyEdits(input.object, own);
  if (object === null) return { findings: [] };
  const isStored = operationOf(input) === "AUDIT";
  let objects = others.reduce((all, edit) => edited(all, edit), known ?? []);
  if (isStored) objects = objects.map((one) => (isSameObject(one, nameOf(input.object)) ? object : one));
  const { origin } = input;
  const inventory = known === null ? input.inventory ?? null : inventoryWith(objects, { runtime, origin });
  const access = accessAfter(input.access ?? null, others);
  return runChecks({ ...input, object, inventory, access, ...(isStored && { old: object }) }, settings);
}

/** Returns the answers of access reviews after the edits, which can create Roles. */
function accessAfter(before: AccessByName | null, edits: readonly Edit[]): AccessByName | null {
  const names = edits.flatMap(({ value }) => [field(value, "rules")].flat())
    .flatMap((rule) => [field(rule, "resourceNames")].flat()).filter((name) => typeof name === "string");
  if (names.length === 0) return before;
  const ofIdentities = [...before?.keys() ?? []].filter((key) => names.some((name) => key.endsWith(`,"${name}"]`)));
  const allowed = [...names, ...ofIdentities].map((key) => [key, "allowed"] as const);
  return new Map([...before ?? [], ...allowed]);
}

function nameOf(object: JsonObject): ObjectName {
  const id = objectReference(object);
  return {
    apiVersion: apiVersionOf(id), kind: id.kind, namespace: id.namespace === "" ? null : id.namespace, name: id.name,
  };
}

function isSameObject(object: JsonObject, { apiVersion, kind, namespace, name }: ObjectName): boolean {
  const other = nameOf(object);
  return other.kind === kind && other.name === name && other.namespace === namespace
    && other.apiVersion.split("/")[0] === apiVersion.split("/")[0];
}

function edited(objects: readonly JsonObject[], edit: Edit): JsonObject[] {
  const { of } = edit;
  if (of === undefined) return [...objects];
  const index = objects.findIndex((one) => isSameObject(one, of));
  const result = applyEdits(objects[index] ?? null, [edit]);
  const others = objects.filter((_, i) => i !== index);
  return result === null ? others : [...others, result];
}

function keyOf({ code, message, path }: Finding): string {
  const steps = path.filter((step) => typeof step !== "number").map((step) => JSON.stringify(step));
  return [code, message, ...steps].join(" ");
}

function newDenials(before: readonly Finding[], after: readonly Finding[]): string {
  const codes = new Set(before.map(({ code }) => code));
  const denials = after.filter(({ severity, code }) => severity === "deny" && !codes.has(code));
  return denials.map(({ code, message }) => `${code}: ${message}`).join("; ");
}
