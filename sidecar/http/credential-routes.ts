import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { grantInNamespace, grantSelector } from "../../shared/decisions/grants/decide.ts";
import { describeKinds, type Grant, denied } from "../../shared/decisions/grants/grant.ts";
import { isJsonObject } from "../../shared/decisions/kubernetes/json.ts";
import type { KindArgument } from "../../shared/decisions/kubernetes/kinds.ts";
import type { Clock } from "../../shared/inventory/clock.ts";
import type { InventorySource } from "../../shared/inventory/source.ts";
import type { IssuedKind } from "../credentials/issued-journal.ts";
import type { Issuer } from "../credentials/issuer.ts";
import type { SidecarOptions } from "../options.ts";
import { inTime } from "./answer-limit.ts";
import {
  checkNamespaceName, readResourceDescription, refuseQuery, type ResourceDescription,
} from "./credential-query.ts";
import { notesOf } from "./request-context.ts";
import { sendCredentials } from "./respond.ts";

export interface CredentialRoutePorts {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly vending: Issuer;
  readonly clock: Clock;
}

/** `/v1/credentials` and what is below. `/v1/credentials/identities/KIND/NAME` joins here. */
export function addCredentialRoutes(app: FastifyInstance, options: SidecarOptions, ports: CredentialRoutePorts): void {
  const { scope } = options;
  app.get("/v1/credentials", (request, reply) => {
    refuseQuery(request.url);
    const decide = (): Grant => (scope === null ? { verdict: "base" } : decideNamespace(options, ports, scope, NOTHING_SAID));
    return vend(ports, reply, { as: "base", decide });
  });
  app.get<{ Params: { namespace: string } }>("/v1/credentials/namespaces/:namespace", (request, reply) => {
    const namespace = checkNamespaceName(request.params.namespace);
    const description = readResourceDescription(request.url);
    return vend(ports, reply, { as: "role", decide: () => decideNamespace(options, ports, namespace, description) });
  });
  app.get<{ Params: { name: string } }>("/v1/credentials/selectors/:name", (request, reply) => {
    refuseQuery(request.url);
    const decide = (): Grant => grantSelector(ports.source.inventory, request.params.name, options);
    return vend(ports, reply, { as: "role", decide });
  });
}

/** What a request for credentials asks for. Nothing of the query but what is known: what else was sent may be anything. */
export function askedOf({ params, query }: FastifyRequest): Readonly<Record<string, unknown>> {
  const { kind, label } = isJsonObject(query) ? query : {};
  // fastify's name for what no route takes.
  const { "*": unknown, ...named } = isJsonObject(params) ? params : {};
  return { ...named, ...(typeof unknown === "string" && { path: `/${unknown}` }), ...(kind !== undefined && { kind }), ...(label !== undefined && { label }) };
}

/** Throws ERR_NOT_READY: what is not loaded is never taken for empty. */
export function requireLoaded({ status }: CredentialRoutePorts["source"]): void {
  if (!status.loaded) throw new ResolverError("ERR_NOT_READY", "The inventory is not loaded yet; ask again.");
}

const NOTHING_SAID: ResourceDescription = { kinds: [], labels: null };

function decideNamespace(options: SidecarOptions, { source }: CredentialRoutePorts, namespace: string, said: ResourceDescription): Grant {
  const { kinds, scope } = options;
  if (scope !== null && namespace !== scope) {
    return denied("ERR_SELECTOR_NOT_GRANTED", `This sidecar answers for namespace ${scope} alone (--scope-namespace), not for ${namespace}.`);
  }
  const asked = said.kinds.flatMap((one) => withinServed(one, kinds));
  if (asked.length < said.kinds.length) {
    return denied("ERR_SELECTOR_NOT_GRANTED", `That kind is not served here; --kind allows ${describeKinds({ groups: [], kinds })}.`);
  }
  return grantInNamespace(source.inventory, { ...options, namespace, kinds: asked.length > 0 ? asked : kinds, labels: said.labels });
}

/** What of an asked kind the controller manages. */
function withinServed(asked: KindArgument, served: readonly KindArgument[]): readonly KindArgument[] {
  if (served.length === 0) return [asked];
  const covering = served.filter(({ kind, version, group }) => (
    kind === asked.kind && (group ?? asked.group) === asked.group && (asked.version ?? version) === (version ?? asked.version)
  ));
  return covering.map(({ version }) => ({ ...asked, version: asked.version ?? version }));
}

interface Question {
  readonly as: IssuedKind;
  readonly decide: () => Grant;
}

/** Decides anew for each request, so that a selector which is gone stops being vended while its session is still kept. */
async function vend({ source, vending, clock }: CredentialRoutePorts, reply: FastifyReply, { as, decide }: Question): Promise<FastifyReply> {
  requireLoaded(source);
  const grant = decide();
  notesOf(reply.request).grant = grant;
  return sendCredentials(reply, await inTime(clock, (isLate) => vending.credentialsFor(grant, { as, isLate })), clock.now());
}
