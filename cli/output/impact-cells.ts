import { printable } from "../../shared/decisions/kubernetes/text.ts";
import type { Change, Impact } from "../../shared/decisions/resolution/impact.ts";
import type { Resolution } from "../../shared/decisions/resolution/resolve.ts";
import { causeText, ownRole, roleOrReason } from "./resolution-table.ts";

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
export function wideCell(impact: Impact, side: Side): string {
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
