import { ResolverError } from "../errors.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";
import { isACKGroup, type KindArgument, parseKindArgument } from "../kubernetes/kinds.ts";
import type { Labels } from "../kubernetes/label-selector.ts";
import { labelKeyFaults, labelValueFaults, namespaceNameFaults } from "../kubernetes/names.ts";
import { quote } from "../kubernetes/text.ts";

/** A resource that is not there yet, as a person asks for it. */
export interface HypotheticalResource {
  /** `KIND.GROUP` or `KIND.VERSION.GROUP`, each asked for by itself. */
  readonly kinds: readonly string[];
  readonly namespace: string;
  /** `KEY=VALUE` of each label that it is to carry. */
  readonly labels: readonly string[];
}

/**
 * The version of every kind that ACK's controllers ship, for one whose CustomResourceDefinition is not known.
 * Source: the folder apis/v1alpha1 of each controller at github.com/aws-controllers-k8s.
 */
const USUAL_VERSION = "v1alpha1";

/**
 * Reads what is asked for; a kind that is named without its version has the stored one.
 * @throws ResolverError ERR_CONFIG_INVALID whose message lists every fault, a line each.
 */
export function hypotheticalResources({ kinds, namespace, labels }: HypotheticalResource, inventory: Inventory): ResourceQuery[] {
  const faults = namespaceNameFaults(namespace).map((fault) => `--namespace ${quote(namespace)}: ${fault}`);
  const read = kinds.map((text) => readKind(text, faults));
  const carried = readLabels(labels, faults);
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  return read.filter((named) => named !== null).map((named) => queryFor(named, { inventory, namespace, labels: carried }));
}

type GroupedKind = KindArgument & { readonly group: string };

function readKind(text: string, faults: string[]): GroupedKind | null {
  const named = readGroupedKind(text, faults);
  if (named === null || isACKGroup(named.group)) return named;
  faults.push(`--kind ${quote(text)}: ${named.group} is no group of ACK resources; expected one that ends in .services.k8s.aws, such as Bucket.s3.services.k8s.aws`);
  return null;
}

/** Of any group. Adds to `faults` what is wrong with `--kind`, and gives null then. */
export function readGroupedKind(text: string, faults: string[]): GroupedKind | null {
  const named = parseKindArgument(text);
  if (named !== null && named.group !== null) return { ...named, group: named.group };
  faults.push(`--kind ${quote(text)}: expected KIND.GROUP or KIND.VERSION.GROUP, such as Bucket.s3.services.k8s.aws`);
  return null;
}

/** Adds to `faults` what is wrong with each `--label`. */
export function readLabels(texts: readonly string[], faults: string[]): Labels {
  const labels = new Map<string, string>();
  for (const text of texts) {
    const [key = "", ...rest] = text.split("=");
    const value = rest.join("=");
    const wrong = rest.length === 0 ? ["expected KEY=VALUE, such as tier=gold"] : [...labelKeyFaults(key), ...labelValueFaults(value)];
    if (labels.has(key)) wrong.push("a label has one value, and this key was given before");
    faults.push(...wrong.map((fault) => `--label ${quote(text)}: ${fault}`));
    labels.set(key, value);
  }
  return labels;
}

interface Surroundings {
  readonly inventory: Inventory;
  readonly namespace: string;
  readonly labels: Labels;
}

function queryFor({ group, kind, version }: GroupedKind, { inventory, namespace, labels }: Surroundings): ResourceQuery {
  const known = version ?? inventory.kindVersions(group, kind)?.storage ?? USUAL_VERSION;
  return { group, version: known, kind, namespace, name: null, labels, annotations: new Map(), status: { ownerAccountID: null, region: null } };
}
