import { basename } from "node:path";

/** The reasons for skipping a file, and their names in messages. */
const NAMES = {
  "helm-template": ["Helm template", "Helm templates"],
  template: ["other template", "other templates"],
  "helm-chart": ["Helm chart or values file", "Helm chart and values files"],
  kustomization: ["kustomization without kind", "kustomizations without kind"],
  json: ["JSON file without apiVersion and kind", "JSON files without apiVersion and kind"],
  yaml: ["YAML file without apiVersion and kind", "YAML files without apiVersion and kind"],
  ignored: ["ignored file or folder", "ignored files and folders"],
  unreadable: ["unreadable file", "unreadable files"],
} as const satisfies Record<string, readonly [one: string, many: string]>;

export type SkipReason = keyof typeof NAMES;

/** The reasons in the order of messages. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
const REASONS = Object.keys(NAMES) as readonly SkipReason[];

/** A file that was skipped. For the reason `ignored`, the path may be a folder. */
export interface SkippedFile {
  readonly path: string;
  readonly reason: SkipReason;
}

/** The number of skipped files by reason. */
export type SkipCounts = Readonly<Partial<Record<SkipReason, number>>>;

/** Returns the name of a reason, such as `Helm template`. */
export function skipName(reason: SkipReason): string {
  return NAMES[reason][0];
}

export function countSkipped(skipped: readonly SkippedFile[]): SkipCounts {
  return countsBy((reason) => skipped.filter((file) => file.reason === reason).length);
}

/** Returns the sums of both counts. */
export function sumOfCounts(one: SkipCounts, other: SkipCounts): SkipCounts {
  return countsBy((reason) => (one[reason] ?? 0) + (other[reason] ?? 0));
}

function countsBy(countOf: (reason: SkipReason) => number): SkipCounts {
  const counts = REASONS.map((reason) => [reason, countOf(reason)] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** Returns the counts as a text, such as `2 Helm templates, 1 ignored file or folder`. */
export function skipText(counts: SkipCounts): string {
  return REASONS.flatMap((reason) => {
    const count = counts[reason] ?? 0;
    return count === 0 ? [] : [`${count} ${NAMES[reason][count === 1 ? 0 : 1]}`];
  }).join(", ");
}

/** How a text that is not a Kubernetes manifest was recognized. */
export type NotManifest = "template" | "no-object";

/** Returns why a file that contains no manifest is skipped. */
export function reasonOf(path: string, cause: NotManifest): SkipReason {
  const name = basename(path);
  if (cause === "template") return "template";
  if (/^kustomization\.ya?ml$/i.test(name)) return "kustomization";
  if (/^(?:chart|values)\b.*\.ya?ml$/i.test(name)) return "helm-chart";
  return name.endsWith(".json") ? "json" : "yaml";
}
