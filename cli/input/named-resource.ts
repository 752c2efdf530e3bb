import { commandName } from "../../shared/diagnosis/kubectl-commands.ts";
import { listKind } from "../../shared/api/list-watch.ts";
import type { KubernetesAPI } from "../../shared/api/api.ts";
import { systemClock } from "../../shared/core/clock.ts";
import { isACKGroup, serviceOf } from "../../shared/core/ack-groups.ts";
import { referrerKindOf } from "../../shared/core/capa-kinds.ts";
import { namespaceOf } from "../../shared/files/object-key.ts";
import { errorMessage, ResolverError } from "../../shared/formats/errors.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { type KindName, objectReference } from "../../shared/formats/object-meta.ts";
import { closest } from "../../shared/formats/nearest.ts";
import { listOf, printable, quote } from "../../shared/formats/text.ts";
import type { KindStore } from "../../shared/core/kind-store.ts";
import { BUNDLED_KINDS, typesIn } from "../../shared/ack/bundled-types.ts";
import type { State, StateObject } from "./state.ts";

/** A resource as a user of kubectl names it. */
export interface NamedResource {
  /** The kind or the plural, in lower case. */
  readonly type: string;
  readonly group: string | null;
  readonly namespace: string;
  readonly name: string;
}

const TYPE_AND_NAME = /^([A-Za-z][A-Za-z0-9]*)(?:\.v[0-9][a-z0-9]*)?(?:\.([a-z0-9.-]+))?\/([a-z0-9][a-z0-9.-]*)$/;

/**
 * Reads `TYPE/NAME`, or `TYPE` and `NAME`, where TYPE is a kind or a plural, alone or with its group, as in kubectl.
 * @throws ResolverError ERR_CONFIG_INVALID for any other text.
 */
export function parseNamedResource(words: readonly string[], namespace: string): NamedResource {
  const text = words.join("/");
  const [, type, group = null, name] = TYPE_AND_NAME.exec(text) ?? [];
  if (type === undefined || name === undefined) {
    const expected = "expected TYPE/NAME, such as bucket/logs or buckets.s3.services.k8s.aws/logs";
    throw new ResolverError("ERR_CONFIG_INVALID", `${quote(text)}: ${expected}`);
  }
  return { type: type.toLowerCase(), group, namespace, name };
}

/** Returns the plural that code generators give a kind: https://pkg.go.dev/k8s.io/gengo/namer. */
export function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (/[^aeiou]y$/.test(lower)) return `${lower.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/.test(lower) ? `${lower}es` : `${lower}s`;
}

function isNamed({ type, group }: NamedResource, kind: KindName, plural = pluralOf(kind.kind)): boolean {
  return (type === kind.kind.toLowerCase() || type === plural) && (group === null || group === kind.group);
}

function hasRole(kind: KindName): boolean {
  return isACKGroup(kind.group) || referrerKindOf(kind) !== null;
}

/** Returns the resource in the manifests, or throws an error that names similar ones. */
export function findNamed({ objects }: Pick<State, "objects">, wanted: NamedResource): StateObject {
  const ofKind = objects.filter(({ object }) => {
    const kind = objectReference(object);
    return hasRole(kind) && isNamed(wanted, kind);
  });
  const found = ofKind.filter(({ object }) => (
    objectReference(object).name === wanted.name && namespaceOf(object) === wanted.namespace
  ));
  return onlyOne(found, wanted, () => {
    const names = ofKind.map(({ object }) => `${namespaceOf(object)}/${objectReference(object).name}`);
    const guess = names.find((name) => name.endsWith(`/${wanted.name}`))
      ?? closest(`${wanted.namespace}/${wanted.name}`, names);
    const hint = guess === null ? "" : `; did you mean ${guess}?`;
    return `The manifests contain no ${titleOf(wanted)}${hint}`;
  });
}

function titleOf({ type, group, namespace, name }: NamedResource): string {
  return `${group === null ? type : `${type}.${group}`} ${namespace}/${name}`;
}

function onlyOne(found: readonly StateObject[], wanted: NamedResource, absence: () => string): StateObject {
  const [first, ...others] = found;
  if (first === undefined) throw new ResolverError("ERR_CONFIG_INVALID", printable(absence()));
  if (others.length === 0) return first;
  const names = found.map(({ object }) => commandName(object));
  throw new ResolverError("ERR_CONFIG_INVALID", `Several kinds have the name ${wanted.type}: use ${listOf(names)}.`);
}

/** Reads the resource from the cluster, and adds it to the inventory. Requests only the kinds that have the name. */
export async function readNamed(
  { inventory }: Pick<State, "inventory">, wanted: NamedResource, api: KubernetesAPI,
): Promise<StateObject> {
  const kinds = servedKinds(inventory.kinds, wanted);
  if (kinds.length === 0) throw new ResolverError("ERR_CONFIG_INVALID", notServed(wanted));
  const objects: readonly JsonObject[] = (await Promise.all(kinds.map((kind) => listOne(api, kind, wanted)))).flat();
  const found = objects.map((object) => ({ object, file: null, lineOf: () => null }));
  const one = onlyOne(found, wanted, () => {
    const [kind = { plural: "", group: "" }] = kinds;
    return `The cluster has no ${titleOf(wanted)}; list the others with \`kubectl get ${kind.plural}.${kind.group} `
      + `-n ${wanted.namespace}\``;
  });
  inventory.apply([{ type: "put", object: one.object }]);
  return one;
}

interface ServedKind extends KindName {
  readonly version: string;
  readonly plural: string;
}

/** Returns the kinds that have roles, that the cluster serves, and that a user can mean. */
function servedKinds(kinds: Omit<KindStore, "put" | "remove">, wanted: NamedResource): ServedKind[] {
  return [...kinds.definitions()].flatMap(({ group, kind }) => {
    const plural = kinds.versions(group, kind)?.plural ?? "";
    const version = kinds.servedVersion(group, kind);
    return version !== null && hasRole({ group, kind }) && isNamed(wanted, { group, kind }, plural)
      ? [{ group, kind, version, plural }]
      : [];
  });
}

function notServed(wanted: NamedResource): string {
  const name = wanted.group === null ? wanted.type : `${wanted.type}.${wanted.group}`;
  const known = Array.from(typesIn(BUNDLED_KINDS)).filter((type) => isNamed(wanted, type));
  const services = [...new Set(known.map(({ group }) => serviceOf(group)))];
  const fix = services.length === 0 ? "" : `, or install the ACK controller for ${services.join(" or ")}`;
  return `The cluster serves no kind ${quote(name)} of ACK or Cluster API. Check the kind and the context${fix}. Show `
    + "the kinds that it serves: `kubectl api-resources | grep -E 'services.k8s.aws|cluster.x-k8s.io'`";
}

/** Lists one object with the errors of lists, which name the right that is missing. */
async function listOne(
  api: KubernetesAPI, kind: ServedKind, { namespace, name }: NamedResource,
): Promise<JsonObject[]> {
  const watched = { ...kind, object: { namespace, name }, pageSize: 1, transform: (object: JsonObject) => object };
  try {
    const { objects } = await listKind({ api, clock: systemClock, kind: watched }, new AbortController().signal);
    return objects.map(({ object }) => object).filter((object) => object !== null);
  } catch (error) {
    throw new ResolverError("ERR_CLUSTER_UNREADABLE", `The resource cannot be read: ${errorMessage(error)}.`);
  }
}
