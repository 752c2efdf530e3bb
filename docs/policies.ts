import { ACK_02 } from "../shared/ack/resource-annotations.ts";
import { CATALOGUE } from "../shared/judges.ts";
import { checkPolicies, DEFAULT_POLICY_SETTINGS } from "../manifests/policies.ts";
import { listsOf } from "../manifests/policies/policy.ts";
import { MAX_COMPARED } from "../manifests/policies/selector-matches.ts";
import type { CheckEntry } from "../shared/core/check.ts";
import { withTable } from "./generated-table.ts";

const OTHER_OBJECTS = "needs other objects";
const REJECTED = "not needed: the API server rejects the object, or prunes the field, itself";
const COMPLEX = "too complex or too expensive for CEL";

/** The reasons why no policy covers the checks of a group. */
const OF_GROUPS = Object.entries({
  POD: "not needed: the `failurePolicy` of the webhooks for Pods is always Fail",
  TR: "not available: only commands read exports of IAM, which are never of this moment",
  CI: "not available: the policies read only the metadata of clusters, and no identity",
  AC: "not available: the policies read only the metadata of clusters, and no identity",
});
const SIZES = "only the number of labels and annotations";

const OLD_ENTRIES = `in an update, not if the stored selector has more than ${MAX_COMPARED.invalidNames} such entries`;

const LISTED = "with `--controller-users`";

/** The parts of covered checks that a policy does not cover, or the flag that a policy needs. */
const REMARKS: Readonly<Record<string, string>> = {
  "IRS-04": "with `--allowed-accounts` or `--controller-role`",
  "IRS-08": `repeated names only in lists of at most ${MAX_COMPARED.names} names`,
  "IRS-09": OLD_ENTRIES,
  "IRS-12": `repeated entries only in lists of at most ${MAX_COMPARED.types} entries; not apiVersion`,
  "IRS-13b": OLD_ENTRIES,
  "IRS-24": LISTED, "CM-15": LISTED,
  "IRS-45": "only ASCII characters, before templates are filled in; not `{account}` of an ARN without an account",
  "IRS-48": "only the sizes of lists, maps and annotations",
  "ACK-02": "denies annotations that contradict each other",
  "ACK-10": "only the form of the region",
  "ACK-10b": "only the annotation of the resource",
  "ACK-12": "not the JSON of the fields",
  "AC-08": SIZES, "ACK-35": SIZES, "FE-02": SIZES, "NS-14": SIZES,
  "NS-07": "only the form of the region",
  "NS-08": "only the first 4,096 characters; the host with `--allowed-endpoint-hosts`",
};

/** The reasons why no policy covers a check that denies by default. A test demands one for each such check. */
export const NOT_COVERED: Readonly<Record<string, string>> = {
  "IRS-00": REJECTED,
  "IRS-35": REJECTED,
  "IRS-16": COMPLEX,
  "IRS-17": OTHER_OBJECTS, "IRS-19": OTHER_OBJECTS, "IRS-20": OTHER_OBJECTS, "IRS-30": OTHER_OBJECTS,
  "IRS-31": OTHER_OBJECTS, "IRS-34": OTHER_OBJECTS, "IRS-40": OTHER_OBJECTS,
  "IRS-47": COMPLEX, "IRS-51": REJECTED, "IRS-52": OTHER_OBJECTS, "IRS-54": COMPLEX,
  "IRS-55": COMPLEX, "IRS-56": COMPLEX, "IRS-57": OTHER_OBJECTS,
  "ACK-05b": OTHER_OBJECTS, "ACK-06": OTHER_OBJECTS, "ACK-07": OTHER_OBJECTS, "ACK-08": OTHER_OBJECTS,
  "ACK-17": OTHER_OBJECTS, "ACK-30": OTHER_OBJECTS, "ACK-32": OTHER_OBJECTS, "ACK-34": OTHER_OBJECTS,
  "ACK-39": COMPLEX,
  "NS-01": OTHER_OBJECTS, "NS-03": OTHER_OBJECTS, "NS-04": OTHER_OBJECTS,
  "NS-12": OTHER_OBJECTS,
  "CM-01": COMPLEX, "CM-08": OTHER_OBJECTS, "CM-16": COMPLEX,
  "CM-14": COMPLEX,
  "META-01": REJECTED,
  ...Object.fromEntries(OF_GROUPS.flatMap(([group, reason]) => CATALOGUE.flatMap(({ id, severity }) => (
    severity === "deny" && id.startsWith(`${group}-`) && REMARKS[id] === undefined ? [[id, reason]] : []
  )))),
};

const OPTIONS = {
  namespace: "ack-role-resolver", runtime: "extended", ackSystemNamespace: "ack-system", ackGroups: [],
  hasWebhooks: false,
} as const;

/** Returns the names of the policies that contain each check. */
export function policiesByCheck(): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const policy of checkPolicies(OPTIONS, listsOf(DEFAULT_POLICY_SETTINGS))) {
    for (const { check } of policy.checks) names.set(check.id, [...names.get(check.id) ?? [], policy.name]);
  }
  return names;
}

/** Returns the checks of writes that deny by default, and the checks of forged annotations. */
export function checksOfWrites(): readonly CheckEntry[] {
  return CATALOGUE.filter((check) => check.severity === "deny" || check === ACK_02);
}

/** Returns the rows of a table: each key with the ids of its checks, and the part of a check that is not covered. */
function rowsBy(keysOf: (check: CheckEntry) => readonly string[]): string[] {
  const rows = new Map<string, string[]>();
  for (const check of checksOfWrites()) {
    const remark = REMARKS[check.id] === undefined ? "" : ` (${REMARKS[check.id]})`;
    for (const key of keysOf(check)) rows.set(key, [...rows.get(key) ?? [], `${check.id}${remark}`]);
  }
  return [...rows].map(([key, ids]) => `| ${key} | ${ids.join(", ")} |`);
}

/** Returns the table in docs/policies.md. */
function coverage(): string[] {
  const policies = policiesByCheck();
  const rows = rowsBy(({ id }) => policies.get(id) ?? []);
  return ["| policy | checks, and what a policy leaves out |", "| --- | --- |", ...rows];
}

/** Returns the page docs/policies.md with the current table. */
export function withCoverageTable(page: string): string {
  return withTable(page, coverage());
}
