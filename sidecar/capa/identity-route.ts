import type { FastifyInstance } from "fastify";
import {
  grantIdentity, type IdentityGrant, identityOfGrant, type IdentityQuery,
} from "../../shared/capa/grant-by-identity.ts";
import { type Identity, identityKey } from "../../shared/capa/identity.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import type { Credentials, SessionGrant } from "../credentials/session.ts";
import type { Demand, IssueCredentials } from "../http/credential-routes.ts";
import { namespaceFaults, rejectIfAny, searchOf, unknownParameters } from "../http/query.ts";
import type { IdentitySessions } from "./identity-sessions.ts";

/** Adds the route `GET /v1/credentials/identities/KIND/NAME`. */
export function addIdentityRoute(
  app: FastifyInstance, issue: IssueCredentials,
  { query, sessions }: { readonly query: IdentityQuery; readonly sessions: Pick<IdentitySessions, "get"> },
): void {
  const ports = { sessions, allowedAccounts: query.settings.allowedAccounts };
  const path = "/v1/credentials/identities/:kind/:name";
  app.get<{ Params: { kind: string; name: string } }>(path, (request, reply) => {
    const { kind, name } = request.params;
    const namespace = readNamespaceParameter(request.url);
    request.requested = () => ({ kind, name, namespace });
    const decide: Demand["decide"] = (inventory) => {
      const grant = grantIdentity(inventory, { kind, name, namespace }, query);
      return grant.verdict === "identity" ? sessionGrant(grant, ports) : grant;
    };
    return issue(reply, () => ({ kind: "tool", client: `identities/${kind}/${name} ${namespace}`, decide }));
  });
}

/** Parses the query `namespace=NS` of a path. Throws ERR_REQUEST_MALFORMED, which lists every fault. */
function readNamespaceParameter(path: string): string {
  const search = searchOf(path);
  const faults = unknownParameters(search, ["namespace"]);
  const [namespace = "", ...others] = search.getAll("namespace");
  if (others.length > 0) faults.push("namespace is repeated");
  if (!search.has("namespace")) faults.push("namespace is missing (add namespace=NS, the namespace of the cluster)");
  else faults.push(...namespaceFaults(namespace));
  rejectIfAny(faults);
  return namespace;
}

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
function sessionGrant(
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
