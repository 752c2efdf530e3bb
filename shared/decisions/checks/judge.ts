import { formatFieldPath } from "../field-path.ts";
import { compareFindings, type Finding } from "../finding.ts";
import { isSelector } from "../iamroleselector.ts";
import { type JsonObject } from "../json.ts";
import { objectMeta } from "../object-meta.ts";
import type { DecisionSettings } from "../settings.ts";
import type { Origin } from "../type-entry.ts";
import { type CheckedFault, selectorFaults } from "./self-faults.ts";

/** `ack-role-resolver.io/allow: IRS-15,IRS-19` waives those checks for the object that carries it. */
export const WAIVER_ANNOTATION = "ack-role-resolver.io/allow";

/** Who sent the request: the review's userInfo. */
export interface Requester {
  readonly username: string;
  readonly groups: readonly string[];
}

export interface JudgeInput {
  readonly object: JsonObject;
  /** The stored object at UPDATE, else null. */
  readonly old: JsonObject | null;
  /** Null offline, where a waiver counts whoever wrote it. */
  readonly requester: Requester | null;
  readonly origin: Origin;
}

export interface Judgement {
  /** Sorted by code and path. */
  readonly findings: readonly Finding[];
  readonly denied: boolean;
}

/** Whether any check looks at such an object. */
export function isChecked(object: JsonObject): boolean {
  return isSelector(object);
}

/** Runs every check over an object that is created or updated, and applies the rules that stand above each of them. */
export function judge(input: JudgeInput, settings: DecisionSettings): Judgement {
  if (!isChecked(input.object)) return { findings: [], denied: false };
  const context = { origin: input.origin, runtime: settings.runtime };
  const before = input.old === null ? new Map<string, number>() : countFaults(input.old, context);
  const findings: Finding[] = [];
  for (const found of selectorFaults(input.object, context)) {
    const left = before.get(identity(found)) ?? 0;
    before.set(identity(found), left - 1);
    const finding = toFinding(found, input, settings, left > 0);
    if (finding !== null) findings.push(finding);
  }
  findings.sort(compareFindings);
  return { findings, denied: findings.some((finding) => finding.severity === "deny") };
}

/** A fault that stood twice excuses two of the same, not a third. */
function countFaults(object: JsonObject, context: Parameters<typeof selectorFaults>[1]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const fault of selectorFaults(object, context)) counts.set(identity(fault), (counts.get(identity(fault)) ?? 0) + 1);
  return counts;
}

/** What makes a fault the same one before and after an edit: list positions shift, what is wrong does not. */
function identity({ check, fault }: CheckedFault): string {
  return JSON.stringify([check.id, fault.message, fault.path.filter((step) => typeof step !== "number")]);
}

/** The ratchet, the waiver and the severities that users set: only a fresh, unwaived deny denies. */
function toFinding({ check, fault }: CheckedFault, input: JudgeInput, settings: DecisionSettings, wasThere: boolean): Finding | null {
  const configured = settings.checkSeverities.get(check.id) ?? check.severity;
  if (configured === "off") return null;
  const waiver = check.waivable ? waiverState(check.id, input, settings) : "none";
  return {
    code: check.id,
    severity: wasThere || waiver === "valid" ? "warn" : configured,
    path: fault.path,
    message: waiver === "ignored" ? `${fault.message}; the waiver on it is ignored, since the requester may not waive checks` : fault.message,
    fix: fault.fix ?? check.fix,
    waivable: check.waivable,
    waived: waiver === "valid",
  };
}

/** A waiver counts only when one who may waive sends the request: whoever can write the object can write the annotation. */
function waiverState(id: string, { object, requester }: JudgeInput, settings: DecisionSettings): "none" | "valid" | "ignored" {
  if (!waiverOf(object).includes(id)) return "none";
  return requester === null || mayWaive(requester, settings) ? "valid" : "ignored";
}

function waiverOf(object: JsonObject): string[] {
  const text = objectMeta(object).annotations.get(WAIVER_ANNOTATION) ?? "";
  return text.split(",").map((id) => id.trim());
}

function mayWaive({ username, groups }: Requester, { waiverUsers, waiverGroups }: DecisionSettings): boolean {
  return waiverUsers.includes(username) || groups.some((group) => waiverGroups.includes(group));
}

/** `IRS-03 spec.arn: MESSAGE. FIX.`, the line that a person reads. */
export function findingLine(finding: FindingText): string {
  return `${finding.code} ${formatFieldPath(finding.path)}: ${findingSentences(finding)}`;
}

/** `MESSAGE. FIX.` as sentences. */
export function findingSentences({ message, fix }: Pick<FindingText, "message" | "fix">): string {
  return `${message}. ${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`;
}

type FindingText = Pick<Finding, "code" | "path" | "message" | "fix">;
