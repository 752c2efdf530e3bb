import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../shared/clock.ts";
import { type KindArgument, parseKindArgument } from "../../shared/contract/ack-groups.ts";
import { LIMITS } from "../../shared/contract/limits.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { isJsonObject } from "../../shared/formats/json.ts";
import { type Labels, parseLabels } from "../../shared/formats/label-selector.ts";
import { namespaceNameFaults } from "../../shared/formats/names.ts";
import { quote } from "../../shared/formats/text.ts";
import { grantIdentity, type IdentityGrant, servesIdentities } from "../../shared/resolution/grant-by-identity.ts";
import { grantInNamespace, grantSelector } from "../../shared/resolution/grant-decision.ts";
import { deny, describeKinds, type Grant } from "../../shared/resolution/grant.ts";
import { notLoaded } from "../../shared/server/readiness.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { IssuedKind } from "../credentials/issued-journal.ts";
import type { Issuer } from "../credentials/issuer.ts";
import type { GrantMemo } from "../grant-memo.ts";
import type { SidecarOptions } from "../options.ts";
import { ANSWER_LIMIT_MS, sendCredentials, withAnswerLimit } from "./respond.ts";

/** The resource that the query of a request describes. */
interface ResourceDescription {
  /** The requested kind, as a list of at most one kind; empty if the query has no `kind`. */
  readonly kinds: readonly KindArgument[];
  /** The requested kind as text; "" if the query has no `kind`. */
  readonly kindText: string;
  /**
   * The labels of the resource. The value is null if the query has no `label`, and empty for `label=`, which describes
   * a resource without labels.
   */
  readonly labels: Labels | null;
}

const KIND_FORMAT = "KIND.GROUP or KIND.VERSION.GROUP, such as kind=Bucket.v1alpha1.s3.services.k8s.aws";

/** Parses the query `kind=...&label=k=v&label=...` of a path. Throws ERR_REQUEST_MALFORMED, which lists every fault. */
function readResourceDescription(path: string): ResourceDescription {
  const search = searchOf(path);
  const faults = unknownParameters(search, ["kind", "label"]);
  const kinds = search.getAll("kind").map((text) => ({ text, kind: parseKindArgument(text) }));
  if (kinds.length > 1) faults.push("kind is repeated");
  for (const { text, kind } of kinds) {
    if (kind === null || kind.group === null) faults.push(`kind ${quote(text)} is not ${KIND_FORMAT}`);
  }
  const labels = readLabels(search.getAll("label"), faults);
  rejectIfAny(faults);
  const kindText = kinds[0]?.text ?? "";
  return { kinds: kinds.flatMap(({ kind }) => (kind === null ? [] : [kind])), kindText, labels };
}

/** Throws ERR_REQUEST_MALFORMED if the path has a query. */
function rejectQuery(path: string): void {
  rejectIfAny(unknownParameters(searchOf(path), []));
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

/** Returns `name`. Throws ERR_REQUEST_MALFORMED if `name` is not a valid namespace name. */
function checkNamespaceName(name: string): string {
  rejectIfAny(namespaceFaults(name));
  return name;
}

function namespaceFaults(name: string): string[] {
  return namespaceNameFaults(name).map((fault) => `namespace ${quote(name)}: ${fault}`);
}

function searchOf(path: string): URLSearchParams {
  const mark = path.indexOf("?");
  const search = new URLSearchParams(mark < 0 ? "" : path.slice(mark + 1));
  const { value: limit } = LIMITS.queryParameters;
  if (search.size > limit) rejectIfAny([`the query has ${search.size} parameters (limit: ${limit})`]);
  return search;
}

function unknownParameters(search: URLSearchParams, known: readonly string[]): string[] {
  const unknown = [...new Set(search.keys())].filter((name) => !known.includes(name));
  const accepted = known.length === 0 ? "no parameters" : known.join(" and ");
  return unknown.map((name) => `parameter ${quote(name)} is unknown (this path accepts ${accepted})`);
}

/** Returns the labels in the query. Returns null if the query has no `label`, and an empty map for `label=`. */
function readLabels(texts: readonly string[], faults: string[]): Labels | null {
  if (texts.length === 0) return null;
  if (texts.length === 1 && texts[0] === "") return new Map();
  return parseLabels(texts, (text, fault) => void faults.push(`label ${quote(text)}: ${fault}`));
}

function rejectIfAny(faults: readonly string[]): void {
  if (faults.length === 0) return;
  const { value: limit } = LIMITS.faultsPerCheck;
  const more = faults.length > limit ? `; and ${faults.length - limit} more` : "";
  throw new ResolverError("ERR_REQUEST_MALFORMED", `Invalid request: ${faults.slice(0, limit).join("; ")}${more}.`);
}

export interface CredentialRoutePorts {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly grants: GrantMemo;
  readonly issuer: Issuer;
  readonly clock: Clock;
}

/** Adds the routes `GET /v1/credentials` and `GET /v1/credentials/...`. */
export function addCredentialRoutes(app: FastifyInstance, options: SidecarOptions, ports: CredentialRoutePorts): void {
  const { scope } = options;
  app.get("/v1/credentials", (request, reply) => {
    rejectQuery(request.url);
    const decide = (): Grant => (scope === null ? BASE : decideNamespace(options, ports, scope, ANY_RESOURCE));
    return issueCredentials(ports, reply, { kind: "base", client: "", decide });
  });
  app.get<{ Params: { namespace: string } }>("/v1/credentials/namespaces/:namespace", (request, reply) => {
    const namespace = checkNamespaceName(request.params.namespace);
    const description = readResourceDescription(request.url);
    const decide = (): Grant => (
      ports.grants.of(request.url, () => decideNamespace(options, ports, namespace, description))
    );
    const client = `namespaces/${namespace} ${description.kindText}`;
    return issueCredentials(ports, reply, { kind: "role", client, decide });
  });
  app.get<{ Params: { name: string } }>("/v1/credentials/selectors/:name", (request, reply) => {
    rejectQuery(request.url);
    const decide = (): Grant => (
      ports.grants.of(request.url, (inventory) => grantSelector(inventory, request.params.name, options))
    );
    return issueCredentials(ports, reply, { kind: "role", client: "selectors", decide });
  });
  if (servesIdentities(options)) addIdentityRoute(app, options, ports);
}

function addIdentityRoute(app: FastifyInstance, options: SidecarOptions, ports: CredentialRoutePorts): void {
  const path = "/v1/credentials/identities/:kind/:name";
  app.get<{ Params: { kind: string; name: string } }>(path, (request, reply) => {
    const { kind, name } = request.params;
    const namespace = readNamespaceParameter(request.url);
    request.requested = () => ({ kind, name, namespace });
    const decide = (): Decision => grantIdentity(ports.source.inventory, { kind, name, namespace }, options);
    const client = `identities/${kind}/${name} ${namespace}`;
    return issueCredentials(ports, reply, { kind: "identity", client, decide });
  });
}

/** Returns the route and the parameters of the request, for the audit log. */
export function clientFields({ routeOptions, requested }: FastifyRequest): Readonly<Record<string, unknown>> {
  return { path: routeOptions.url, requested: requested?.() ?? null };
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

const BASE: Grant = { verdict: "base" };
const ANY_RESOURCE: ResourceDescription = { kinds: [], kindText: "", labels: null };

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
  /** The path, and what the request asks for. Without labels, of which a client could send any number. */
  readonly client: string;
  readonly decide: () => Decision;
}

/**
 * Decides on the grant for each request. A removed selector therefore grants no role, even if the cache still contains
 * the session of its role. Returns a promise only if the request waits.
 */
function issueCredentials(
  { source, issuer, clock }: CredentialRoutePorts,
  reply: FastifyReply,
  { kind, client: key, decide }: CredentialRequest,
): Promise<FastifyReply> | undefined {
  if (!source.status.loaded) throw notLoaded(source.status);
  const grant = decide();
  if (grant.verdict !== "identity") reply.request.grant = grant;
  const client = { key, fields: () => clientFields(reply.request) };
  const known = grant.verdict === "role" ? issuer.issueAgain(grant, { kind, client }) : null;
  if (known !== null) return void sendCredentials(reply, known, clock.now());
  const issue = (isLate: () => boolean): ReturnType<Issuer["credentialsFor"]> =>
    issuer.credentialsFor(grant, { kind, client, isLate });
  return withAnswerLimit(clock, ANSWER_LIMIT_MS.container, issue)
    .then((credentials) => sendCredentials(reply, credentials, clock.now()));
}
