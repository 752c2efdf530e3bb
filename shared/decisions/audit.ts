import { type AuditSummary, summaryOf } from "./audit-summary.ts";
import { type AuditCheck, type Section, SECTIONS } from "./checks/audit/audit-check.ts";
import { AUDIT_CHECKS } from "./checks/audit/list.ts";
import { hasResolutionAnnotations } from "./checks/audit/resolution.ts";
import type { Fault, Finding } from "./checks/check.ts";
import { unmetRequirements } from "./checks/requirements.ts";
import { warnOfQuotedPlaceholder } from "./checks/unrendered.ts";
import { runChecks, type SkippedCheck } from "./checks/run.ts";
import type { DecisionSettings, Origin } from "./context.ts";
import { type Identity, readIdentity } from "./identities/identity.ts";
import { readReferrer, type Referrer } from "./identities/referrer.ts";
import { resolveReferrer } from "./identities/resolve.ts";
import { type ClusterUsage, clusterUsage } from "./identities/cluster-usage.ts";
import type { Inventory } from "./inventory/inventory.ts";
import { type ACKResource, resourceOf } from "./kubernetes/ack-resource.ts";
import type { JsonObject } from "./kubernetes/json.ts";
import { definedKind, isACKGroup, isKindDefinition, isSelector } from "./kubernetes/kinds.ts";
import { objectReference } from "./kubernetes/object-meta.ts";
import { compareText } from "./kubernetes/text.ts";
import { type Paced, paced } from "./paced.ts";
import { desiredRegion } from "./resolution/region.ts";
import { resolve } from "./resolution/resolve.ts";
import { selectingSelectors } from "./resolution/selection.ts";

/** A finding in one object. `index` is the position of the object in the input. */
export interface AuditFinding extends Finding {
  readonly section: Section;
  readonly index: number;
}

export interface Audit {
  /** The findings, sorted by section, then by the index of the object. */
  readonly findings: readonly AuditFinding[];
  readonly summary: AuditSummary;
  readonly usage: ClusterUsage;
  /** Sorted by code. */
  readonly skipped: readonly SkippedCheck[];
}

/** All stored objects, and the inventory that contains these objects. */
interface AuditInput {
  readonly objects: readonly JsonObject[];
  readonly inventory: Inventory;
  readonly origin: Origin;
  /** The time of the audit, in ms. */
  readonly nowMs: number;
  /** The groups of `--extra-groups`. Default: none. */
  readonly extraGroups?: readonly string[];
}

const OBJECTS_BETWEEN_PAUSES = 200;

/** Audits every stored object. At each pause, yields the number of objects audited so far. */
export function* auditObjects(input: AuditInput, settings: DecisionSettings): Paced<Audit> {
  const auditor = new Auditor(input, settings);
  yield* paced(input.objects.entries(), OBJECTS_BETWEEN_PAUSES, ([index, object]) => {
    auditor.audit(object, index);
    return true;
  });
  return auditor.finish(yield* clusterUsage(input.inventory, settings));
}

class Auditor {
  readonly #input: AuditInput;
  readonly #settings: DecisionSettings;
  readonly #enabled: readonly AuditCheck[];
  /** Maps the id of each skipped check to its unmet requirements. */
  readonly #skipped = new Map<string, string>();
  /** The findings of the admission checks. */
  readonly #findings: AuditFinding[] = [];
  /** The findings of the checks that only `audit` runs. */
  readonly #auditFindings: AuditFinding[] = [];
  /** The admission findings that audit findings replace, each as `CHECK_ID OBJECT_INDEX`. */
  readonly #superseded = new Set<string>();
  readonly #selectors: { readonly name: string; readonly index: number }[] = [];
  /** The names of the selectors that select at least one resource. */
  readonly #selecting = new Set<string>();
  #resources = 0;
  #unannotated = 0;
  #identities = 0;

  constructor(input: AuditInput, settings: DecisionSettings) {
    const { inventory, origin } = input;
    this.#input = input;
    this.#settings = settings;
    const anyObject = { object: {}, old: null, requester: null, origin, inventory };
    this.#enabled = AUDIT_CHECKS.filter((check) => {
      const needs = unmetRequirements(check, anyObject, settings);
      if (needs.length > 0) this.#skipped.set(check.id, needs.join(", "));
      return needs.length === 0 && this.#severityOf(check) !== "off";
    });
  }

  /** Runs the admission checks on the object, and the audit checks of its kind. */
  audit(object: JsonObject, index: number): void {
    this.#runChecks(object, index);
    const { group, name } = objectReference(object);
    const identity = readIdentity(object, this.#input.inventory.runtime);
    if (isKindDefinition(object)) this.#auditDefinition(object, index);
    else if (isSelector(object)) this.#selectors.push({ name, index });
    else if (identity !== null) this.#auditIdentity(identity, index);
    else if (isACKGroup(group) && name !== "") this.#auditResource(resourceOf(object), index);
    else this.#auditReferrer(readReferrer(object), index);
  }

  /** Audits the selectors and returns the result. The caller must audit all objects first. */
  finish(usage: ClusterUsage): Audit {
    for (const { name, index } of this.#selectors) this.#auditSelector(name, index);
    const kept = this.#findings.filter(({ code, index }) => !this.#superseded.has(`${code} ${index}`));
    const findings = [...kept, ...this.#auditFindings].toSorted(
      (a, b) => SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section) || a.index - b.index,
    );
    const skipped = Array.from(this.#skipped, ([code, needs]) => ({ code, needs }));
    skipped.sort((a, b) => compareText(a.code, b.code));
    const summary = summaryOf({
      objects: this.#input.objects.length, selectors: this.#selectors.length, resources: this.#resources,
      unannotated: this.#unannotated, identities: this.#identities, clusters: usage.clusters,
    }, findings);
    return { findings, summary, usage, skipped };
  }

  /** Runs the admission checks as for an update that does not change the object. */
  #runChecks(object: JsonObject, index: number): void {
    const { inventory, origin } = this.#input;
    const input = { object, old: object, requester: null, origin, inventory };
    const { findings, skipped } = runChecks(input, this.#settings);
    for (const { code, needs } of skipped) this.#skipped.set(code, needs);
    for (const finding of findings) {
      this.#findings.push({ ...finding, index, section: this.#sectionOf(finding, object) });
    }
  }

  #sectionOf({ severity, waivable }: Finding, object: JsonObject): Section {
    if (!isSelector(object) || severity !== "deny" || waivable) return "checks";
    const { name } = objectReference(object);
    const { selectors } = this.#input.inventory;
    if (selectors.malformed.has(name)) return "malformed";
    return selectors.faulty.has(name) ? "faulty" : "checks";
  }

  #auditResource(resource: ACKResource, index: number): void {
    const { inventory } = this.#input;
    const settings = this.#settings;
    const resolution = resolve(inventory, resource, settings);
    this.#resources++;
    if (!hasResolutionAnnotations(resource)) this.#unannotated++;
    // If the annotation `use-selector` of a resource chooses one selector, other selectors may still select the
    // resource.
    const selecting = settings.mode === "selectors" && inventory.runtime === "extended"
      ? selectingSelectors(inventory, resource)
      : resolution.selectors;
    for (const { name } of selecting) this.#selecting.add(name);
    const subject = { resource, resolution, region: desiredRegion(inventory, resource, settings), settings };
    for (const check of this.#enabled) this.#report(check, index, check.findInResource?.(subject));
  }

  #auditReferrer(referrer: Referrer | null, index: number): void {
    const { inventory } = this.#input;
    if (referrer === null) return;
    if (!hasResolutionAnnotations(referrer)) this.#unannotated++;
    if (!inventory.includes("identities")) return;
    const subject = { referrer, resolution: resolveReferrer(inventory, referrer, this.#settings) };
    for (const check of this.#enabled) this.#report(check, index, check.findInReferrer?.(subject));
  }

  #auditDefinition(definition: JsonObject, index: number): void {
    const { objects, inventory, extraGroups = [] } = this.#input;
    const subject = { ...definedKind(definition), objects, inventory, extraGroups };
    for (const check of this.#enabled) this.#report(check, index, check.findInDefinition?.(subject));
  }

  #auditIdentity(identity: Identity, index: number): void {
    const { inventory, nowMs } = this.#input;
    this.#identities++;
    const subject = { identity, inventory, settings: this.#settings, nowMs };
    for (const check of this.#enabled) this.#report(check, index, check.findInIdentity?.(subject));
  }

  #auditSelector(name: string, index: number): void {
    const selector = this.#input.inventory.selectors.get(name);
    if (selector === undefined) return;
    const subject = { selector, selectsResource: this.#selecting.has(name), settings: this.#settings };
    for (const check of this.#enabled) this.#report(check, index, check.findInSelector?.(subject));
  }

  #report(check: AuditCheck, index: number, faults: Iterable<Fault> = []): void {
    const { id, section, supersedes, fix, waivable } = check;
    const severity = this.#severityOf(check) === "deny" ? "deny" : "warn";
    const source = { origin: this.#input.origin, requester: null };
    for (const { path, message } of faults) {
      const finding = { section, index, code: id, severity, path, message, fix, waivable, waived: false } as const;
      this.#auditFindings.push(warnOfQuotedPlaceholder(finding, source));
      for (const code of supersedes) this.#superseded.add(`${code} ${index}`);
    }
  }

  #severityOf(check: AuditCheck): AuditCheck["severity"] {
    return this.#settings.checkSeverities.get(check.id) ?? check.severity;
  }
}
