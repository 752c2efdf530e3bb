import type { CheckResult } from "../../shared/core/run.ts";
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

/** Returns lines that state what the skipped checks did not judge and how to have it judged. */
export function skippedLines(skipped: CheckResult["skipped"], paint: Paint): string[] {
  const groups = [...Map.groupBy(skipped, ({ needs }) => needs)];
  return groups.map(([needs, checks]) => {
    const words = needs.split(", ").flatMap((need) => [WORDS.get(need)].filter((known) => known !== undefined));
    const [[what] = [`a part that needs ${needs}`]] = words;
    const hows = words.map(([, how]) => how);
    // A part that the command cannot judge makes the others useless.
    const how = hows.find((one) => one.startsWith("only")) ?? hows.join(" and ");
    const codes = checks.map(({ code }) => code).join(", ");
    return paint("dim", `not judged: ${what} (${codes})${how === "" ? "" : `; ${how}`}`);
  });
}
