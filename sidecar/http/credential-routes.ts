import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../shared/core/clock.ts";
import { type KindArgument, parseKindArgument } from "../../shared/core/ack-groups.ts";
import { isJsonObject } from "../../shared/formats/json.ts";
import { type Labels, parseLabels } from "../../shared/formats/label-selector.ts";
import { quote } from "../../shared/formats/text.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { grantInNamespace, grantSelector } from "../../shared/core/grant-decision.ts";
import { deny, describeKinds, type Grant } from "../../shared/core/grant.ts";
import { notLoaded } from "../../shared/server/readiness.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { IssuedKind } from "../credentials/issued-journal.ts";
import type { Issuer } from "../credentials/issuer.ts";
import type { SessionGrant } from "../credentials/session.ts";
import { checkProfileKnown, type LiveClosures } from "../installed-profile.ts";
import type { SidecarOptions } from "../options.ts";
import type { AnswerMemo } from "./answer-memo.ts";
import { namespaceFaults, rejectIfAny, rejectQuery, searchOf, unknownParameters } from "./query.ts";
import { ANSWER_LIMIT_MS, credentialsBody, sendCredentials, withAnswerLimit } from "./respond.ts";

export interface CredentialRoutePorts {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly profile: LiveClosures;
  readonly answers: AnswerMemo;
  readonly issuer: Issuer;
  readonly clock: Clock;
}

/** What a request asks for. */
export interface Demand {
  readonly kind: IssuedKind;
  /** What the request asks for as text, without labels, of which a client could send any number. */
  readonly client: string;
  readonly decide: (inventory: Inventory) => Grant | SessionGrant;
}

/** Issues the credentials that the request of the reply asks for. `read` returns what it asks for, or throws. */
export type IssueCredentials = (reply: FastifyReply, read: () => Demand) => Promise<FastifyReply>;

/** Adds the routes `GET /v1/credentials` and `GET /v1/credentials/...`. */
export function addCredentialRoutes(app: FastifyInstance, options: SidecarOptions, ports: CredentialRoutePorts): void {
  const { scope } = options;
  const closed = { ...options, unmatched: "deny" } as const;
  const current = (): SidecarOptions => (ports.profile.closures.unmatched ? closed : options);
  const ofController = (inventory: Inventory): Grant => (
    scope === null ? BASE : decideNamespace(current(), inventory, scope, ANY_RESOURCE)
  );
  app.get("/v1/credentials", (request, reply) => issueCredentials(ports, reply, () => {
    rejectQuery(request.url);
    return { kind: "base", client: "", decide: ofController };
  }));
  const ofNamespace = "/v1/credentials/namespaces/:namespace";
  app.get<{ Params: { namespace: string } }>(ofNamespace, (request, reply) => issueCredentials(ports, reply, () => {
    const namespace = checkNamespaceName(request.params.namespace);
    const description = readResourceDescription(request.url);
    const decide = (inventory: Inventory): Grant => decideNamespace(current(), inventory, namespace, description);
    return { kind: "role", client: `namespaces/${namespace} ${description.kindText}`, decide };
  }));
  const ofSelector = "/v1/credentials/selectors/:name";
  app.get<{ Params: { name: string } }>(ofSelector, (request, reply) => issueCredentials(ports, reply, () => {
    rejectQuery(request.url);
    const decide = (inventory: Inventory): Grant => grantSelector(inventory, request.params.name, options);
    return { kind: "role", client: "selectors", decide };
  }));
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
  options: SidecarOptions, inventory: Inventory, namespace: string, requested: ResourceDescription,
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
  return grantInNamespace(inventory, query);
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

/**
 * Issues the credentials that the request asks for. Decides first: a removed selector grants no role, even if the cache
 * still has the session of its role.
 */
export async function issueCredentials(
  { source, profile, answers, issuer, clock }: CredentialRoutePorts, reply: FastifyReply, read: () => Demand,
): Promise<FastifyReply> {
  const { request } = reply;
  const { kind, client: key, decide } = read();
  if (!source.status.loaded) throw notLoaded(source.status);
  checkProfileKnown(profile);
  const { knowledge } = answers;
  const grant = decide(knowledge.inventory);
  if (grant.verdict !== "session") request.grant = grant;
  const client = { key, fields: () => clientFields(request) };
  const issued = await withAnswerLimit(clock, ANSWER_LIMIT_MS.container, (isLate) =>
    issuer.credentialsFor(grant, { kind, client, isLate }));
  const body = credentialsBody(issued.credentials, clock.now());
  answers.remember({ path: request.url, route: request.routeOptions.url ?? "", issued, body }, knowledge);
  return sendCredentials(reply, body);
}

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

/** Returns `name`. Throws ERR_REQUEST_MALFORMED if `name` is not a valid namespace name. */
function checkNamespaceName(name: string): string {
  rejectIfAny(namespaceFaults(name));
  return name;
}

/** Returns the labels in the query. Returns null if the query has no `label`, and an empty map for `label=`. */
function readLabels(texts: readonly string[], faults: string[]): Labels | null {
  if (texts.length === 0) return null;
  if (texts.length === 1 && texts[0] === "") return new Map();
  return parseLabels(texts, (text, fault) => void faults.push(`label ${quote(text)}: ${fault}`));
}
