import { type KindArgument, parseKindArgument } from "../../shared/core/ack-groups.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { type Labels, parseLabels } from "../../shared/formats/label-selector.ts";
import { namespaceNameFaults } from "../../shared/formats/names.ts";
import { quote } from "../../shared/formats/text.ts";

/** The resource that the query of a request describes. */
export interface ResourceDescription {
  /** The requested kind, as a list of at most one kind; empty if the query has no `kind`. */
  readonly kinds: readonly KindArgument[];
  /** The requested kind as text; "" if the query has no `kind`. */
  readonly kindText: string;
  /**
   * The labels of the resource. The value is null if the query has no `label`, and empty for `label=`, which describes
   * a resource without labels.
   */
  readonly labels: Labels | null;
}

const KIND_FORMAT = "KIND.GROUP or KIND.VERSION.GROUP, such as kind=Bucket.v1alpha1.s3.services.k8s.aws";

/** Parses the query `kind=...&label=k=v&label=...` of a path. Throws ERR_REQUEST_MALFORMED, which lists every fault. */
export function readResourceDescription(path: string): ResourceDescription {
  const search = searchOf(path);
  const faults = unknownParameters(search, ["kind", "label"]);
  const kinds = search.getAll("kind").map((text) => ({ text, kind: parseKindArgument(text) }));
  if (kinds.length > 1) faults.push("kind is repeated");
  for (const { text, kind } of kinds) {
    if (kind === null || kind.group === null) faults.push(`kind ${quote(text)} is not ${KIND_FORMAT}`);
  }
  const labels = readLabels(search.getAll("label"), faults);
  rejectIfAny(faults);
  const kindText = kinds[0]?.text ?? "";
  return { kinds: kinds.flatMap(({ kind }) => (kind === null ? [] : [kind])), kindText, labels };
}

/** Throws ERR_REQUEST_MALFORMED if the path has a query. */
export function rejectQuery(path: string): void {
  rejectIfAny(unknownParameters(searchOf(path), []));
}

/** Parses the query `namespace=NS` of a path. Throws ERR_REQUEST_MALFORMED, which lists every fault. */
export function readNamespaceParameter(path: string): string {
  const search = searchOf(path);
  const faults = unknownParameters(search, ["namespace"]);
  const [namespace = "", ...others] = search.getAll("namespace");
  if (others.length > 0) faults.push("namespace is repeated");
  if (!search.has("namespace")) faults.push("namespace is missing (add namespace=NS, the namespace of the cluster)");
  else faults.push(...namespaceFaults(namespace));
  rejectIfAny(faults);
  return namespace;
}

/** Returns `name`. Throws ERR_REQUEST_MALFORMED if `name` is not a valid namespace name. */
export function checkNamespaceName(name: string): string {
  rejectIfAny(namespaceFaults(name));
  return name;
}

function namespaceFaults(name: string): string[] {
  return namespaceNameFaults(name).map((fault) => `namespace ${quote(name)}: ${fault}`);
}

function searchOf(path: string): URLSearchParams {
  const mark = path.indexOf("?");
  const search = new URLSearchParams(mark < 0 ? "" : path.slice(mark + 1));
  const { value: limit } = LIMITS.queryParameters;
  if (search.size > limit) rejectIfAny([`the query has ${search.size} parameters (limit: ${limit})`]);
  return search;
}

function unknownParameters(search: URLSearchParams, known: readonly string[]): string[] {
  const unknown = [...new Set(search.keys())].filter((name) => !known.includes(name));
  const accepted = known.length === 0 ? "no parameters" : known.join(" and ");
  return unknown.map((name) => `parameter ${quote(name)} is unknown (this path accepts ${accepted})`);
}

/** Returns the labels in the query. Returns null if the query has no `label`, and an empty map for `label=`. */
function readLabels(texts: readonly string[], faults: string[]): Labels | null {
  if (texts.length === 0) return null;
  if (texts.length === 1 && texts[0] === "") return new Map();
  return parseLabels(texts, (text, fault) => void faults.push(`label ${quote(text)}: ${fault}`));
}

function rejectIfAny(faults: readonly string[]): void {
  if (faults.length === 0) return;
  const { value: limit } = LIMITS.faultsPerCheck;
  const more = faults.length > limit ? `; and ${faults.length - limit} more` : "";
  throw new ResolverError("ERR_REQUEST_MALFORMED", `Invalid request: ${faults.slice(0, limit).join("; ")}${more}.`);
}
