import { type Audit, type Section, SECTIONS } from "../shared/decisions/audit.ts";
import type { ReportedFinding } from "./audit.ts";
import { findingLines } from "./located-finding.ts";
import type { Paint } from "./paint.ts";
import { formatTable } from "./table.ts";

/** The title of each section, and what one of its objects is. */
const TITLES: Readonly<Record<Section, string>> = {
  malformed: "malformed selectors, which take no part",
  faulty: "selectors that take part, but the webhook would refuse",
  conflicts: "resources in conflict",
  refused: "resources whose role the maps do not tell",
  drift: "resources in another account or region than wanted",
  unexpectedAccounts: "roles and resources in accounts that are not allowed",
  onDefault: "resources on the controller's own role",
  selectingNothing: "selectors that select nothing",
  staleAnnotations: "resources whose annotations are stale",
  checks: "objects that other checks find fault with",
};

interface Report {
  readonly summary: Audit["summary"];
  readonly findings: readonly ReportedFinding[];
}

/** The counts, then each section that has a finding. */
export function auditLines({ summary, findings }: Report, paint: Paint): string[] {
  const { objects, selectors, resources, unannotated } = summary;
  const counts = SECTIONS.map((section) => [String(summary[section]), TITLES[section]]);
  const lines = [`${objects} objects: ${selectors} selectors, ${resources} resources (${unannotated} without our annotations)`, ...formatTable(counts, ["right"])];
  for (const section of SECTIONS) {
    const own = findings.filter((finding) => finding.section === section);
    if (own.length > 0) lines.push("", paint("bold", capitalised(TITLES[section])), ...own.flatMap((finding) => findingLines(finding, paint)));
  }
  return lines;
}

/** The checks that could not be applied, and what each would have had to know. */
export function notAppliedLine(notApplied: Audit["notApplied"], paint: Paint): string {
  return paint("dim", `not applied: ${notApplied.map(({ code, needs }) => `${code} (needs ${needs})`).join(", ")}`);
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
