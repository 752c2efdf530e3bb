import { CATALOGUE } from "../shared/decisions/checks/catalogue.ts";
import { findingLine } from "../shared/decisions/checks/judge.ts";
import type { Finding } from "../shared/decisions/finding.ts";
import { UNPRINTABLE } from "../shared/decisions/quote.ts";

/** What the Kubernetes documentation advises; the API server itself cuts at 256 once all together pass 4,096. */
const WARNING_LENGTH = 120;
const WARNINGS = 5;

const DENYING: ReadonlySet<string> = new Set(CATALOGUE.filter((check) => check.severity === "deny").map((check) => check.id));

/** One line that a terminal can print, id first, of at most 120 characters. */
export function warningLine(text: string): string {
  // A control character would make the API server drop the whole warning, a format character could turn a terminal's line round.
  const characters = Array.from(text.replaceAll(UNPRINTABLE, " "));
  return characters.length <= WARNING_LENGTH ? characters.join("") : `${characters.slice(0, WARNING_LENGTH - 1).join("")}…`;
}

/** The five gravest of the findings that do not deny, and how many more there are. */
export function findingWarnings(findings: readonly Finding[]): readonly string[] {
  const warned = findings.filter((finding) => finding.severity === "warn");
  // A stable sort: findings of one gravity keep the order of their codes and paths.
  const gravest = warned.toSorted((a, b) => gravity(a) - gravity(b)).map(findingWarning);
  const more = gravest.length - WARNINGS;
  return more > 0 ? [...gravest.slice(0, WARNINGS), `and ${more} more; ack-role-resolver lint lists them all`] : gravest;
}

function findingWarning(finding: Finding): string {
  const code = finding.waived ? `${finding.code} (waived)` : finding.code;
  return warningLine(findingLine({ ...finding, code }));
}

/** A fault that was there before comes first, what only ever warns next, what somebody waived last. */
function gravity({ code, waived }: Finding): number {
  if (waived) return 2;
  return DENYING.has(code) ? 0 : 1;
}
