import type { ErrorCode } from "../formats/errors.ts";
import { subdomainFaults } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import type { Identity, StaticIdentity } from "./identity.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, describeIdentity, IDENTITY_KINDS, type IdentityReference,
  SERVICE_ACCOUNT_IDENTITY,
} from "../core/capa-kinds.ts";

/** The reason why an identity of a chain may not be used. */
export interface ChainDenial {
  readonly code: Extract<ErrorCode, `ERR_IDENTITY_${string}`>;
  /** A clause without the name of the identity. */
  readonly reason: string;
  /** Sentences that name the identity and state the fix. */
  readonly message: string;
}

/** Denies a reference to a kind that is not an identity, or that cannot be a source. */
export function kindDenial(reference: IdentityReference, isSource: boolean): ChainDenial {
  if (reference.kind === SERVICE_ACCOUNT_IDENTITY) {
    const reason = "this kind cannot be the source of another identity";
    const message = `${describeIdentity(reference)} is a sourceIdentityRef, but ${reason}. `
      + "Use an AWSClusterControllerIdentity, AWSClusterStaticIdentity or AWSClusterRoleIdentity as the source.";
    return { code: "ERR_IDENTITY_KIND", reason, message };
  }
  const field = isSource ? "sourceIdentityRef" : "identityRef";
  const reason = `${quote(reference.kind)} is not the kind of an identity`;
  const message = `The kind ${quote(reference.kind)} of ${field} is not the kind of an identity. `
    + `Use one of ${IDENTITY_KINDS.join(", ")}.`;
  return { code: "ERR_IDENTITY_KIND", reason, message };
}

/** Denies a reference to the proposed kind AWSServiceAccountIdentity with `--runtime ack`. */
export function unsupportedDenial(reference: IdentityReference): ChainDenial {
  const reason = "shipped CAPA does not have this kind";
  const message = `${describeIdentity(reference)} cannot be used, because ${reason}. Use another kind of identity, or `
    + "--runtime extended if your controller supports the kind.";
  return { code: "ERR_IDENTITY_KIND", reason, message };
}

/** Denies an AWSClusterControllerIdentity that has another name than `default`. */
export function singletonDenial(reference: IdentityReference): ChainDenial {
  const reason = `CAPA uses only the ${CONTROLLER_IDENTITY} named ${quote(CONTROLLER_IDENTITY_NAME)}`;
  const message = `${describeIdentity(reference)} cannot be used: ${reason}. Change the name in the reference to `
    + `${CONTROLLER_IDENTITY_NAME}.`;
  return { code: "ERR_IDENTITY_UNKNOWN", reason, message };
}

/** Denies a reference to an identity that does not exist. `referrer` is the identity that has the reference. */
export function unknownDenial(reference: IdentityReference, referrer: Identity | null): ChainDenial {
  const reason = "the identity does not exist";
  const source = referrer === null ? "" : ` ${describeIdentity(referrer)} names it as its source.`;
  const fix = reference.kind === SERVICE_ACCOUNT_IDENTITY
    ? "Create the identity in the namespace of the object that uses it, or change the reference."
    : "Create the identity, or change the reference.";
  const message = `${describeIdentity(reference)} does not exist.${source} ${fix}`;
  return { code: "ERR_IDENTITY_UNKNOWN", reason, message };
}

/** Denies a chain that contains an identity twice. `cycle` starts and ends with the same identity. */
export function cycleDenial(cycle: readonly Identity[]): ChainDenial {
  const path = cycle.map(({ name }) => quote(name)).join(" -> ");
  const reason = "the chain already contains this identity";
  const message = `The sources of the identities form a cycle of AWSClusterRoleIdentities: ${path}. `
    + "Change the sourceIdentityRef of one of them.";
  return { code: "ERR_IDENTITY_CYCLE", reason, message };
}

/** Denies a chain that has too many roles. `identity` is the first role beyond the limit. */
export function depthDenial(identity: Identity, limit: number): ChainDenial {
  const reason = `the chain has more than ${limit} roles`;
  const message = `The chain has more than ${limit} AWSClusterRoleIdentities; ${describeIdentity(identity)} is number `
    + `${limit + 1}. Change the sourceIdentityRef of an identity, so that the chain has fewer roles.`;
  return { code: "ERR_IDENTITY_DEPTH", reason, message };
}

/** Denies the use of an identity in a namespace that the identity does not allow. */
export function namespaceDenial(
  identity: Identity, namespace: string, { code, reason }: Pick<ChainDenial, "code" | "reason">,
): ChainDenial {
  const fix = code === "ERR_IDENTITY_SELECTOR"
    ? "Correct the selector of the identity, or add the namespace to its allowedNamespaces.list."
    : "Add the namespace to allowedNamespaces.list of the identity, or use another identity.";
  const message = `${describeIdentity(identity)} does not allow the namespace ${quote(namespace)}: ${reason}. ${fix}`;
  return { code, reason, message };
}

/** Returns the denial of a static identity that does not name a Secret, or null. */
export function secretDenial(identity: StaticIdentity): ChainDenial | null {
  const { secretName } = identity;
  if (secretName !== null && secretName !== "" && subdomainFaults(secretName).length === 0) return null;
  const found = secretName === null || secretName === "" ? "is missing" : `${quote(secretName)} is not a valid name`;
  const reason = `secretRef ${found}`;
  const message = `${describeIdentity(identity)} names no Secret: ${reason}. Create an identity with another name, `
    + "whose secretRef is the name of a Secret in the namespace of CAPA.";
  return { code: "ERR_IDENTITY_SECRET", reason, message };
}
