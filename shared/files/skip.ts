import { basename } from "node:path";

/** The delimiters of actions: Backstage, Helm and Go templates, Jinja, Terraform, and variables of envsubst. */
const ACTIONS: ReadonlyMap<string, string> = new Map([
  ["${{", "}}"], ["{{", "}}"], ["{%", "%}"], ["{#", "#}"], ["%{", "}"], ["${", "}"],
]);

/** A marker for an action. The character is not allowed in YAML, so no text contains it. */
const MARK = "\u0001";
const MARKED_LINE = new RegExp(`^[ \\t]*(?:${MARK}[ \\t]*)+$`, "gm");

/**
 * Returns the text of a template without its actions: removes lines that consist only of actions, and replaces other
 * actions by a word. Returns null if the text contains no action.
 */
export function withoutActions(text: string): string | null {
  const parts: string[] = [];
  let from = 0;
  for (let next = nextAction(text, 0); next !== null; next = nextAction(text, from)) {
    parts.push(text.slice(from, next.start), MARK);
    from = next.end;
  }
  if (parts.length === 0) return null;
  return [...parts, text.slice(from)].join("").replace(MARKED_LINE, "").replaceAll(MARK, "x");
}

const OPENING = /\$\{\{|\{[{%#]|[%$]\{/g;

/** Returns the first complete action at or after `from`. An action that is never closed ends the search. */
function nextAction(text: string, from: number): { readonly start: number; readonly end: number } | null {
  OPENING.lastIndex = from;
  const opening = OPENING.exec(text);
  if (opening === null) return null;
  const close = ACTIONS.get(opening[0]) ?? "}}";
  const end = text.indexOf(close, opening.index + opening[0].length);
  return end === -1 ? null : { start: opening.index, end: end + close.length };
}

/** The reasons for skipping a file, and their names in messages. */
const NAMES = {
  "helm-template": ["Helm template", "Helm templates"],
  template: ["other template", "other templates"],
  "helm-chart": ["Helm chart or values file", "Helm chart and values files"],
  patch: ["Kustomize patch", "Kustomize patches"],
  kustomization: ["kustomization without kind", "kustomizations without kind"],
  json: ["JSON file without apiVersion and kind", "JSON files without apiVersion and kind"],
  yaml: ["YAML file without apiVersion and kind", "YAML files without apiVersion and kind"],
  ignored: ["ignored file or folder", "ignored files and folders"],
  gitignored: ["file or folder in .gitignore", "files and folders in .gitignore"],
  unreadable: ["unreadable file", "unreadable files"],
} as const satisfies Record<string, readonly [one: string, many: string]>;

export type SkipReason = keyof typeof NAMES;

/** The reasons in the order of messages. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
const REASONS = Object.keys(NAMES) as readonly SkipReason[];

/** A file that was skipped. For the reasons `ignored` and `gitignored`, the path may be a folder. */
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
  if (/^kustomization(?:\.ya?ml)?$/i.test(name)) return "kustomization";
  if (/^(?:chart|values)\b.*\.ya?ml$/i.test(name)) return "helm-chart";
  return name.endsWith(".json") ? "json" : "yaml";
}
