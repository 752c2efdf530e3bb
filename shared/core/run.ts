import type { DecisionSettings } from "./context.ts";
import { LIMITS } from "./limits.ts";
import { mayWaive, waivedChecks } from "./waiver.ts";
import { type BoundChecks, FAULTS_BETWEEN_PAUSES } from "./bind.ts";
import { type PlannedCheck, plannedChecks, verdictOfFault, WARNING } from "./plan.ts";
import { Requirements } from "./requirements.ts";
import { warnOfPlaceholders, withoutOpenValues } from "./unrendered.ts";
import { paced, type Paced } from "../formats/paced.ts";
import { compareText } from "../formats/text.ts";
import {
  type CheckEntry, type CheckInput, compareFindings, type Fault, type Finding, fixOf, fixOfFault, operationOf,
} from "./check.ts";

/** A check that did not run completely, and its unmet requirements. */
export interface SkippedCheck {
  readonly code: string;
  readonly needs: string;
}

export interface CheckResult {
  /** The findings, sorted by code and path. */
  readonly findings: readonly Finding[];
  readonly denied: boolean;
  /** Sorted by code. */
  readonly skipped: readonly SkippedCheck[];
}

/**
 * Runs the checks, and pauses regularly. Then applies the waivers and the severities. A fault that the stored object
 * already has is only a warning.
 */
export function* runBoundChecks(
  checks: readonly BoundChecks[], input: CheckInput, settings: DecisionSettings,
): Paced<CheckResult> {
  const findings: Finding[] = [];
  const skipped: SkippedCheck[] = [];
  const requirements = new Requirements(input, settings);
  let ran = 0;
  for (const bound of checks) {
    for (const planned of plannedChecks(bound.checks, operationOf(input), settings)) {
      const needs = requirements.unmet(planned.requires);
      if (needs.length > 0) {
        skipped.push({ code: planned.check.id, needs: needs.map(({ name }) => name).join(", ") });
        continue;
      }
      const work = bound.faults(planned.index);
      const faults = "next" in work ? yield* work : work;
      if (faults.length > 0) findings.push(...yield* findingsOf(planned, bound, faults, { input, settings }));
      skipped.push(...unlistedFor(planned, input));
      if (++ran % CHECKS_BETWEEN_PAUSES === 0) yield ran;
    }
  }
  findings.sort(compareFindings);
  skipped.sort((a, b) => compareText(a.code, b.code));
  const reported = reportedOf(findings, input);
  const denied = reported.some(isDenial);
  return { findings: capped(reported, LIMITS.faultsPerObject.value, "of this object"), denied, skipped };
}

function reportedOf(findings: readonly Finding[], input: CheckInput): readonly Finding[] {
  const { object, template } = input;
  return template === undefined ? warnOfPlaceholders(findings, input) : withoutOpenValues(findings, object, template);
}

/** The number of checks between two pauses. A check that scans also pauses itself. */
const CHECKS_BETWEEN_PAUSES = 4;

const NONE: readonly never[] = [];

/** Reports the kinds whose objects the check could not read, because the objects have not been listed. */
function unlistedFor(
  { check, partialStores }: PlannedCheck, { inventory = null }: CheckInput,
): readonly SkippedCheck[] {
  if (partialStores.length === 0 || inventory === null) return NONE;
  const unlisted = partialStores.flatMap((store) => [...inventory.unlisted(store)]);
  if (unlisted.length === 0) return NONE;
  const kinds = unlisted.toSorted(compareText).join(", ");
  return [{ code: check.id, needs: `the objects of ${kinds}, which have not been listed` }];
}

function* findingsOf(
  { check, index }: PlannedCheck, { oldFaults }: BoundChecks, found: readonly Fault[],
  { input, settings }: Pick<Circumstances, "input" | "settings">,
): Paced<readonly Finding[]> {
  const old = check.ofChange === true ? [] : oldFaults?.(index) ?? [];
  const before = yield* countFaults("next" in old ? yield* old : old);
  const waiver = check.waivable === true ? waiverState(check.id, input, settings) : "none";
  const findings: Finding[] = [];
  yield* paced(found, FAULTS_BETWEEN_PAUSES, (fault) => {
    const key = identity(fault);
    const left = before.get(key) ?? 0;
    before.set(key, left - 1);
    findings.push(toFinding(check, fault, { input, settings, waiver, wasThere: left > 0 }));
    return true;
  });
  return capped(findings, LIMITS.faultsPerCheck.value, "of this check");
}

/**
 * Returns at most `limit` findings, denials first. If there are more, adds one finding that states the number of
 * omitted findings. This finding denies if an omitted finding denies.
 */
function capped(findings: readonly Finding[], limit: number, ofWhat: string): readonly Finding[] {
  if (findings.length <= limit) return findings;
  const ordered = [...findings.filter(isDenial), ...findings.filter((finding) => !isDenial(finding))];
  const message = `and ${findings.length - limit} more faults ${ofWhat}`;
  return ordered.slice(0, limit + 1).map((finding, i) => (i < limit ? finding : { ...finding, message }));
}

function isDenial({ severity }: Finding): boolean {
  return severity === "deny";
}

/**
 * Counts how often each fault occurs. If the old object has a fault twice, only a third occurrence in the new object is
 * new.
 */
function* countFaults(faults: readonly Fault[]): Paced<Map<string, number>> {
  const counts = new Map<string, number>();
  yield* paced(faults, FAULTS_BETWEEN_PAUSES, (fault) => {
    const key = identity(fault);
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return true;
  });
  return counts;
}

/** The maximum length of a name in the key of a fault. A name in an object can have several MB. */
const MAX_NAME_LENGTH = 500;

/** Returns a key that is equal for equal faults. The key contains no list positions, because edits shift positions. */
function identity({ message, path, value }: Fault): string {
  const names = path.filter((step) => typeof step !== "number");
  const texts = names.map((step) => (typeof step === "string" ? step : step.key).slice(0, MAX_NAME_LENGTH));
  return [value ?? message, ...texts].join("\n");
}

type WaiverState = "none" | "valid" | "ignored";

interface Circumstances {
  readonly input: CheckInput;
  readonly settings: DecisionSettings;
  readonly waiver: WaiverState;
  /** Whether the old object has the same fault. */
  readonly wasThere: boolean;
}

/** Whether the fault is only a warning: only a new fault that is not waived can deny. */
function isHarmless(check: CheckEntry, fault: Fault, { input, waiver, wasThere }: Circumstances): boolean {
  const warnOnly = input.warnOnly === true && check.bindsControllers !== true;
  return wasThere || waiver === "valid" || fault.severity === "warn" || warnOnly;
}

function toFinding(check: CheckEntry, fault: Fault, circumstances: Circumstances): Finding {
  const { settings, waiver } = circumstances;
  const section = fault.section ?? check.section;
  const verdict = isHarmless(check, fault, circumstances) ? WARNING : verdictOfFault(check, settings);
  return {
    code: check.id,
    ...verdict,
    path: fault.path,
    message:
      waiver === "ignored"
        ? `${fault.message}; the waiver is ignored because the requester is not a waiver user`
        : fault.message,
    fix: fixOfFault(fault, fixOf(check, settings)),
    ...(fault.repairs !== undefined && fault.repairs.length > 0 && { repairs: fault.repairs }),
    waivable: check.waivable === true,
    waived: waiver === "valid",
    ...(section !== undefined && { section }),
  };
}

/**
 * Returns the state of the waiver. A waiver is valid only from a waiver user, because anyone who can write the object
 * can set the annotation.
 */
function waiverState(
  id: string,
  { object, requester }: CheckInput,
  settings: DecisionSettings,
): WaiverState {
  if (!waivedChecks(object).includes(id)) return "none";
  return requester === null || mayWaive(requester, settings) ? "valid" : "ignored";
}
