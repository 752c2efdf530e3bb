import type { Resolution } from "../../shared/core/resolution.ts";
import { countOf, printable } from "../../shared/formats/text.ts";
import {
  type Change, CHANGES, countsOf, DISRUPTIVE, type Impact, type ImpactComparison,
} from "../../shared/diagnosis/impact.ts";
import type { NewRoles } from "../feature.ts";
import { causeText, ownRole, roleOrReason, type TableFormat } from "./resolution-table.ts";
import { formatTable, type Paint } from "./terminal.ts";

type Side = "before" | "after";

/** Returns the value that the change affects, such as the account, the role, the region or the selector. */
export function changedValue(impact: Impact, side: Side): string {
  const { change, [side]: resolution } = impact;
  if (resolution === null) return "-";
  if (change === "secret") return secretText(impact, side);
  if (resolution.outcome === "selected" || OF_ANY_OUTCOME.has(change)) {
    return VALUES[change]?.(resolution) ?? roleOrReason(resolution);
  }
  return roleOrReason(resolution);
}

/** The changes whose value a resource without a role also has. */
const OF_ANY_OUTCOME: ReadonlySet<Change> = new Set(["region", "identity", "source"]);

/** For each type of change, a function that returns the changed value. Null stands for the role or the reason. */
const VALUES: Partial<Record<Change, (resolution: Resolution) => string | null>> = {
  region: ({ region }) => region?.value ?? "no region",
  account: ({ accountID }) => accountID ?? "unknown account",
  role: ({ roleARN }) => (roleARN === null ? null : roleResource(roleARN)),
  selector: causeText,
  identity: shortChain,
  source: shortChain,
};

/** Returns the identities of the chain, such as `Role/team-a, Static/keys`. */
function shortChain({ chain = [] }: Resolution): string {
  if (chain.length === 0) return "-";
  const links = chain.map(({ kind, name }) => `${kind.replace(/^AWS(?:Cluster)?|Identity$/g, "")}/${name}`);
  return printable(links.join(", "));
}

function secretText({ secrets }: Impact, side: Side): string {
  const name = secrets?.[side] ?? null;
  return name === null ? "no Secret" : `Secret ${printable(name)}`;
}

/** Returns the text of a cell in the wide table. The region is shown only if the region changes. */
function wideCell(impact: Impact, side: Side): string {
  const { change, [side]: resolution } = impact;
  if (resolution === null) return "-";
  const { outcome, code, selectors, region } = resolution;
  if (outcome === "conflict") return `conflict of ${selectors.map(({ name }) => name).join(", ")}`;
  // The error code of a change of the identities can stay the same.
  if (outcome === "refused") return [`refused: ${code ?? ""}`, causeText(resolution)].filter(Boolean).join(" by ");
  const role = roleText(resolution);
  if (change === "secret") return `${role} with ${secretText(impact, side)}`;
  return change === "region" ? `${role} in ${region?.value ?? "no region"}` : role;
}

function roleText(resolution: Resolution): string {
  const { outcome, accountID, roleARN, selectors, chain } = resolution;
  const account = accountID ?? "unknown account";
  if (outcome === "default") return `${account}, ${ownRole(resolution)}`;
  const causes = chain === undefined ? selectors.map(({ name }) => name) : [causeText(resolution)];
  const role = roleARN === null ? [] : [roleResource(roleARN)];
  return [account, ...role, ...causes.map((cause) => `by ${cause}`)].join(" ");
}

/** Returns the last part of an ARN, such as role/ack/team-a. */
function roleResource(roleARN: string): string {
  return roleARN.split(":").at(-1) ?? "";
}

/** The text of each type of change, for the summary and the table cells. */
export const CHANGE_TEXT: Readonly<Record<Change, string>> = {
  conflict: "now in conflict", refused: "now refused", default: "now default", account: "other account",
  role: "other role", region: "other region", selected: "now selected", wider: "with wider sessions",
  narrower: "with narrower sessions", identity: "other identity",
  source: "other source", secret: "other Secret", selector: "other selector", added: "added", removed: "removed",
};

/** Returns the counts, such as `3 resources: 1 other account, 2 unchanged`. */
export function summaryText({ impacts, resources }: ImpactComparison): string {
  const counts = countsOf(impacts);
  const changed = CHANGES.filter((change) => counts[change] > 0);
  const texts = changed.map((change) => `${counts[change]} ${CHANGE_TEXT[change]}`);
  const unchanged = `${resources - impacts.length} unchanged`;
  return `${countOf(resources, "resource")}: ${[...texts, unchanged].join(", ")}`;
}

/** What changes, and whether the new roles can be assumed; null without exports of IAM. */
export interface Changes {
  readonly comparison: ImpactComparison;
  readonly newRoles: NewRoles | null;
}

/** The cell of a resource whose role no object names, such as the controller's own. */
export function assumableText(newRoles: NewRoles, impact: Impact): string {
  return newRoles.of(impact)?.verdict ?? "-";
}

/** Returns the lines of the counts and of the changed resources. */
export function comparisonLines({ comparison, newRoles }: Changes, format: TableFormat, paint: Paint): string[] {
  const { impacts } = comparison;
  const summary = summaryText(comparison);
  if (impacts.length === 0) return [summary];
  const cell = format.isWide ? wideCell : changedValue;
  const rows = impacts.map((impact) => [
    impact.resource.namespace, `${impact.resource.kind}/${impact.resource.name ?? ""}`, CHANGE_TEXT[impact.change],
    cell(impact, "before"), cell(impact, "after"), ...(newRoles === null ? [] : [assumableText(newRoles, impact)]),
  ]);
  const ofRoles = newRoles === null ? [] : ["ASSUMABLE"];
  const header = ["NAMESPACE", "RESOURCE", "CHANGE", "BEFORE", "AFTER", ...ofRoles];
  const [headerLine = "", ...lines] = formatTable([header, ...rows], format);
  const colored = lines.map((line, i) => {
    const change = impacts[i]?.change ?? "role";
    const text = CHANGE_TEXT[change];
    return line.replace(`  ${text}`, `  ${paint(DISRUPTIVE.has(change) ? "red" : "yellow", text)}`);
  });
  return [summary, "", paint("bold", headerLine), ...colored];
}
