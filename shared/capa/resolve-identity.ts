import { identityTargets } from "./role-targets.ts";
import { IDENTITIES } from "./identities.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory, RoleSource } from "../core/inventory.ts";
import { accountOfARN } from "../formats/arn.ts";
import { type ChainLink, regionFrom, type Resolution } from "../core/resolution.ts";
import { type IdentityChain, identityChain } from "./identity-chain.ts";
import { unsupportedDenial } from "./identity-denials.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, describeIdentity, type IdentityReference, INFRASTRUCTURE_GROUP,
  ROLE_IDENTITY,
  SERVICE_ACCOUNT_IDENTITY, STATIC_IDENTITY,
} from "../core/capa-kinds.ts";
import { referenceOf, type Referrer, refersToIdentity } from "./referrer.ts";

/** The identities of Cluster API, which give clusters their roles. */
export const IDENTITY_ROLES: RoleSource<Referrer> = {
  serves: refersToIdentity, resolve: resolveReferrer,
  knownIn: (inventory) => ({ hasRoles: inventory.includes(IDENTITIES), readsNamespace: true }),
  targets: identityTargets,
  sessionOf({ chain: [link] = [] }, inventory) {
    const identity = link === undefined ? null : inventory.of(IDENTITIES).get(link, "");
    return identity?.kind === ROLE_IDENTITY ? { settings: identity, defaultName: "name that CAPA chooses" } : null;
  },
  secretOf({ chain = [] }, { namespace }, inventory) {
    const last = chain.at(-1);
    const identity = last === undefined ? null : inventory.of(IDENTITIES).get(last, namespace);
    return identity?.kind === STATIC_IDENTITY ? identity.secretName : null;
  },
  endpoint: {
    group: INFRASTRUCTURE_GROUP, path: "/v1/credentials/identities/KIND/NAME?namespace=NS",
    objects: "identities of Cluster API",
  },
};

/**
 * Resolves the identity of an object that refers to a CAPA identity. The outcome is `default` if CAPA uses its own
 * credentials. The role is that of the referenced identity, and null for a static identity.
 */
export function resolveReferrer(
  inventory: Inventory, referrer: Referrer, settings: Pick<DecisionSettings, "region">,
): Resolution {
  const region = regionFrom(referrer.region, "resource") ?? regionFrom(settings.region, "controller");
  const common = { via: "identity", selectors: [], roleARN: null, accountID: null, region, code: null } as const;
  const reference = referenceOf(referrer, inventory.runtime);
  if (reference === null) {
    const message = `Shipped CAPA uses its own credentials for a ${referrer.kind} without identityRef, and does not `
      + "check the namespace.";
    return { ...common, outcome: "default", message, chain: [] };
  }
  if (isLeftToCAPA(inventory, reference)) {
    const reason = "the identity is not in the manifests, and CAPA creates it for every namespace";
    const message = `${describeIdentity(reference)} is not in the manifests. CAPA creates it for every namespace, and `
      + "uses its own credentials.";
    return { ...common, outcome: "default", message, chain: [{ ...reference, roleARN: null, allowed: true, reason }] };
  }
  const { links: chain, denial } = chainOf(inventory, reference, referrer.namespace);
  if (denial !== null) return { ...common, outcome: "refused", code: denial.code, message: denial.message, chain };
  const message = sourcesText(chain);
  if (reference.kind === CONTROLLER_IDENTITY) return { ...common, outcome: "default", message, chain };
  const roleARN = chain[0]?.roleARN ?? null;
  const accountID = roleARN === null ? null : accountOfARN(roleARN);
  return { ...common, outcome: "selected", roleARN, accountID, message, chain };
}

/**
 * Whether manifests omit the controller identity that the object itself refers to. CAPA then creates the identity, by
 * default for every namespace, but does not create one that is only the source of another identity. In a cluster, an
 * identity that CAPA has not created yet cannot be used. Source: kubernetes-sigs/cluster-api-provider-aws
 * exp/controlleridentitycreator, feature gate AutoControllerIdentityCreator.
 */
function isLeftToCAPA(inventory: Inventory, reference: IdentityReference): boolean {
  const isOfController = reference.kind === CONTROLLER_IDENTITY && reference.name === CONTROLLER_IDENTITY_NAME;
  return inventory.origin === "file" && isOfController && inventory.of(IDENTITIES).get(reference, "") === null;
}

/** Returns the chain, or the denial of a kind that shipped CAPA does not have. */
function chainOf(
  inventory: Inventory, reference: IdentityReference, namespace: string,
): Pick<IdentityChain, "links" | "denial"> {
  if (reference.kind !== SERVICE_ACCOUNT_IDENTITY || inventory.runtime === "extended") {
    return identityChain(inventory, reference, namespace);
  }
  const denial = unsupportedDenial(reference);
  return { links: [{ ...reference, roleARN: null, allowed: false, reason: denial.reason }], denial };
}

/** Returns a sentence that names every identity of an allowed chain. */
function sourcesText(links: readonly ChainLink[]): string {
  const [first = "", ...sources] = links.map(describeIdentity);
  if (links[0]?.kind === CONTROLLER_IDENTITY) return `${first} allows the namespace, so CAPA uses its own credentials.`;
  const through = sources.length === 0 ? "" : `, with the credentials of ${sources.join(", ")}`;
  return `${first} provides the credentials${through}.`;
}
