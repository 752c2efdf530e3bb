import type { FastifyInstance } from "fastify";
import { grantIdentity, type IdentityQuery } from "../../shared/capa/grant-by-identity.ts";
import type { Demand, IssueCredentials } from "../http/credential-routes.ts";
import { namespaceFaults, rejectIfAny, searchOf, unknownParameters } from "../http/query.ts";
import { sessionGrant } from "./identity-grant.ts";
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
