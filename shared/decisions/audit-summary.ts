import type { Section } from "./checks/audit/audit-check.ts";

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

/** The totals, and the numbers of the objects that have findings in each section. */
export interface AuditSummary extends AuditTotals, Readonly<Record<Section, number>> {}

/** Returns the summary. `index` is the position of the object of a finding. */
export function summaryOf(
  totals: AuditTotals, findings: readonly { readonly section: Section; readonly index: number }[],
): AuditSummary {
  const objects = Map.groupBy(findings, ({ section }) => section);
  const count = (section: Section): number => new Set(objects.get(section)?.map(({ index }) => index)).size;
  return {
    ...totals,
    malformed: count("malformed"), faulty: count("faulty"), conflicts: count("conflicts"), refused: count("refused"),
    drift: count("drift"), unexpectedAccounts: count("unexpectedAccounts"), onDefault: count("onDefault"),
    selectingNothing: count("selectingNothing"), staleAnnotations: count("staleAnnotations"),
    unusableIdentities: count("unusableIdentities"), openIdentities: count("openIdentities"),
    missingSources: count("missingSources"), checks: count("checks"),
  };
}
