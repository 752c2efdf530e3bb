import { type IdentityGrant, identityOfGrant } from "../../shared/capa/grant-by-identity.ts";
import { type Identity, identityKey } from "../../shared/capa/identity.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import type { Credentials, SessionGrant } from "../credentials/session.ts";
import type { IdentitySessions } from "./identity-sessions.ts";

/** Returns what the audit log contains of a session of the identity. */
export function identityFields(identity: Identity): SessionGrant["auditFields"] {
  const { kind, name, namespace } = identity;
  return {
    ...("roleARN" in identity && { role_arn: identity.roleARN }),
    identity: `${kind}/${name}`,
    ...(namespace !== "" && { identity_namespace: namespace }),
  };
}

interface GrantPorts {
  readonly sessions: Pick<IdentitySessions, "get">;
  /** --allowed-accounts. */
  readonly allowedAccounts: readonly string[];
}

/** Returns the grant in the form in which the sidecar issues its credentials. */
export function sessionGrant(
  grant: IdentityGrant, { sessions, allowedAccounts }: GrantPorts,
): SessionGrant | { readonly verdict: "base" } {
  const identity = identityOfGrant(grant);
  if (identity === null) return { verdict: "base" };
  return {
    verdict: "session", sessionKey: identityKey(identity), auditFields: identityFields(identity),
    async get() {
      const credentials = await sessions.get(grant);
      checkAccount(credentials, allowedAccounts);
      return credentials;
    },
  };
}

/** Throws ERR_IDENTITY_ACCOUNT. The account of a static identity is known only after STS has returned it. */
function checkAccount({ accountID }: Credentials, allowedAccounts: readonly string[]): void {
  if (allowedAccounts.length === 0 || allowedAccounts.includes(accountID)) return;
  const message = `The identity is in account ${accountID}, which is not in --allowed-accounts. `
    + "Use an identity of an allowed account, or add the account.";
  throw new ResolverError("ERR_IDENTITY_ACCOUNT", message);
}
