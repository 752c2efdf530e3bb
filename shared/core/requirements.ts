import { objectReference } from "../formats/object-meta.ts";
import { type CheckInput, isComplete, type Requirement } from "./check.ts";
import type { DecisionSettings } from "./context.ts";
import { KINDS_OF_CLUSTER } from "./kind-store.ts";
import { NAMESPACES } from "./namespaces.ts";
import type { StoreKey } from "./store.ts";

/** Returns the requirement that the input contains the objects of a store. */
export function needsStore(name: string, store: StoreKey): Requirement {
  return { name, store, isMet: ({ inventory }) => inventory?.includes(store) === true };
}

/** The requirements that belong to no kind. */
export const NEEDS = {
  namespaces: needsStore("namespaces", NAMESPACES),
  kinds: needsStore("kinds", KINDS_OF_CLUSTER),
  complete: {
    name: "--complete or --cluster", isMet: ({ origin }, settings) => isComplete({ origin, settings }),
  },
  requester: { name: "the requester", isMet: ({ requester }) => requester !== null },
  storedObject: { name: "the stored object", isMet: ({ old }) => old !== null },
  /** A template without a namespace is usually created in that of the object that contains it. */
  ownNamespace: {
    name: "metadata.namespace",
    isMet: ({ object, template }) => template === undefined
      || (objectReference(object).namespace !== "" && !template.isOpen(["metadata", "namespace"])),
  },
  accessReviews: { name: "access reviews", isMet: ({ access = null }) => access !== null },
  /** Never met here, because only the sidecar calls STS (sidecar/probe/assume-role-probe.ts). */
  sts: { name: "STS", isMet: () => false },
  controllerAccount: {
    name: "--controller-account or --controller-role",
    isMet: (_, { controllerAccount, controllerRole }) => controllerAccount !== null || controllerRole !== null,
  },
  allowedAccounts: {
    name: "--allowed-accounts or --controller-role",
    isMet: (_, { allowedAccounts, controllerRole }) => allowedAccounts.length > 0 || controllerRole !== null,
  },
  controllerUsers: {
    name: "--controller-users",
    isMet: (_, { controllerServiceAccounts, controllerUsers }) =>
      controllerServiceAccounts.length > 0 || controllerUsers.length > 0,
  },
  allowedEndpointHosts: {
    name: "--allowed-endpoint-hosts", isMet: (_, { allowedEndpointHosts }) => allowedEndpointHosts.length > 0,
  },
  tenantLabels: { name: "--tenant-labels", isMet: (_, { tenantLabels }) => tenantLabels.length > 0 },
} as const satisfies Readonly<Record<string, Requirement>>;

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
    const isMet = requirement.isMet(this.#input, this.#settings);
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
