import { type Change, CHANGES, countsOf, GRAVE, type ImpactComparison } from "../shared/decisions/impact.ts";
import type { Resolution } from "../shared/decisions/resolve.ts";
import { findingLines, type LocatedFinding } from "./located-finding.ts";
import type { Paint } from "./paint.ts";
import { formatTable } from "./table.ts";

/** As a person says it, after a count and as a cell. */
const SAID: Readonly<Record<Change, string>> = {
  conflict: "to conflict", refused: "to refusal", default: "to default", account: "other account", role: "other role", region: "other region",
  selected: "selected now", selector: "other selector", added: "new", removed: "gone",
};

/** The counts, a row a resource that changes, and what of the manifests the webhook would refuse. */
export function impactLines(comparison: ImpactComparison, denials: readonly LocatedFinding[], paint: Paint): string[] {
  const refused = denials.length === 0 ? [] : ["", paint("bold", "The webhook would refuse"), ...denials.flatMap((denial) => findingLines(denial, paint))];
  return [...comparisonLines(comparison, paint), ...refused];
}

function comparisonLines({ impacts, resources }: ImpactComparison, paint: Paint): string[] {
  const counts = countsOf(impacts);
  const said = CHANGES.filter((change) => counts[change] > 0).map((change) => `${counts[change]} ${SAID[change]}`);
  const summary = `${resources} resources: ${[...said, `${resources - impacts.length} unchanged`].join(", ")}`;
  if (impacts.length === 0) return [summary];
  const rows = impacts.map(({ resource, change, before, after }) => [
    resource.namespace, `${resource.kind}/${resource.name ?? ""}`, SAID[change], resolutionCell(before, change), "->", resolutionCell(after, change),
  ]);
  const [head = "", ...lines] = formatTable([["NAMESPACE", "RESOURCE", "CHANGE", "BEFORE", "", "AFTER"], ...rows]);
  const painted = lines.map((line, i) => {
    const change = impacts[i]?.change ?? "role";
    return line.replace(`  ${SAID[change]}`, `  ${paint(GRAVE.has(change) ? "red" : "yellow", SAID[change])}`);
  });
  return [summary, "", paint("bold", head), ...painted];
}

/** The account first, since that is what matters; the region only where it is what changes. */
function resolutionCell(resolution: Resolution | null, change: Change): string {
  if (resolution === null) return "-";
  const { outcome, code, selectors, region } = resolution;
  if (outcome === "conflict") return `conflict of ${selectors.map(({ name }) => name).join(", ")}`;
  if (outcome === "refused") return `refused: ${code ?? ""}`;
  return change === "region" ? `${roleText(resolution)} in ${region?.value ?? "no region"}` : roleText(resolution);
}

function roleText({ outcome, accountID, roleARN, selectors }: Resolution): string {
  const account = accountID ?? "account not known";
  if (outcome === "default") return `${account}, the controller's own`;
  const role = (roleARN ?? "").split(":").at(-1) ?? "";
  return [account, role, ...selectors.map(({ name }) => `by ${name}`)].join(" ");
}
