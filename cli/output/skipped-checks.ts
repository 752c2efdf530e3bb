import type { SkippedCheck } from "../../shared/core/run.ts";
import { compareText } from "../../shared/formats/text.ts";
import type { LocatedFinding } from "./located-finding.ts";
import type { Paint } from "./terminal.ts";

const OF_WEBHOOK = "only the webhook judges it";

/** By the name of each requirement, what is not judged without it, and how to have it judged. */
const WORDS: ReadonlyMap<string, readonly [what: string, how: string]> = new Map(Object.entries({
  "namespaces": ["effects on namespaces", "add the Namespaces"],
  "--complete or --cluster": ["what is missing", "pass --complete if nothing is missing, or --cluster"],
  "kinds": ["kinds and versions", "add the CustomResourceDefinitions"],
  "resources": ["effects on resources", "add the resources"],
  "config maps": ["accounts of the CARM maps", "add the CARM maps"],
  "identities": ["identities of Cluster API", "add the identities"],
  "clusters": ["effects on clusters", "add the clusters"],
  "secrets": ["Secrets of static identities", "add the Secrets, or pass --cluster"],
  "--identity-secret-namespace": ["Secrets of static identities", "pass --identity-secret-namespace"],
  "the requester": ["who makes the change", OF_WEBHOOK],
  "the stored object": ["changes of stored objects", "only the webhook and impact judge them"],
  "metadata.namespace": ["uses of other namespaces", "set metadata.namespace"],
  "selectors and namespaces": ["roles of resources", "add the selectors and Namespaces"],
  "access reviews": ["rights of the requester", OF_WEBHOOK],
  "STS": ["whether STS accepts the roles", "only the sidecar judges it"],
  "--iam": ["who can assume the roles", "pass --iam"],
  "--controller-account or --controller-role": [
    "the account of controllers", "pass --controller-account or --controller-role",
  ],
  "--allowed-accounts or --controller-role": ["accounts of roles", "pass --allowed-accounts or --controller-role"],
  "--allowed-endpoint-hosts": ["hosts of endpoints", "pass --allowed-endpoint-hosts"],
  "--controller-users": ["who the controllers are", "pass --controller-users"],
  "--tenant-labels": ["labels of tenants", "pass --tenant-labels"],
}));

/** Returns each skipped check once, sorted by code, except those that report a finding about another object. */
export function notApplied(
  skipped: readonly SkippedCheck[], findings: readonly Pick<LocatedFinding, "code">[],
): SkippedCheck[] {
  const reported = new Set(findings.map(({ code }) => code));
  const byCode = new Map(skipped.map((check) => [check.code, check]));
  return [...byCode.values()].filter(({ code }) => !reported.has(code)).toSorted((a, b) => compareText(a.code, b.code));
}

/** Whether more input would have one of the checks judged. */
export function lackInput(skipped: readonly SkippedCheck[]): boolean {
  return skipped.some(({ needs }) => !howTo(needs).startsWith(ONLY));
}

/** Returns lines that state what the skipped checks did not judge and how to have it judged. */
export function skippedLines(skipped: readonly SkippedCheck[], paint: Paint): string[] {
  const groups = [...Map.groupBy(skipped, ({ needs }) => needs)];
  return groups.map(([needs, checks]) => {
    const [[what] = [`a part that needs ${needs}`]] = wordsOf(needs);
    const how = howTo(needs);
    const codes = checks.map(({ code }) => code).join(", ");
    return paint("dim", `not judged: ${what} (${codes})${how === "" ? "" : `; ${how}`}`);
  });
}

function wordsOf(needs: string): (readonly [what: string, how: string])[] {
  return needs.split(", ").flatMap((need) => [WORDS.get(need)].filter((known) => known !== undefined));
}

/** Returns how to have a check judged. A part that the command cannot judge makes the others useless. */
function howTo(needs: string): string {
  const hows = wordsOf(needs).map(([, how]) => how);
  return hows.find((one) => one.startsWith(ONLY)) ?? hows.join(" and ");
}

const ONLY = "only ";
