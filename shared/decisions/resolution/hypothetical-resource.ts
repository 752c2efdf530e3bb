import { ResolverError } from "../errors.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";
import { isACKGroup, type KindArgument, parseKindArgument } from "../kubernetes/kinds.ts";
import { type Labels, parseLabels } from "../kubernetes/label-selector.ts";
import { namespaceNameFaults } from "../kubernetes/names.ts";
import { quote } from "../kubernetes/text.ts";

/** A resource that does not exist yet, as described by CLI flags. */
export interface HypotheticalResource {
  /** `KIND.GROUP` or `KIND.VERSION.GROUP`; one query for each. */
  readonly kinds: readonly string[];
  readonly namespace: string;
  /** `KEY=VALUE` for each label. */
  readonly labels: readonly string[];
}

/**
 * The version of every kind that ACK controllers ship, for kinds whose CustomResourceDefinition is unknown.
 * Source: the folder apis/v1alpha1 of each controller at github.com/aws-controllers-k8s.
 */
const DEFAULT_VERSION = "v1alpha1";

/**
 * Returns a query for each kind. A kind without a version gets the storage version.
 * Throws ERR_CONFIG_INVALID with every fault, one line each.
 */
export function hypotheticalResources(
  { kinds, namespace, labels: labelTexts }: HypotheticalResource, inventory: Inventory,
): ResourceQuery[] {
  const faults = namespaceNameFaults(namespace).map((fault) => `--namespace ${quote(namespace)}: ${fault}`);
  const parsed = kinds.map((text) => parseACKKind(text, faults));
  const labels = parseLabelFlags(labelTexts, faults);
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  return parsed.filter((kind) => kind !== null).map((kind) => queryFor(kind, { inventory, namespace, labels }));
}

type GroupedKind = KindArgument & { readonly group: string };

function parseACKKind(text: string, faults: string[]): GroupedKind | null {
  const kind = parseKindFlag(text, faults);
  if (kind === null || isACKGroup(kind.group)) return kind;
  const expected = "expected one that ends in .services.k8s.aws, such as Bucket.s3.services.k8s.aws";
  faults.push(`--kind ${quote(text)}: ${kind.group} is not a group of ACK resources; ${expected}`);
  return null;
}

/** Parses a `--kind` of any group. If it is invalid, adds a fault and returns null. */
export function parseKindFlag(text: string, faults: string[]): GroupedKind | null {
  const kind = parseKindArgument(text);
  if (kind !== null && kind.group !== null) return { ...kind, group: kind.group };
  faults.push(`--kind ${quote(text)}: expected KIND.GROUP or KIND.VERSION.GROUP, such as Bucket.s3.services.k8s.aws`);
  return null;
}

/** Parses each `--label`, and adds the faults of invalid ones. */
export function parseLabelFlags(texts: readonly string[], faults: string[]): Labels {
  return parseLabels(texts, (text, fault) => void faults.push(`--label ${quote(text)}: ${fault}`));
}

interface QueryContext {
  readonly inventory: Inventory;
  readonly namespace: string;
  readonly labels: Labels;
}

function queryFor(
  { group, kind, version: requested }: GroupedKind, { inventory, namespace, labels }: QueryContext,
): ResourceQuery {
  const version = requested ?? inventory.kinds.versions(group, kind)?.storage ?? DEFAULT_VERSION;
  const status = { ownerAccountID: null, region: null };
  return { group, version, kind, namespace, name: null, labels, annotations: new Map(), status };
}
