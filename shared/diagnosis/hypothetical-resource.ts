import { ResolverError } from "../formats/errors.ts";
import {
  CAPA_VERSION, CONTROL_PLANE_GROUP, INFRASTRUCTURE_GROUP, REFERRER_KINDS, referrerKindOf,
} from "../core/capa-kinds.ts";
import type { Inventory, RoleObject } from "../core/inventory.ts";
import { DEFAULT_VERSION } from "../core/ack-resource.ts";
import { isACKGroup, type KindArgument, parseKindArgument } from "../core/ack-groups.ts";
import { type Labels, parseLabels } from "../formats/label-selector.ts";
import { namespaceNameFaults } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { roleObjectOf } from "../kinds.ts";

/** Hypothetical resources, as described by CLI flags. */
export interface HypotheticalResource {
  /** The kinds, each as `KIND.GROUP` or `KIND.VERSION.GROUP`. Each kind produces one query. */
  readonly kinds: readonly string[];
  readonly namespace: string;
  /** The labels, each as `KEY=VALUE`. */
  readonly labels: readonly string[];
}

/**
 * Returns a query for each kind. An object that can refer to a CAPA identity has no `identityRef`. If a flag names no
 * version, uses the storage version of the kind. Throws ERR_CONFIG_INVALID if a flag is invalid. The error message has
 * one line for each fault.
 */
export function hypotheticalResources(
  { kinds, namespace, labels: labelTexts }: HypotheticalResource, inventory: Inventory,
): RoleObject[] {
  const faults = namespaceNameFaults(namespace).map((fault) => `--namespace ${quote(namespace)}: ${fault}`);
  const labelFaults: string[] = [];
  const context = { inventory, namespace, labels: parseLabelFlags(labelTexts, labelFaults) };
  const queries = kinds.flatMap((text) => queryFor(text, context, faults) ?? []);
  const all = [...faults, ...labelFaults];
  if (all.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", all.join("\n"));
  return queries;
}

type GroupedKind = KindArgument & { readonly group: string };

/**
 * Parses the value of a `--kind` flag. Accepts any API group. If the value is invalid, adds a fault to `faults` and
 * returns null.
 */
export function parseKindFlag(text: string, faults: string[]): GroupedKind | null {
  const kind = parseKindArgument(text);
  if (kind !== null && kind.group !== null) return { ...kind, group: kind.group };
  faults.push(`--kind ${quote(text)}: expected KIND.GROUP or KIND.VERSION.GROUP, such as Bucket.s3.services.k8s.aws`);
  return null;
}

/** Parses the values of the `--label` flags. Adds the faults of invalid labels to `faults`. */
export function parseLabelFlags(texts: readonly string[], faults: string[]): Labels {
  return parseLabels(texts, (text, fault) => void faults.push(`--label ${quote(text)}: ${fault}`));
}

interface QueryContext {
  readonly inventory: Inventory;
  readonly namespace: string;
  readonly labels: Labels;
}

/** Returns the query; null if the kind is invalid, or its objects have no role, which is added to the faults. */
function queryFor(
  text: string, { inventory, namespace, labels }: QueryContext, faults: string[],
): RoleObject | null {
  const parsed = parseKindFlag(text, faults);
  if (parsed === null) return null;
  const { group, kind } = parsed;
  const defaultVersion = referrerKindOf({ group, kind }) === null ? DEFAULT_VERSION : CAPA_VERSION;
  const version = parsed.version ?? inventory.kinds.versions(group, kind)?.storage ?? defaultVersion;
  const metadata = { namespace, labels: Object.fromEntries(labels) };
  const object = roleObjectOf({ apiVersion: `${group}/${version}`, kind, metadata });
  if (object === null) faults.push(`--kind ${quote(text)}: ${noRole(parsed)}`);
  return object;
}

function noRole({ group, kind }: GroupedKind): string {
  if (isACKGroup(group)) return `${kind} is not a kind of ACK resources; is it misspelled?`;
  const expected = "expected a group that ends in .services.k8s.aws, as in Bucket.s3.services.k8s.aws";
  const kinds = REFERRER_KINDS.map((one) => `${one.kind}.${one.group}`).join(", ");
  return group === INFRASTRUCTURE_GROUP || group === CONTROL_PLANE_GROUP
    ? `the kind has no identityRef; expected one of ${kinds}`
    : `${group} is not a group of ACK resources; ${expected}`;
}
