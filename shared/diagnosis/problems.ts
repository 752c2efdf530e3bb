import type { Problem } from "../core/problem.ts";
import { ACK_02 } from "../ack/resource-judge.ts";
import type { Resolution } from "../core/resolution.ts";
import { SECRETS } from "../capa/secrets.ts";
import { SELECTORS } from "../ack/selectors.ts";
import { IDENTITIES } from "../capa/identities.ts";
import { EXTERNAL_ID_ANNOTATION } from "../core/annotation-keys.ts";
import { referrerKindOf } from "../core/capa-kinds.ts";
import type { DecisionSettings } from "../core/context.ts";
import { AC_01, AC_02, AC_03 } from "../capa/cluster-identity.ts";
import { AC_00 } from "../capa/cluster-reference.ts";
import { AUD_08, AUD_09 } from "../ack/definitions.ts";
import { CI_10, secretFaults } from "../capa/identity-change.ts";
import { crossingsOnce, type ResourceChange } from "../ack/resource-change.ts";
import { ACK_07, ACK_08, ACK_10B } from "../ack/resource-drift.ts";
import { ACK_03, ACK_05, ACK_05B } from "../ack/resource-selection.ts";
import { overlappingSelectors } from "../ack/selector-conflicts.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import type { ErrorCode } from "../formats/errors.ts";
import { formatFieldPath } from "../formats/json.ts";
import { drain, paced, type Paced } from "../formats/paced.ts";
import { listOf } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import type { Identity } from "../capa/identity.ts";
import { type Referrer, refersToIdentity } from "../capa/referrer.ts";
import type { JudgedSelector } from "../ack/selector.ts";
import type { AnnotatedObject, ResourceScope, ResourceState } from "./stale-resources.ts";
import { bindChecks } from "../core/bind.ts";
import { contextOf, type Finding, findingSentences, type QuickCheck, type Section } from "../core/check.ts";
import { identitySubject, resourceSubject, selectorSubject } from "./problem.ts";
import { runBoundChecks } from "../core/run.ts";

/** The checks of a resource whose faults are reported as Events. */
const CHECKS: readonly QuickCheck<ResourceChange>[] = [ACK_03, ACK_05, ACK_05B, ACK_07, ACK_08, ACK_10B];
const CHECKS_OF_STORED = [...CHECKS, ACK_02];

/** The reasons of the Events about the faults in each section of `audit`. */
const REASONS: ReadonlyMap<Section | undefined, string> = new Map([
  ["conflicts", "SelectorConflict"], ["refused", "RoleUnresolved"], ["drift", "RoleDrift"],
  ["onDefault", "DefaultRole"],
]);

/**
 * Yields the faults of an ACK resource that its controller does not report, or the problem of an object that refers to
 * a CAPA identity. Yields at most one problem for each reason. Omits checks that `--check ID=off` disables.
 */
export function* resourceProblems(
  { resource, resolution }: ResourceState, { inventory, settings }: ResourceScope,
): Iterable<Problem> {
  if (refersToIdentity(resource)) {
    yield* referrerProblems(resource, resolution, settings);
    return;
  }
  const subject = resourceSubject(resource);
  const reported = new Set<string>();
  for (const finding of findingsOf(CHECKS, { resource, resolution }, { inventory, settings })) {
    const reason = REASONS.get(finding.section);
    if (reason === undefined || reported.has(reason)) continue;
    reported.add(reason);
    yield { subject, reason, note: findingSentences(finding) };
  }
}

/** Returns the findings of `audit` in a resource of which only the fields of the inventory are known. */
export function resourceFindings(
  { resource, resolution }: Pick<ResourceState, "resource" | "resolution">,
  scope: Pick<ResourceScope, "inventory" | "settings">,
): readonly Finding[] {
  if (refersToIdentity(resource)) return [];
  return findingsOf(CHECKS_OF_STORED, { resource, resolution }, scope);
}

interface ResolvedResource {
  readonly resource: ACKResource;
  readonly resolution: Resolution;
}

function findingsOf(
  checks: readonly QuickCheck<ResourceChange>[], { resource, resolution }: ResolvedResource,
  { inventory, settings }: Pick<ResourceScope, "inventory" | "settings">,
): readonly Finding[] {
  const object = {};
  const input = { object, old: null, operation: "AUDIT", origin: "cluster", requester: null, inventory } as const;
  const change = {
    ...contextOf(input, settings, inventory), object, resource, resolution, crossings: crossingsOnce(object),
    stored: null, access: null,
  };
  return drain(runBoundChecks([bindChecks(checks, change, null)], input, settings)).findings;
}

/** The check that reports a refused identity with the code. AC-02 reports the other codes. */
const REFUSALS: ReadonlyMap<ErrorCode | null, string> = new Map([
  ["ERR_IDENTITY_KIND", AC_00.id], ["ERR_IDENTITY_UNKNOWN", AC_01.id],
]);

const DEFAULT_FIX = "Set identityRef to another identity, or set --check AC-03=off if clusters are meant to use the "
  + "credentials of CAPA.";

/**
 * Yields a problem if CAPA cannot use the identity to which the object refers, or if CAPA uses its own credentials.
 * Templates use no credentials. Omits the problem if `--check ID=off` disables the check that reports it at admission.
 */
function* referrerProblems(
  referrer: Referrer, { outcome, code, message }: Resolution,
  { checkSeverities }: Pick<DecisionSettings, "checkSeverities">,
): Iterable<Problem> {
  if (outcome === "selected" || referrerKindOf(referrer)?.isTemplate === true) return;
  const isRefused = outcome === "refused";
  const check = isRefused ? (REFUSALS.get(code) ?? AC_02.id) : AC_03.id;
  if (checkSeverities.get(check) === "off") return;
  const subject = resourceSubject(referrer);
  yield isRefused
    ? { subject, reason: "IdentityRefused", note: `CAPA cannot use the identity of this object. ${message}` }
    : { subject, reason: "DefaultIdentity", note: `${message} ${DEFAULT_FIX}` };
}

/** Returns the problem of an object whose annotations cannot be updated because of `fault`. */
export function staleProblem(resource: AnnotatedObject, fault: string): Problem {
  const note = "The annotations are stale: they do not match the role that resolves for the object, and could not be "
    + `updated: ${fault}`;
  return { subject: resourceSubject(resource), reason: "StaleAnnotations", note };
}

/** A note has room for a few faults. `audit` lists all faults. */
const MAX_FAULTS = 3;
const SELECTORS_BETWEEN_PAUSES = 5;
const IDENTITIES_BETWEEN_PAUSES = 200;
const NONE: ReadonlySet<string> = new Set();

const OVERLAP_FIX = "restrict the selectors so that only one of them selects each resource, or name the replaced "
  + "selector in the annotation ack-role-resolver.io/replaces";

/** What the problems of cluster-scoped objects depend on. */
interface ClusterScope extends Pick<ResourceScope, "inventory" | "settings"> {
  /** The groups of --extra-groups. */
  readonly extraGroups: readonly string[];
}

/** Reports the problems of IAMRoleSelectors, CAPA identities and CustomResourceDefinitions. Pauses regularly. */
export function* clusterProblems(scope: ClusterScope, report: (problem: Problem) => void): Paced<void> {
  const { inventory, extraGroups } = scope;
  for (const problem of definitionProblems(inventory, extraGroups)) report(problem);
  yield* paced(inventory.of(IDENTITIES).all(), IDENTITIES_BETWEEN_PAUSES, (identity) => {
    const problem = secretProblem(identity, scope);
    if (problem !== null) report(problem);
    return true;
  });
  const selectors = inventory.of(SELECTORS);
  yield* paced([...selectors.faulty.values()], SELECTORS_BETWEEN_PAUSES, (selector) => {
    report(faultProblem(selector, selectors.malformed.has(selector.name)));
    return true;
  });
  // With --runtime extended, an annotation of a resource chooses one of several selectors.
  if (inventory.runtime === "extended") return;
  for (const selector of selectors.values()) {
    // A namespace that does not exist has no resources. IRS-17 and NS-01 check the writes that change this.
    const names = yield* overlappingSelectors(inventory, selector, NONE, "existing");
    yield 0;
    if (names.length === 0) continue;
    const message = `the selector can select the same resources as ${listOf(names)}, and controllers do not reconcile `
      + "a resource that two selectors select";
    report({
      subject: selectorSubject(selector), reason: "SelectorsOverlap", note: sentences(message, OVERLAP_FIX),
    });
  }
}

/** Returns the problem of a static identity whose Secret CAPA cannot use, or null. */
function secretProblem(identity: Identity, { inventory, settings }: Omit<ClusterScope, "extraGroups">): Problem | null {
  if (!inventory.includes(SECRETS) || settings.checkSeverities.get(CI_10.id) === "off") return null;
  const faults = [...secretFaults(identity, { inventory, settings, origin: "cluster" })];
  const [first] = faults;
  if (first === undefined) return null;
  const message = `CAPA cannot use the Secret of this identity: ${faults.map((one) => one.message).join("; ")}`;
  const subject = identitySubject(identity, inventory);
  return { subject, reason: "UnusableSecret", note: sentences(message, first.fix ?? CI_10.fix) };
}

function faultProblem({ name, spec: { uid }, faults }: JudgedSelector, isMalformed: boolean): Problem {
  const denying = faults.filter((one) => one.withholdsGrant);
  const texts = denying.slice(0, MAX_FAULTS).map(({ code, path, message, fix }) => {
    // The message of a fault can quote the value, and an external ID is a secret.
    const isSecret = path.some((part) => typeof part === "object" && part.key === EXTERNAL_ID_ANNOTATION);
    const text = findingSentences({ message: isSecret ? "the value is not valid" : message, fix });
    return `${code} ${formatFieldPath(path)}: ${text}`;
  });
  const effect = isMalformed ? "Controllers ignore this selector." : "Sidecars grant no role of this selector.";
  const others = denying.length - texts.length;
  const more = others > 0 ? ` ${others} more: run \`ack-role-resolver audit --cluster\`.` : "";
  return {
    subject: selectorSubject({ name, uid }), reason: isMalformed ? "MalformedSelector" : "FaultySelector",
    note: `${effect} ${texts.join(" ")}${more}`,
  };
}

/** Yields a problem for each ACK kind of an unknown group, and for a CRD of IAMRoleSelector that lacks fields. */
function* definitionProblems(inventory: Inventory, extraGroups: readonly string[]): Iterable<Problem> {
  for (const { group, kind, name, uid } of inventory.kinds.definitions()) {
    const subject = {
      apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", namespace: "", name, uid,
    };
    const stored = { group, kind, inventory, selectors: [], extraGroups };
    const missing = Array.from(AUD_08.find(stored), ({ message }) => message);
    if (missing.length > 0) {
      yield { subject, reason: "SelectorFieldsPruned", note: sentences(missing.join("; "), AUD_08.fix) };
    }
    for (const { message } of AUD_09.find(stored)) {
      yield { subject, reason: "UnknownACKGroup", note: sentences(message, AUD_09.fix) };
    }
  }
}

function sentences(message: string, fix: string): string {
  return findingSentences({ message: `${message.charAt(0).toUpperCase()}${message.slice(1)}`, fix });
}
