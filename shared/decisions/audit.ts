import { RESOLUTION_KEYS } from "./annotation-keys.ts";
import { AUD_01, AUD_02, AUD_03, AUD_04, AUD_05, AUD_06, AUD_07, AUDIT_CHECKS } from "./checks/audit-checks.ts";
import type { CheckEntry, Fault } from "./checks/check.ts";
import type { Finding } from "./checks/finding.ts";
import { unmetRequirements } from "./checks/requirements.ts";
import { runChecks, type SkippedCheck } from "./checks/run.ts";
import type { DecisionSettings, Origin } from "./context.ts";
import type { Inventory } from "./inventory/inventory.ts";
import { type ACKResource, resourceOf } from "./kubernetes/ack-resource.ts";
import { accountOfARN } from "./kubernetes/arn.ts";
import type { JsonObject } from "./kubernetes/json.ts";
import { isACKGroup, isSelector } from "./kubernetes/kinds.ts";
import { objectMeta } from "./kubernetes/object-meta.ts";
import { compareText, quote } from "./kubernetes/text.ts";
import { type Paced, paced } from "./paced.ts";
import { resolutionAnnotations } from "./resolution/annotations.ts";
import { wantedRegion } from "./resolution/region.ts";
import { driftsOf, type Resolution, resolve } from "./resolution/resolve.ts";

/** What a finding of an audit is about, in the order of the report. */
export const SECTIONS = ["malformed", "faulty", "conflicts", "refused", "drift", "unexpectedAccounts", "onDefault", "selectingNothing", "staleAnnotations", "checks"] as const;
export type Section = (typeof SECTIONS)[number];

/** A finding and the object that it is of, by its place in the input. */
export interface AuditFinding extends Finding {
  readonly section: Section;
  readonly index: number;
}

/** Counts of objects. */
export interface AuditSummary extends Readonly<Record<Section, number>> {
  readonly objects: number;
  readonly selectors: number;
  readonly resources: number;
  /** Resources that nobody annotated: none is where no webhook ever was. */
  readonly unannotated: number;
}

export interface Audit {
  /** By section, and in each as the objects were given. */
  readonly findings: readonly AuditFinding[];
  readonly summary: AuditSummary;
  readonly skipped: readonly SkippedCheck[];
}

/** Everything that is stored, and the inventory that is made of it. */
export interface AuditInput {
  readonly objects: readonly JsonObject[];
  readonly inventory: Inventory;
  readonly origin: Origin;
}

const OBJECTS_BETWEEN_PAUSES = 200;

/** IRS-18 compares a selector with every other one. Beyond so many of them an audit leaves it out, and says so. */
const COMPARED_SELECTORS = 2000;
const COMPARING = "IRS-18";

/** Audits every stored object. Pauses yield how many objects have been audited. Each resource is resolved once. */
export function* auditObjects(input: AuditInput, settings: DecisionSettings): Paced<Audit> {
  const auditor = new Auditor(input, settings);
  yield* paced(input.objects.entries(), OBJECTS_BETWEEN_PAUSES, ([index, object]) => {
    auditor.look(object, index);
    return true;
  });
  return auditor.finish();
}

class Auditor {
  readonly #input: AuditInput;
  readonly #settings: DecisionSettings;
  readonly #findings: AuditFinding[] = [];
  readonly #notApplied = new Map<string, string>();
  readonly #applied: ReadonlySet<CheckEntry>;
  readonly #selecting = new Set<string>();
  readonly #selectors: { readonly name: string; readonly index: number }[] = [];
  #resources = 0;
  #unannotated = 0;

  constructor(input: AuditInput, settings: DecisionSettings) {
    const { inventory, origin } = input;
    const comparing = inventory.selectors.size <= COMPARED_SELECTORS;
    this.#input = input;
    this.#settings = comparing ? settings : { ...settings, checkSeverities: new Map([...settings.checkSeverities, [COMPARING, "off"]]) };
    if (!comparing) this.#notApplied.set(COMPARING, `at most ${COMPARED_SELECTORS} selectors`);
    const unmet = AUDIT_CHECKS.map((check) => ({ check, needs: unmetRequirements(check, { object: {}, old: null, requester: null, origin, inventory }, settings) }));
    for (const { check, needs } of unmet) if (needs.length > 0) this.#notApplied.set(check.id, needs.join(", "));
    this.#applied = new Set(unmet.flatMap(({ check, needs }) => (needs.length === 0 && this.#severity(check) !== "off" ? [check] : [])));
  }

  look(object: JsonObject, index: number): void {
    this.#judge(object, index);
    const { group, name } = objectMeta(object);
    if (isSelector(object)) {
      this.#selectors.push({ name, index });
      this.#lookAtRole(name, index);
    } else if (isACKGroup(group) && name !== "") this.#lookAtResource(resourceOf(object), index);
  }

  finish(): Audit {
    for (const { name, index } of this.#selectors) {
      // The maps decide in mode carm, and selectors select nothing there.
      if (this.#settings.mode === "carm" || !this.#input.inventory.selectors.has(name) || this.#selecting.has(name)) continue;
      this.#add("selectingNothing", AUD_06, index, { path: ["spec"], message: "the selector selects no resource that there is" });
    }
    const findings = this.#withoutRepeats().toSorted((a, b) => SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section) || a.index - b.index);
    const skipped = [...this.#notApplied].map(([code, needs]) => ({ code, needs })).toSorted((a, b) => compareText(a.code, b.code));
    return { findings, skipped, summary: this.#summary(findings) };
  }

  /** As if it were stored again as it is, so that what it does to nobody else is no change. */
  #judge(object: JsonObject, index: number): void {
    const { inventory, origin } = this.#input;
    const { findings, skipped } = runChecks({ object, old: object, requester: null, origin, inventory }, this.#settings);
    for (const { code, needs } of skipped) this.#notApplied.set(code, needs);
    for (const finding of findings) this.#findings.push({ ...finding, index, section: this.#sectionOf(finding, object) });
  }

  #sectionOf({ severity, waivable }: Finding, object: JsonObject): Section {
    if (!isSelector(object) || severity !== "deny" || waivable) return "checks";
    const { name } = objectMeta(object);
    if (this.#input.inventory.malformed.has(name)) return "malformed";
    return this.#input.inventory.faulty.has(name) ? "faulty" : "checks";
  }

  #lookAtRole(name: string, index: number): void {
    const selector = this.#input.inventory.selectors.get(name);
    const account = selector === undefined ? null : accountOfARN(selector.roleARN);
    if (account === null || this.#isAllowed(account)) return;
    this.#add("unexpectedAccounts", AUD_04, index, { path: ["spec", "arn"], message: `the role is in account ${account}, which is not one of --allowed-accounts` });
  }

  #lookAtResource(resource: ACKResource, index: number): void {
    const { inventory } = this.#input;
    const resolution = resolve(inventory, resource, this.#settings);
    this.#resources++;
    for (const { name } of resolution.selectors) this.#selecting.add(name);
    this.#lookAtOutcome(resolution, index);
    const drifts = driftsOf(resolution, resource.status, wantedRegion(inventory, resource, this.#settings));
    if (drifts.length > 0) this.#add("drift", AUD_03, index, { path: ["status", "ackResourceMetadata"], message: drifts.join("; ") });
    this.#lookAtAccount(resource, resolution, index);
    this.#lookAtAnnotations(resource, resolution, index);
  }

  #lookAtOutcome({ outcome, selectors, message }: Resolution, index: number): void {
    const path = ["metadata", "name"];
    const names = selectors.map(({ name }) => name).join(", ");
    if (outcome === "conflict") this.#add("conflicts", AUD_01, index, { path, message: `${selectors.length} IAMRoleSelectors select it: ${names}` });
    if (outcome === "refused") this.#add("refused", AUD_02, index, { path, message: message.replace(/\.$/, "") });
    if (outcome === "default") this.#add("onDefault", AUD_05, index, { path, message: "nothing gives it a role, so the controller's own is used" });
  }

  /** Selectors answer for the accounts of their roles; a resource for where it is, and for what the maps say. */
  #lookAtAccount({ status }: ACKResource, { via, accountID }: Resolution, index: number): void {
    const account = status.ownerAccountID ?? (via === "selector" ? null : accountID);
    if (account === null || account === this.#settings.controllerAccount || this.#isAllowed(account)) return;
    const path = status.ownerAccountID === null ? ["metadata", "namespace"] : ["status", "ackResourceMetadata", "ownerAccountID"];
    this.#add("unexpectedAccounts", AUD_04, index, { path, message: `the resource is in account ${quote(account)}, which is not one of --allowed-accounts` });
  }

  #isAllowed(account: string): boolean {
    return this.#settings.allowedAccounts.includes(account);
  }

  #lookAtAnnotations({ annotations }: ACKResource, resolution: Resolution, index: number): void {
    if (!RESOLUTION_KEYS.some((key) => annotations.has(key))) {
      this.#unannotated++;
      return;
    }
    const truth = resolutionAnnotations(resolution);
    const stale = RESOLUTION_KEYS.filter((key) => annotations.get(key) !== truth.get(key));
    const [key] = stale;
    if (key === undefined) return;
    const said = stale.map((one) => `${one} is ${valueText(annotations.get(one))} and should be ${valueText(truth.get(one))}`);
    this.#add("staleAnnotations", AUD_07, index, { path: ["metadata", "annotations", { key }], message: said.join("; ") });
  }

  #add(section: Section, check: CheckEntry, index: number, { path, message }: Fault): void {
    if (!this.#applied.has(check)) return;
    const severity = this.#severity(check) === "deny" ? "deny" : "warn";
    this.#findings.push({ section, index, code: check.id, severity, path, message, fix: check.fix, waivable: check.waivable, waived: false });
  }

  #severity(check: CheckEntry): CheckEntry["severity"] {
    return this.#settings.checkSeverities.get(check.id) ?? check.severity;
  }

  /** What an audit's own finding says of an object, no check of a change need say again. */
  #withoutRepeats(): AuditFinding[] {
    const said = new Set(this.#findings.map(({ code, index }) => `${code} ${index}`));
    return this.#findings.filter(({ code, index }) => REPEATED_BY[code]?.every((own) => !said.has(`${own} ${index}`)) !== false);
  }

  #summary(findings: readonly AuditFinding[]): AuditSummary {
    const count = (section: Section): number => new Set(findings.filter((one) => one.section === section).map(({ index }) => index)).size;
    return {
      objects: this.#input.objects.length, selectors: this.#selectors.length, resources: this.#resources, unannotated: this.#unannotated,
      malformed: count("malformed"), faulty: count("faulty"), conflicts: count("conflicts"), refused: count("refused"), drift: count("drift"),
      unexpectedAccounts: count("unexpectedAccounts"), onDefault: count("onDefault"), selectingNothing: count("selectingNothing"),
      staleAnnotations: count("staleAnnotations"), checks: count("checks"),
    };
  }
}

/** By the id of a check of changes, the checks of an audit that say the same of what is stored. */
const REPEATED_BY: Readonly<Record<string, readonly string[]>> = {
  "ACK-02": [AUD_07.id], "ACK-03": [AUD_01.id, AUD_02.id], "ACK-04": [AUD_01.id, AUD_02.id], "ACK-05": [AUD_05.id], "IRS-04": [AUD_04.id], "IRS-22": [AUD_06.id],
};

function valueText(value: string | undefined): string {
  return value === undefined ? "absent" : quote(value);
}
