import { ResolverError } from "../../shared/decisions/errors.ts";
import { type KindArgument, parseKindArgument } from "../../shared/decisions/kubernetes/kinds.ts";
import type { Labels } from "../../shared/decisions/kubernetes/label-selector.ts";
import { labelKeyFaults, labelValueFaults, namespaceNameFaults } from "../../shared/decisions/kubernetes/names.ts";
import { quote } from "../../shared/decisions/kubernetes/text.ts";

/** What a request says of the resource that it wants credentials for. */
export interface ResourceDescription {
  /** At most one; none leaves the kind open. */
  readonly kinds: readonly KindArgument[];
  /** Null when no `label` was given; `label=` alone says that there are none. */
  readonly labels: Labels | null;
}

const KIND_FORM = "KIND.GROUP or KIND.VERSION.GROUP, such as kind=Bucket.v1alpha1.s3.services.k8s.aws";

/** Reads `kind=...&label=k=v&label=...` of a path's query. Throws ERR_REQUEST_MALFORMED naming every fault. */
export function readResourceDescription(path: string): ResourceDescription {
  const search = searchOf(path);
  const faults = unknownParameters(search, ["kind", "label"]);
  const kinds = search.getAll("kind").map((text) => ({ text, kind: parseKindArgument(text) }));
  if (kinds.length > 1) faults.push("kind may be given once");
  for (const { text, kind } of kinds) {
    if (kind === null || kind.group === null) faults.push(`kind is ${quote(text)}, not ${KIND_FORM}`);
  }
  const labels = readLabels(search.getAll("label"), faults);
  refuse(faults);
  return { kinds: kinds.flatMap(({ kind }) => (kind === null ? [] : [kind])), labels };
}

/** Throws ERR_REQUEST_MALFORMED where the path carries a query that it does not take. */
export function refuseQuery(path: string): void {
  refuse(unknownParameters(searchOf(path), []));
}

/** Throws ERR_REQUEST_MALFORMED unless it is a namespace's name. */
export function checkNamespaceName(name: string): string {
  refuse(namespaceNameFaults(name).map((fault) => `namespace ${quote(name)}: ${fault}`));
  return name;
}

function searchOf(path: string): URLSearchParams {
  const mark = path.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : path.slice(mark + 1));
}

function unknownParameters(search: URLSearchParams, known: readonly string[]): string[] {
  const unknown = [...new Set(search.keys())].filter((name) => !known.includes(name));
  const takes = known.length === 0 ? "no query" : known.join(" and ");
  return unknown.map((name) => `unknown parameter ${quote(name)}; this path takes ${takes}`);
}

function readLabels(given: readonly string[], faults: string[]): Labels | null {
  if (given.length === 0) return null;
  const labels = new Map<string, string>();
  if (given.length === 1 && given[0] === "") return labels;
  for (const text of given) {
    const at = text.indexOf("=");
    const [key, value] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
    const wrong = at < 0 ? ["it is not KEY=VALUE"] : [...labelKeyFaults(key), ...labelValueFaults(value)];
    if (labels.has(key)) wrong.push("the key was given already");
    faults.push(...wrong.map((fault) => `label ${quote(text)}: ${fault}`));
    labels.set(key, value);
  }
  return labels;
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new ResolverError("ERR_REQUEST_MALFORMED", `${faults.join("; ")}.`);
}
