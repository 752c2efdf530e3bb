import { IDENTITIES } from "./identities.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, describeIdentity, identityKindOf, type IdentityReference,
  ROLE_IDENTITY, SERVICE_ACCOUNT_IDENTITY,
} from "../core/capa-kinds.ts";
import type { LabelSelector } from "../formats/label-selector.ts";
import { NAME_LABEL, namespaceNameFaults } from "../formats/names.ts";
import { paced, type Paced } from "../formats/paced.ts";
import { compareText, countOf, listOf, printable, quote } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import {
  type AllowedNamespaces, allowsNamespace, readsOnlyNames, requirementsOf,
} from "./allowed-namespaces.ts";
import type { Identity, RoleIdentity } from "./identity.ts";
import { identityChain, referringNamespace } from "./identity-chain.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../core/check.ts";
import { repairsOf, safely, set } from "../core/repair.ts";
import type { IdentityChange } from "./identity-change.ts";
import {
  defaultSource, missingSourceRepairs, narrowerSourceRepairs, otherSource, sourceKindRepairs,
} from "./source-repairs.ts";
import { SCAN_LIMIT } from "../core/fault-texts.ts";
import { NEEDS } from "../core/requirements.ts";
import { CAPA_NEEDS } from "./requirements.ts";

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

const PATH = ["spec", "sourceIdentityRef"] as const;

function sourceOf({ identity }: IdentityChange): IdentityReference | null {
  return identity.kind === ROLE_IDENTITY ? identity.source : null;
}

export const CI_25: QuickCheck<IdentityChange> = {
  id: "CI-25",
  severity: "deny",
  reason: "A cycle of sources stops the process of shipped CAPA. CAPA rejects a role identity without a source.",
  fix: "set sourceIdentityRef to an AWSClusterControllerIdentity, AWSClusterStaticIdentity or AWSClusterRoleIdentity",
  example: "kind: AWSClusterRoleIdentity\nmetadata: {name: a}\n"
    + "spec: {sourceIdentityRef: {kind: AWSClusterRoleIdentity, name: a}}",
  *find(change): Iterable<Fault> {
    const { identity } = change;
    if (identity.kind !== ROLE_IDENTITY) return;
    const kind = identity.source === null ? null : identityKindOf(identity.source.kind);
    if (identity.source === null) {
      yield { path: PATH, message: "the source is missing", ...repairsOf(defaultSource(change)) };
    }
    else if (kind === null || kind === SERVICE_ACCOUNT_IDENTITY) {
      const message = `${quote(identity.source.kind)} is not a kind of source`;
      yield { path: [...PATH, "kind"], message, ...repairsOf(sourceKindRepairs(change, identity.source)) };
    } else if (kind === CONTROLLER_IDENTITY && identity.source.name !== CONTROLLER_IDENTITY_NAME) {
      const message = `CAPA uses only the ${CONTROLLER_IDENTITY} named ${CONTROLLER_IDENTITY_NAME}`;
      const path = [...PATH, "name"];
      yield { path, message, repairs: safely(set(path, CONTROLLER_IDENTITY_NAME)) };
    } else yield* chainFaults(identity, change);
  },
};

/** Yields a fault if the chain of the identity has a cycle or too many roles. */
function* chainFaults(identity: RoleIdentity, change: IdentityChange): Iterable<Fault> {
  const { inventory, pending } = change;
  const { links, broken } = identityChain(inventory, identity, "", { changed: identity, pending: pending.writes });
  const fix = "set sourceIdentityRef to another identity, so that at most 8 roles form a chain";
  const isDeep = broken?.code === "ERR_IDENTITY_DEPTH";
  if (!isDeep && broken?.code !== "ERR_IDENTITY_CYCLE") return;
  const cycle = `the sources form a cycle: ${links.map(({ name }) => quote(name)).join(" -> ")}`;
  yield { path: PATH, message: isDeep ? broken.reason : cycle, fix, ...repairsOf(otherSource(change)) };
}

export const CI_26: QuickCheck<IdentityChange> = {
  id: "CI-26",
  severity: "warn",
  reason: "CAPA cannot assume a role whose source does not exist.",
  fix: "create the source, or correct the reference",
  example: "spec: {sourceIdentityRef: {kind: AWSClusterStaticIdentity, name: no-such-identity}}",
  requires: [CAPA_NEEDS.identities, NEEDS.complete],
  section: "missingSources",
  inAudit: { severity: "deny" },
  *find(change): Iterable<Fault> {
    const source = missingSource(change.identity, change.inventory);
    if (source === null) return;
    const message = `${describeIdentity(source)} does not exist`;
    yield { path: PATH, message, ...repairsOf(missingSourceRepairs(change, source)) };
  },
};

/** Returns the source of the identity if it does not exist, or null. CI-25 reports a source that cannot exist. */
function missingSource(identity: Identity, inventory: Inventory): IdentityReference | null {
  const source = identity.kind === ROLE_IDENTITY ? identity.source : null;
  if (source === null || identityKindOf(source.kind) === null || source.kind === SERVICE_ACCOUNT_IDENTITY) return null;
  if (source.kind === CONTROLLER_IDENTITY && source.name !== CONTROLLER_IDENTITY_NAME) return null;
  const isItself = source.kind === identity.kind && source.name === identity.name;
  return isItself || inventory.of(IDENTITIES).get(source, "") !== null ? null : source;
}

export const CI_27: ScanningCheck<IdentityChange> = {
  id: "CI-27",
  severity: "deny",
  reason: "CAPA assumes a role only for a namespace that each identity of the chain allows. The check only warns if "
    + "the source allows some of the namespaces, or may allow a namespace whose labels are unknown.",
  fix: "give the source the same allowedNamespaces as this identity, or allow fewer namespaces here",
  example: "spec: {allowedNamespaces: {list: [team-a]}, sourceIdentityRef: {kind: AWSClusterStaticIdentity, name: s}}\n"
    + "# the source s has allowedNamespaces: {list: [team-b]}",
  requires: [CAPA_NEEDS.identities],
  *scan(change): Paced<readonly Fault[]> {
    const { identity, inventory } = change;
    const reference = sourceOf(change);
    const source = reference === null ? null : inventory.of(IDENTITIES).get(reference, "");
    if (source === null || !("allowedNamespaces" in source) || !("allowedNamespaces" in identity)) return [];
    const isItself = source.kind === identity.kind && source.name === identity.name;
    const [own, other] = [identity.allowedNamespaces, source.allowedNamespaces];
    const { namespaces, isDisjoint } = yield* narrowerSource(inventory, own, isItself ? own : other, SCAN_LIMIT);
    if (!isDisjoint && namespaces.length === 0) return [];
    const isWhole = namespaces.length < SCAN_LIMIT;
    const repairs = narrowerSourceRepairs(change, { source, namespaces, isWhole, isDisjoint });
    const place = { path: ["spec", "allowedNamespaces"], ...repairsOf(repairs) };
    if (isDisjoint) {
      const message = `no namespace may use the identity: its source ${describeIdentity(source)} allows none of the `
        + "namespaces that the identity allows";
      return [{ ...place, message }];
    }
    const list = listOf(namespaces.toSorted(compareText), namespaces.length, SCAN_LIMIT);
    const count = countOf(namespaces.length, "namespace", SCAN_LIMIT);
    const message = printable(`the source ${describeIdentity(source)} does not allow ${count}: ${list}`);
    return [{ ...place, message, severity: "warn" }];
  },
};

export const CI_28: QuickCheck<IdentityChange> = {
  id: "CI-28",
  severity: "warn",
  reason: "Shipped CAPA reads the credentials of a source once. When the session of the source expires, CAPA can no "
    + "longer renew the session of the role, and reports no error.",
  fix: "set durationSeconds: 3600 on the source, and use few clusters for each chain, or restart CAPA when calls fail",
  example: "spec: {sourceIdentityRef: {kind: AWSClusterRoleIdentity, name: base}}",
  *find(change): Iterable<Fault> {
    if (sourceOf(change)?.kind !== ROLE_IDENTITY || change.settings.runtime === "extended") return;
    yield { path: PATH, message: "the source is a role, whose session shipped CAPA does not renew" };
  },
};
