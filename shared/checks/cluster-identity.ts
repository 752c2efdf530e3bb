import { accountText } from "../model/identity-account.ts";
import type { ChainLink } from "../resolution/identity-chain.ts";
import { describeIdentity } from "../resolution/identity-denials.ts";
import type { IdentityReference } from "../model/identity.ts";
import { CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, identityKindOf } from "../contract/capa-kinds.ts";
import { referenceOf, type Referrer, referrerPath } from "../model/referrer.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { printable, quote } from "../formats/text.ts";
import { controllerAccountOf } from "../resolution/resolve.ts";
import type { Fault, QuickCheck } from "./check.ts";
import type { ClusterChange } from "./cluster-reference.ts";

function isSameReference(a: IdentityReference | null, b: IdentityReference | null): boolean {
  return a?.kind === b?.kind && a?.name === b?.name;
}

export const AC_01: QuickCheck<ClusterChange> = {
  id: "AC-01",
  severity: "deny",
  waivable: true,
  reason: "CAPA can neither reconcile nor delete a cluster whose identity, or a source of it, does not exist. The "
    + "check only warns about a new cluster, because users create clusters and identities in any order.",
  fix: "create the identity, or change identityRef",
  example: "spec: {identityRef: {kind: AWSClusterRoleIdentity, name: no-such-identity}}",
  requires: ["identities"],
  *find({ referrer, resolution, stored }): Iterable<Fault> {
    const { code, chain = [] } = resolution;
    const index = chain.findIndex(({ allowed }) => !allowed);
    if (code !== "ERR_IDENTITY_UNKNOWN" || index < 0) return;
    const isChanged = stored !== null && !isSameReference(stored.written, referrer.written);
    const severity = isChanged ? {} : { severity: "warn" as const };
    yield { path: referrerPath(referrer), ...unknownFault(chain, index, referrer), ...severity };
  },
};

/** Returns the fault of an identity of the chain that does not exist. */
function unknownFault(
  chain: readonly ChainLink[], index: number, { written }: Referrer,
): Required<Pick<Fault, "fix" | "message">> {
  const link = chain[index];
  const field = index === 0 ? "identityRef" : "sourceIdentityRef";
  if (link?.kind === CONTROLLER_IDENTITY && link.name !== CONTROLLER_IDENTITY_NAME) {
    const fix = `set the name in ${field} to ${CONTROLLER_IDENTITY_NAME}`;
    return { message: `${link.reason}, not ${quote(link.name)}`, fix };
  }
  const fix = `create the identity, or ${index === 0 && written === null ? "set" : "change"} ${field}`;
  return { message: `${linkText(chain, index)} does not exist`, fix };
}

/** Returns the name of an identity of the chain, and of the identity whose source it is. */
function linkText(chain: readonly ChainLink[], index: number): string {
  const texts = chain.slice(Math.max(0, index - 1), index + 1).map(describeIdentity).toReversed();
  return texts.length === 2 ? `${texts.join(", the source of ")},` : texts.join("");
}

const ALLOW_FIX = "use an identity that allows the namespace, or ask the owner of the identity to allow it";
const KIND_FIX = "use another kind of identity; for an AWSServiceAccountIdentity, set --runtime extended if your "
  + "controller supports this kind";
const SOURCE_KIND_FIX = "use another identity, or correct the kind in sourceIdentityRef";

/** The fixes of the codes that AC-02 reports. */
const FIXES: ReadonlyMap<unknown, string> = new Map([
  ["ERR_IDENTITY_KIND", KIND_FIX],
  ["ERR_IDENTITY_NAMESPACE", ALLOW_FIX],
  ["ERR_IDENTITY_SELECTOR", ALLOW_FIX],
  ["ERR_IDENTITY_CYCLE", "use another identity, or change sourceIdentityRef of an identity in the cycle"],
  ["ERR_IDENTITY_DEPTH", "use another identity, or change sourceIdentityRef so that fewer roles form the chain"],
  ["ERR_IDENTITY_SECRET", "use another identity, whose secretRef is the name of a Secret in the namespace of CAPA"],
]);

export const AC_02: QuickCheck<ClusterChange> = {
  id: "AC-02",
  severity: "deny",
  waivable: false,
  reason: "CAPA refuses the identity only when it reconciles the cluster, and reports this only in a condition.",
  fix: ALLOW_FIX,
  example: "metadata: {namespace: team-b}\n"
    + "spec: {identityRef: {kind: AWSClusterRoleIdentity, name: team-a}} # allowedNamespaces: {list: [team-a]}",
  requires: ["identities"],
  *find({ referrer, resolution, inventory }): Iterable<Fault> {
    const { code, chain = [] } = resolution;
    const index = chain.findIndex(({ allowed }) => !allowed);
    const link = chain[index];
    const fix = index > 0 && code === "ERR_IDENTITY_KIND" ? SOURCE_KIND_FIX : FIXES.get(code);
    // AC-00 reports an unknown kind in the reference of the object itself.
    const isUnknownKind = referrer.written !== null && identityKindOf(referrer.written.kind) === null;
    if (fix === undefined || link === undefined || isUnknownKind) return;
    const where = `cannot be used in namespace ${referrer.namespace}`;
    const message = printable(`${linkText(chain, index)} ${where}: ${link.reason}`);
    const isWarning = isUndecided(link, referrer.namespace, inventory);
    yield { path: referrerPath(referrer), message, fix, ...(isWarning && { severity: "warn" as const }) };
  },
};

/**
 * Whether the selector of the identity could not be evaluated, because the inventory does not contain the Namespace:
 * manifests often lack it, and a watch reports a new Namespace with a delay.
 */
function isUndecided(link: IdentityReference, namespace: string, { identities, namespaces }: Inventory): boolean {
  const identity = namespaces.has(namespace) ? null : identities.get(link, namespace);
  const allowed = identity !== null && "allowedNamespaces" in identity ? identity.allowedNamespaces : null;
  return allowed?.type === "some" && allowed.selector !== null;
}

export const AC_03: QuickCheck<ClusterChange> = {
  id: "AC-03",
  severity: "warn",
  waivable: false,
  reason: "A cluster without identityRef uses the credentials of CAPA, which often have more rights than it needs.",
  fix: "set identityRef",
  example: "kind: AWSCluster\nspec: {region: eu-west-1}",
  *find({ referrer }): Iterable<Fault> {
    if (referrer.written !== null) return;
    yield { path: referrerPath(referrer), message: "identityRef is missing: CAPA uses its own credentials" };
  },
};

export const AC_04: QuickCheck<ClusterChange> = {
  id: "AC-04",
  severity: "deny",
  waivable: true,
  reason: "CAPA allows a change of identityRef, also its removal, which means the account of CAPA. CAPA then creates "
    + "the cluster again in the other account, and no longer finds the resources in the old account.",
  fix: "keep identityRef. To move the cluster, delete it and create it again",
  example: "# an update from\nspec: {identityRef: {kind: AWSClusterRoleIdentity, name: team-a}}\n# to\nspec: {}",
  requires: ["the stored object", "identities"],
  ofChange: true,
  *find(change): Iterable<Fault> {
    const { referrer, stored } = change;
    if (stored === null || isSameReference(stored.written, referrer.written)) return;
    const [from, to] = [accountOf(stored, change), accountOf(referrer, change)];
    if (from === null || to === null || from === to) return;
    const what = referrer.written === null ? "identityRef is removed" : "identityRef changes";
    yield { path: referrerPath(referrer), message: printable(`${what}: the cluster moves from ${from} to ${to}`) };
  },
};

/** Returns a text that names the account of an object, or null if its identity does not exist. */
export function accountOf(referrer: Referrer, { inventory, settings }: ClusterChange): string | null {
  const reference = referenceOf(referrer, inventory.runtime);
  const identity = reference === null ? null : inventory.identities.get(reference, referrer.namespace);
  return accountText(reference, identity, controllerAccountOf(settings));
}
