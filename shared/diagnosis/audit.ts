import { hasResolution } from "../core/recorded-resolution.ts";
import { JUDGES, runChecks } from "../judges.ts";
import { SELECTORS } from "../ack/selectors.ts";
import { type ClusterUsage, NO_USAGE } from "../core/cluster-usage.ts";
import { type CheckInput, type Finding, type Section, SECTIONS } from "../core/check.ts";
import type { CheckResult, SkippedCheck } from "../core/run.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import type { JsonObject } from "../formats/json.ts";
import { kindOf } from "../kinds.ts";
import { isSelector } from "../core/ack-groups.ts";
import { objectMeta, objectReference } from "../formats/object-meta.ts";
import { compareText } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";

/** A finding in one object. `index` is the position of the object in the input. */
export interface AuditFinding extends Finding {
  readonly section: Section;
  readonly index: number;
}

/** The numbers of all objects, and of the objects of some kinds. */
interface AuditTotals {
  readonly objects: number;
  readonly selectors: number;
  readonly resources: number;
  /** The identities of CAPA. */
  readonly identities: number;
  /** See `ClusterUsage`. */
  readonly clusters: number;
  /**
   * The number of resources, and of objects that refer to an identity, without resolution annotations. If the webhook
   * has never run in the cluster, the number includes all of them.
   */
  readonly unannotated: number;
}

export interface Audit {
  /** The findings, sorted by section, then by the index of the object. */
  readonly findings: readonly AuditFinding[];
  /** The totals, and the number of the objects that have findings in each section. */
  readonly summary: AuditTotals & Readonly<Record<Section, number>>;
  readonly usage: ClusterUsage;
  /** Sorted by code. */
  readonly skipped: readonly SkippedCheck[];
}

/** What an audit reads beside the object. The inventory contains all objects. */
type AuditContext = Omit<CheckInput, "object" | "old" | "operation" | "requester"> & {
  readonly storedSelectors: readonly JsonObject[];
  readonly inventory: Inventory;
};

/** The stored objects to audit. By default, the stored selectors are those of the objects. */
type AuditInput = Omit<AuditContext, "storedSelectors"> & Partial<AuditContext> & {
  readonly objects: readonly JsonObject[];
};

/**
 * Runs the checks on one stored object. A finding is a fault of the stored object, or a fault that its next write would
 * have.
 */
export function auditObject(object: JsonObject, context: AuditContext, settings: DecisionSettings): CheckResult {
  return runChecks({ ...context, object, old: object, operation: "AUDIT", requester: null }, settings);
}

const OBJECTS_BETWEEN_PAUSES = 200;

/** Runs the checks on every stored object. At each pause, yields the number of objects audited so far. */
export function* auditObjects(
  { objects, storedSelectors = objects.filter(isSelector), ...others }: AuditInput, settings: DecisionSettings,
): Paced<Audit> {
  const { inventory } = others;
  const findings: AuditFinding[] = [];
  /** Maps the id of each skipped check to its unmet requirements. */
  const skipped = new Map<string, string>();
  yield* paced(objects.entries(), OBJECTS_BETWEEN_PAUSES, ([index, object]) => {
    const result = auditObject(object, { ...others, storedSelectors }, settings);
    for (const { code, needs } of result.skipped) skipped.set(code, needs);
    for (const finding of result.findings) {
      findings.push({ ...finding, index, section: sectionOf(finding, object, inventory) });
    }
    return true;
  });
  let usage = NO_USAGE;
  for (const judge of JUDGES) {
    if (judge.usage !== undefined) usage = yield* judge.usage(objects, inventory, settings);
  }
  return {
    findings: findings.toSorted((a, b) => (
      SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section) || a.index - b.index
    )),
    summary: { ...totalsOf(objects), clusters: usage.clusters, ...countBySection(findings) },
    usage,
    skipped: Array.from(skipped, ([code, needs]) => ({ code, needs })).toSorted((a, b) => compareText(a.code, b.code)),
  };
}

function sectionOf({ section, severity, waivable }: Finding, object: JsonObject, inventory: Inventory): Section {
  if (section !== undefined) return section;
  if (!isSelector(object) || severity !== "deny" || waivable) return "checks";
  const { name } = objectReference(object);
  if (inventory.of(SELECTORS).malformed.has(name)) return "malformed";
  return inventory.of(SELECTORS).faulty.has(name) ? "faulty" : "checks";
}

function totalsOf(objects: readonly JsonObject[]): Omit<AuditTotals, "clusters"> {
  const totals = { objects: objects.length, selectors: 0, resources: 0, identities: 0, unannotated: 0 };
  for (const object of objects) {
    const id = objectReference(object);
    const kind = kindOf(id);
    if (kind === null || (kind.annotated !== undefined && id.name === "")) continue;
    if (kind.countedAs !== undefined) totals[kind.countedAs] += 1;
    if (kind.annotated !== undefined && !hasResolution(objectMeta(object).annotations)) totals.unannotated += 1;
  }
  return totals;
}

function countBySection(findings: readonly AuditFinding[]): Record<Section, number> {
  const bySection = Map.groupBy(findings, ({ section }) => section);
  const size = (section: Section): number => new Set(bySection.get(section)?.map(({ index }) => index)).size;
  return {
    malformed: size("malformed"), faulty: size("faulty"), conflicts: size("conflicts"), refused: size("refused"),
    drift: size("drift"), unexpectedAccounts: size("unexpectedAccounts"), onDefault: size("onDefault"),
    selectingNothing: size("selectingNothing"), awaitingResync: size("awaitingResync"),
    staleAnnotations: size("staleAnnotations"), unusableIdentities: size("unusableIdentities"),
    openIdentities: size("openIdentities"),
    missingSources: size("missingSources"), crossNamespace: size("crossNamespace"), checks: size("checks"),
  };
}
