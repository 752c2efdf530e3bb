import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { grantIdentity, type IdentityGrant, servesIdentities } from "../../shared/decisions/grants/by-identity.ts";
import { grantInNamespace, grantSelector } from "../../shared/decisions/grants/decide.ts";
import { deny, describeKinds, type Grant } from "../../shared/decisions/grants/grant.ts";
import { isJsonObject } from "../../shared/decisions/kubernetes/json.ts";
import type { KindArgument } from "../../shared/decisions/kubernetes/kinds.ts";
import type { Clock } from "../../shared/inventory/clock.ts";
import type { InventorySource } from "../../shared/inventory/source.ts";
import { requireLoaded } from "../../shared/server/readiness.ts";
import type { IssuedKind } from "../credentials/issued-journal.ts";
import type { Issuer } from "../credentials/issuer.ts";
import type { SidecarOptions } from "../options.ts";
import { withAnswerLimit } from "./answer-limit.ts";
import {
  checkNamespaceName, readNamespaceParameter, readResourceDescription, rejectQuery, type ResourceDescription,
} from "./credential-query.ts";
import { sendCredentials } from "./respond.ts";

export interface CredentialRoutePorts {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly issuer: Issuer;
  readonly clock: Clock;
}

/** Adds the routes `GET /v1/credentials` and `GET /v1/credentials/...`. */
export function addCredentialRoutes(app: FastifyInstance, options: SidecarOptions, ports: CredentialRoutePorts): void {
  const { scope } = options;
  app.get("/v1/credentials", (request, reply) => {
    rejectQuery(request.url);
    const decide = (): Grant =>
      scope === null ? { verdict: "base" } : decideNamespace(options, ports, scope, ANY_RESOURCE);
    return issueCredentials(ports, reply, { kind: "base", decide });
  });
  app.get<{ Params: { namespace: string } }>("/v1/credentials/namespaces/:namespace", (request, reply) => {
    const namespace = checkNamespaceName(request.params.namespace);
    const description = readResourceDescription(request.url);
    const decide = (): Grant => decideNamespace(options, ports, namespace, description);
    return issueCredentials(ports, reply, { kind: "role", decide });
  });
  app.get<{ Params: { name: string } }>("/v1/credentials/selectors/:name", (request, reply) => {
    rejectQuery(request.url);
    const decide = (): Grant => grantSelector(ports.source.inventory, request.params.name, options);
    return issueCredentials(ports, reply, { kind: "role", decide });
  });
  if (servesIdentities(options)) addIdentityRoute(app, options, ports);
}

function addIdentityRoute(app: FastifyInstance, options: SidecarOptions, ports: CredentialRoutePorts): void {
  const path = "/v1/credentials/identities/:kind/:name";
  app.get<{ Params: { kind: string; name: string } }>(path, (request, reply) => {
    const { kind, name } = request.params;
    const namespace = readNamespaceParameter(request.url);
    request.requested = { kind, name, namespace };
    const decide = (): Decision => grantIdentity(ports.source.inventory, { kind, name, namespace }, options);
    return issueCredentials(ports, reply, { kind: "identity", decide });
  });
}

/**
 * Returns the parameters of the request that the rejection log may contain. Omits unknown query parameters, because
 * their values can be secret.
 */
export function requestedOf({ params, query }: FastifyRequest): Readonly<Record<string, unknown>> {
  const { kind, label } = isJsonObject(query) ? query : {};
  // fastify sets the parameter "*" to the path if no route matches.
  const { "*": unknown, ...named } = isJsonObject(params) ? params : {};
  return {
    ...named,
    ...(typeof unknown === "string" && { path: `/${unknown}` }),
    ...(kind !== undefined && { kind }),
    ...(label !== undefined && { label }),
  };
}

const ANY_RESOURCE: ResourceDescription = { kinds: [], labels: null };

function decideNamespace(
  options: SidecarOptions,
  { source }: CredentialRoutePorts,
  namespace: string,
  requested: ResourceDescription,
): Grant {
  const { kinds, scope } = options;
  if (scope !== null && namespace !== scope) {
    const message = `This sidecar serves only namespace ${scope} (--scope-namespace), not ${namespace}.`;
    return deny("ERR_SELECTOR_NOT_GRANTED", message);
  }
  const served = requested.kinds.flatMap((kind) => servedKinds(kind, kinds));
  if (served.length < requested.kinds.length) {
    const message = `The requested kind is not served. --kind allows ${describeKinds({ groups: [], kinds })}.`;
    return deny("ERR_SELECTOR_NOT_GRANTED", message);
  }
  const query = { ...options, namespace, kinds: served.length > 0 ? served : kinds, labels: requested.labels };
  return grantInNamespace(source.inventory, query);
}

/** Returns the served kinds that match the requested kind. If --kind is not set, the sidecar serves every kind. */
function servedKinds(requested: KindArgument, served: readonly KindArgument[]): readonly KindArgument[] {
  if (served.length === 0) return [requested];
  const matching = served.filter(({ kind, version, group }) => (
    kind === requested.kind
    && (group ?? requested.group) === requested.group
    && (requested.version ?? version) === (version ?? requested.version)
  ));
  return matching.map(({ version }) => ({ ...requested, version: requested.version ?? version }));
}

type Decision = Grant | IdentityGrant;

interface CredentialRequest {
  readonly kind: IssuedKind;
  readonly decide: () => Decision;
}

/**
 * Decides on the grant for each request. A removed selector therefore grants no role, even if the cache still contains
 * the session of its role.
 */
async function issueCredentials(
  { source, issuer, clock }: CredentialRoutePorts,
  reply: FastifyReply,
  { kind, decide }: CredentialRequest,
): Promise<FastifyReply> {
  requireLoaded(source.status);
  const grant = decide();
  if (grant.verdict !== "identity") reply.request.grant = grant;
  const issue = (isLate: () => boolean): ReturnType<Issuer["credentialsFor"]> =>
    issuer.credentialsFor(grant, { kind, isLate });
  const credentials = await withAnswerLimit(clock, issue);
  return sendCredentials(reply, credentials, clock.now());
}
