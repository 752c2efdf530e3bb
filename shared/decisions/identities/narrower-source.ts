import type { Inventory } from "../inventory/inventory.ts";
import type { LabelSelector } from "../kubernetes/label-selector.ts";
import { NAME_LABEL, namespaceNameFaults } from "../kubernetes/names.ts";
import { type Paced, paced } from "../paced.ts";
import { type AllowedNamespaces, allowsNamespace, readsOnlyNames, requirementsOf } from "./allowed-namespaces.ts";
import { referringNamespace } from "./chain.ts";

/** The namespaces that an identity allows, but its source does not allow. */
interface NarrowerSource {
  /** Namespaces that exist or that the identity lists, at most `limit`. */
  readonly namespaces: readonly string[];
  /** Whether the source allows no namespace that the identity allows, whatever the labels of namespaces are. */
  readonly isDisjoint: boolean;
}

/** The number of label requirements that are evaluated. The limit bounds an audit of many identities. */
const MAX_STEPS = 20_000;
const BETWEEN_PAUSES = 200;

/**
 * Compares the namespaces that an identity and its source allow. Omits each namespace for which the result depends on
 * unknown labels: a namespace that does not exist can be created with any labels. Compares fewer namespaces if the
 * selectors have many requirements.
 */
export function* narrowerSource(
  inventory: Inventory, own: AllowedNamespaces, source: AllowedNamespaces, limit: number,
): Paced<NarrowerSource> {
  if (own.type === "none" || source.type === "all" || isEqual(own, source)) return NOTHING;
  const namespaces: string[] = [];
  const compared = { own, source, max: Math.ceil(MAX_STEPS / (1 + requirementsOf(own) + requirementsOf(source))) };
  yield* paced(candidates(inventory, compared), BETWEEN_PAUSES, (name) => {
    if (allows(inventory, own, name) === true && allows(inventory, source, name) === false) namespaces.push(name);
    return namespaces.length < limit;
  });
  return { namespaces, isDisjoint: source.type === "none" || isDisjointList(inventory, compared) };
}

interface Compared {
  readonly own: Exclude<AllowedNamespaces, { readonly type: "none" }>;
  readonly source: AllowedNamespaces;
  /** The number of namespaces to compare. */
  readonly max: number;
}

const NOTHING: NarrowerSource = { namespaces: [], isDisjoint: false };

/** Whether both rules are written with equal lists and selectors, in the same order. */
function isEqual(own: AllowedNamespaces, source: AllowedNamespaces): boolean {
  if (own.type !== "some" || source.type !== "some" || own.names.size !== source.names.size) return false;
  for (const name of own.names) if (!source.names.has(name)) return false;
  return JSON.stringify(own.selector) === JSON.stringify(source.selector);
}

/**
 * The namespaces that exist in every cluster, even if manifests do not contain them.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces
 */
const INITIAL_NAMESPACES: ReadonlySet<string> = new Set(["default", "kube-system"]);

/** Yields the first namespaces that the identity can allow. */
function* candidates(inventory: Inventory, { own, max }: Compared): Iterable<string> {
  let left = max;
  for (const name of allCandidates(inventory, own)) {
    if (left-- === 0) return;
    yield name;
  }
}

/** Yields the namespaces that are listed or always exist, then the existing namespaces that a selector can select. */
function* allCandidates({ namespaces }: Inventory, own: Compared["own"]): Iterable<string> {
  const { names, selector } = own.type === "some" ? own : { names: INITIAL_NAMESPACES, selector: ALL };
  // CI-05 reports a name that no namespace can have.
  for (const name of names) if (namespaceNameFaults(name).length === 0) yield name;
  if (selector === null) return;
  const [label] = selector.matchLabels;
  const existing = label === undefined ? namespaces.names : namespaces.withLabel(...label);
  for (const name of existing) if (!names.has(name)) yield name;
}

const ALL: LabelSelector = { matchLabels: [], matchExpressions: [] };

/** Returns whether the identity allows the namespace, or null if this depends on labels that are unknown. */
function allows(inventory: Inventory, allowed: AllowedNamespaces, name: string): boolean | null {
  if (allowsNamespace(allowed, referringNamespace(inventory, name)).allowed) return true;
  const selector = allowed.type === "some" ? allowed.selector : null;
  if (selector === null || inventory.namespaces.has(name)) return false;
  if (!readsOnlyNames(selector)) return null;
  const labels = new Map([[NAME_LABEL, name]]);
  return allowsNamespace(allowed, { name, labels, isPartial: false }).allowed;
}

/** Whether the identity allows only listed namespaces, and the source allows none of them. */
function isDisjointList(inventory: Inventory, { own, source, max }: Compared): boolean {
  if (own.type !== "some" || own.selector !== null || own.names.size > max) return false;
  const names = [...own.names].filter((name) => namespaceNameFaults(name).length === 0);
  return names.length > 0 && names.every((name) => allows(inventory, source, name) === false);
}
