import type { DecisionSettings, Severity } from "../contract/context.ts";
import { LIMITS } from "../contract/limits.ts";
import { ALWAYS_DENYING, OTHER_CHECKS } from "../contract/profiles.ts";
import { currentWaiver } from "../contract/removed-codes.ts";
import { mayWaive, waivedChecks } from "./waiver.ts";
import { applicableChecks } from "./by-kind.ts";
import { warnOfPlaceholders, withoutOpenValues } from "./unrendered.ts";
import { objectReference } from "../formats/object-meta.ts";
import { drain, paced, type Paced } from "../formats/paced.ts";
import { compareText } from "../formats/text.ts";
import {
  type BoundCheck, type CheckEntry, type CheckInput, compareFindings, type Fault, FAULTS_BETWEEN_PAUSES, type Finding,
  isComplete, type Requirement,
} from "./check.ts";

/** Returns the unmet requirements of a check. */
export function unmetRequirements(
  { requires = [] }: CheckEntry, input: CheckInput, settings: DecisionSettings,
): Requirement[] {
  return requires.filter((requirement) => !IS_MET[requirement](input, settings));
}

/**
 * For each requirement, a function that returns whether the requirement is met. The type `Record` ensures that no
 * requirement is missing.
 */
const IS_MET: Readonly<Record<Requirement, (input: CheckInput, settings: DecisionSettings) => boolean>> = {
  "namespaces": ({ inventory }) => inventory?.includes("namespaces") === true,
  "--complete or --cluster": ({ origin }, settings) => isComplete({ origin, settings }),
  "kinds": ({ inventory }) => inventory?.includes("kinds") === true,
  "resources": ({ inventory }) => inventory?.includes("resources") === true,
  "config maps": ({ inventory }) => inventory?.includes("config maps") === true,
  "identities": ({ inventory }) => inventory?.includes("identities") === true,
  "clusters": ({ inventory }) => inventory?.includes("referrers") === true,
  "secrets": hasSecrets,
  "--identity-secret-namespace": (_, { identitySecretNamespace }) => identitySecretNamespace !== null,
  "the requester": ({ requester }) => requester !== null,
  "the stored object": ({ old }) => old !== null,
  // A template without a namespace is usually created in that of the object that contains it.
  "metadata.namespace": ({ object, template }) => template === undefined
    || (objectReference(object).namespace !== "" && !template.isOpen(["metadata", "namespace"])),
  // An audit, like `resolve`, treats its input as the whole state.
  "selectors and namespaces": (input, settings) => input.operation === "AUDIT" || canResolve(input, settings),
  "access reviews": ({ access = null }) => access !== null,
  // The requirement is never met here, because only the sidecar calls STS (sidecar/probe/assume-role-probe.ts).
  "STS": () => false,
  "--controller-account or --controller-role": (_, { controllerAccount, controllerRole }) =>
    controllerAccount !== null || controllerRole !== null,
  "--allowed-accounts or --controller-role": (_, { allowedAccounts, controllerRole }) =>
    allowedAccounts.length > 0 || controllerRole !== null,
  "--controller-users": (_, { controllerServiceAccounts, controllerUsers }) =>
    controllerServiceAccounts.length > 0 || controllerUsers.length > 0,
  "--allowed-endpoint-hosts": (_, { allowedEndpointHosts }) => allowedEndpointHosts.length > 0,
  "--tenant-labels": (_, { tenantLabels }) => tenantLabels.length > 0,
};

/** Whether the input contains the Secrets of static identities. Manifests usually contain no Secrets. */
function hasSecrets({ inventory = null }: CheckInput, { identitySecretNamespace }: DecisionSettings): boolean {
  if (inventory?.includes("secrets") !== true) return false;
  return inventory.origin === "cluster" || inventory.secrets.hasNamespace(identitySecretNamespace ?? "");
}

/**
 * Returns whether the input contains every object that determines the role of the resource. Manifests may omit objects
 * that exist in the cluster. In a cluster, the watch may not have delivered a new namespace yet.
 */
function canResolve({ inventory = null, object, origin }: CheckInput, { mode }: DecisionSettings): boolean {
  if (inventory === null) return false;
  const namespaceDecides = mode === "carm" || inventory.selectors.readsNamespaceLabels;
  const readsNamespace = namespaceDecides || inventory.runtime === "extended";
  if (origin === "cluster") return !readsNamespace || inventory.namespaces.has(objectReference(object).namespace);
  const hasRoles = mode === "carm"
    ? inventory.includes("config maps")
    : inventory.selectors.size + inventory.selectors.malformed.size > 0;
  return hasRoles && (!namespaceDecides || inventory.includes("namespaces"));
}

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
 * Runs every check that applies to the change. Then applies the waivers and the severities. A fault that the stored
 * object already has is only a warning.
 */
export function runChecks(input: CheckInput, settings: DecisionSettings): CheckResult {
  return drain(runChecksPaced(input, settings));
}

/** Like `runChecks`, but pauses regularly, because a selector change can affect every resource in the cluster. */
export function* runChecksPaced(input: CheckInput, settings: DecisionSettings): Paced<CheckResult> {
  const findings: Finding[] = [];
  const skipped: SkippedCheck[] = [];
  for (const [index, bound] of applicableChecks(input, settings).entries()) {
    if (severityOf(bound.check, settings) === "off") continue;
    const needs = unmetRequirements(bound.check, input, settings);
    if (needs.length > 0) skipped.push({ code: bound.check.id, needs: needs.join(", ") });
    else {
      const work = bound.faults();
      const faults = "next" in work ? yield* work : work;
      if (faults.length > 0) {
        const found = yield* findingsOf(bound, faults, input, settings);
        findings.push(...capped(found, LIMITS.faultsPerCheck.value, "of this check"));
      }
      skipped.push(...unlistedFor(bound.check, input));
    }
    yield index;
  }
  findings.sort(compareFindings);
  skipped.sort((a, b) => compareText(a.code, b.code));
  const { template } = input;
  const reported = template === undefined
    ? warnOfPlaceholders(findings, input)
    : withoutOpenValues(findings, input.object, template);
  const denied = reported.some(isDenial);
  return { findings: capped(reported, LIMITS.faultsPerObject.value, "of this object"), denied, skipped };
}

/** Reports the kinds whose objects the check could not read, because the objects have not been listed. */
function unlistedFor({ id, requires = [] }: CheckEntry, { inventory = null }: CheckInput): SkippedCheck[] {
  const unlisted = requires.includes("resources") && inventory !== null ? [...inventory.unlisted("resources")] : [];
  if (unlisted.length === 0) return [];
  return [
    { code: id, needs: `the objects of ${unlisted.toSorted(compareText).join(", ")}, which have not been listed` },
  ];
}

function* findingsOf(
  { check, oldFaults }: BoundCheck, found: readonly Fault[], input: CheckInput, settings: DecisionSettings,
): Paced<Finding[]> {
  const old = oldFaults?.() ?? [];
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
  return findings;
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

/** Returns the configured severity of a check, or its default in the current mode and profile. */
export function severityOf(
  check: CheckEntry, { checkSeverities, mode }: Pick<DecisionSettings, "checkSeverities" | "mode">,
): Severity | "off" {
  const { id, fixed = false, deniesInCARM = false } = check;
  const own = deniesInCARM && mode !== "carm" ? "warn" : check.severity;
  const others = ALWAYS_DENYING.has(id) ? undefined : checkSeverities.get(OTHER_CHECKS);
  const byProfile = others === undefined || own !== "deny" ? own : others;
  return fixed ? byProfile : checkSeverities.get(id) ?? byProfile;
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
  return {
    code: check.id,
    severity: !isHarmless(check, fault, circumstances) && severityOf(check, settings) === "deny" ? "deny" : "warn",
    path: fault.path,
    message:
      waiver === "ignored"
        ? `${fault.message}; the waiver is ignored because the requester is not a waiver user`
        : fault.message,
    fix: fault.fix ?? check.fix,
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
  if (!waivedChecks(object).map(currentWaiver).includes(id)) return "none";
  return requester === null || mayWaive(requester, settings) ? "valid" : "ignored";
}
