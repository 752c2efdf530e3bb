import { NAMESPACES } from "./namespaces.ts";
import { RESOURCES } from "../ack/resources.ts";
import { CARM_MAPS } from "../carm/map-store.ts";
import { REFERRERS } from "../capa/referrers.ts";
import { IDENTITIES } from "../capa/identities.ts";
import { KINDS_OF_CLUSTER } from "./kind-store.ts";
import { SECRETS } from "../capa/secrets.ts";
import { SELECTORS } from "../ack/selectors.ts";
import type { DecisionSettings } from "./context.ts";
import { objectReference } from "../formats/object-meta.ts";
import { roleNamespaceOf } from "../ack/adopted-resource.ts";
import { type CheckInput, isComplete, type Requirement } from "./check.ts";

const NONE: readonly Requirement[] = [];

/** Tells which requirements a change meets. Decides each requirement once, because most checks share a few. */
export class Requirements {
  readonly #input: CheckInput;
  readonly #settings: DecisionSettings;
  readonly #met = new Map<Requirement, boolean>();

  constructor(input: CheckInput, settings: DecisionSettings) {
    this.#input = input;
    this.#settings = settings;
  }

  isMet(requirement: Requirement): boolean {
    const known = this.#met.get(requirement);
    if (known !== undefined) return known;
    const isMet = IS_MET[requirement](this.#input, this.#settings);
    this.#met.set(requirement, isMet);
    return isMet;
  }

  /** Returns those of the requirements that are not met. */
  unmet(requirements: readonly Requirement[]): readonly Requirement[] {
    for (const requirement of requirements) {
      if (!this.isMet(requirement)) return requirements.filter((other) => !this.isMet(other));
    }
    return NONE;
  }
}

/**
 * For each requirement, a function that returns whether the requirement is met. The type `Record` ensures that no
 * requirement is missing.
 */
const IS_MET: Readonly<Record<Requirement, (input: CheckInput, settings: DecisionSettings) => boolean>> = {
  "namespaces": ({ inventory }) => inventory?.includes(NAMESPACES) === true,
  "--complete or --cluster": ({ origin }, settings) => isComplete({ origin, settings }),
  "kinds": ({ inventory }) => inventory?.includes(KINDS_OF_CLUSTER) === true,
  "resources": ({ inventory }) => inventory?.includes(RESOURCES) === true,
  "config maps": ({ inventory }) => inventory?.includes(CARM_MAPS) === true,
  "identities": ({ inventory }) => inventory?.includes(IDENTITIES) === true,
  "clusters": ({ inventory }) => inventory?.includes(REFERRERS) === true,
  "secrets": hasSecrets,
  "--identity-secret-namespace": (_, { identitySecretNamespace }) => identitySecretNamespace !== null,
  "the requester": ({ requester }) => requester !== null,
  "the stored object": ({ old }) => old !== null,
  // A template without a namespace is usually created in that of the object that contains it.
  "metadata.namespace": ({ object, template }) => template === undefined
    || (objectReference(object).namespace !== "" && !template.isOpen(["metadata", "namespace"])),
  // An audit, like `resolve`, treats its input as the whole state.
  "selectors and namespaces": (input, settings) => input.operation === "AUDIT" || canResolve(input, settings),
  "access reviews": ({ access = null }) => access !== null,
  // The requirement is never met here, because only the sidecar calls STS (sidecar/probe/assume-role-probe.ts).
  "STS": () => false,
  "--iam": ({ trust = null }) => trust !== null,
  "--controller-account or --controller-role": (_, { controllerAccount, controllerRole }) =>
    controllerAccount !== null || controllerRole !== null,
  "--allowed-accounts or --controller-role": (_, { allowedAccounts, controllerRole }) =>
    allowedAccounts.length > 0 || controllerRole !== null,
  "--controller-users": (_, { controllerServiceAccounts, controllerUsers }) =>
    controllerServiceAccounts.length > 0 || controllerUsers.length > 0,
  "--allowed-endpoint-hosts": (_, { allowedEndpointHosts }) => allowedEndpointHosts.length > 0,
  "--tenant-labels": (_, { tenantLabels }) => tenantLabels.length > 0,
};

/**
 * Whether the input contains the Secrets of static identities, or would with --identity-secret-namespace. Manifests
 * usually contain no Secrets.
 */
function hasSecrets({ inventory = null }: CheckInput, { identitySecretNamespace }: DecisionSettings): boolean {
  if (inventory === null) return false;
  const { origin } = inventory;
  const secrets = inventory.of(SECRETS);
  if (identitySecretNamespace === null) return origin === "cluster" || secrets.size > 0;
  return inventory.includes(SECRETS) && (origin === "cluster" || secrets.hasNamespace(identitySecretNamespace));
}

/**
 * Returns whether the input contains every object that determines the role of the resource. Manifests may omit objects
 * that exist in the cluster. In a cluster, the watch may not have delivered a new namespace yet.
 */
function canResolve({ inventory = null, object, origin }: CheckInput, { mode }: DecisionSettings): boolean {
  if (inventory === null) return false;
  const namespaceDecides = mode === "carm" || inventory.of(SELECTORS).readsNamespaceLabels;
  const readsNamespace = namespaceDecides || inventory.runtime === "extended";
  if (origin === "cluster") return !readsNamespace || inventory.namespaces.has(roleNamespaceOf(object));
  const hasRoles = mode === "carm"
    ? inventory.includes(CARM_MAPS)
    : inventory.of(SELECTORS).size + inventory.of(SELECTORS).malformed.size > 0;
  return hasRoles && (!namespaceDecides || inventory.includes(NAMESPACES));
}
