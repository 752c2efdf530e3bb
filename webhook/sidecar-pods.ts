import { type SteadyClock, systemClock } from "../shared/core/clock.ts";
import type { KubernetesAPI } from "../shared/api/api.ts";
import { listPages } from "../shared/api/list-watch.ts";
import type { WatchedKind } from "../shared/api/watched-kind.ts";
import { type Closures, closuresIn, missingFlags, NOTHING_CLOSED, tightest } from "../shared/core/closures.ts";
import { WEBHOOK } from "../shared/core/installation.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { objectReference } from "../shared/formats/object-meta.ts";
import { sidecarOf } from "../shared/core/sidecar-container.ts";
import { decodePod } from "../shared/core/pod.ts";

const PODS: WatchedKind = {
  group: "", version: "v1", kind: "Pod", plural: "pods", pageSize: 500,
  transform: (object) => (sidecarOf(decodePod(object)) === null ? null : object),
};

/** The ConfigMaps of the name in all namespaces. A cluster has one installation, in any namespace. */
const PROFILES: WatchedKind = {
  group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", pageSize: 500,
  object: { namespace: "", name: WEBHOOK.profile }, transform: (object) => object,
};

interface ListPorts {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
}

/** Returns the Pods with a sidecar, of one namespace or of all. Rejects if they cannot be listed. */
export async function listSidecarPods(
  ports: ListPorts, namespace: string | null, signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  return await listAll(ports, { ...PODS, ...(namespace !== null && { namespace }) }, signal);
}

async function listAll(
  ports: ListPorts, kind: WatchedKind, signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  for await (const { objects } of listPages({ ...ports, kind }, signal)) {
    found.push(...objects.map(({ object }) => object).filter((object) => object !== null));
  }
  return found;
}

/** What AUD-16 reads in a cluster. */
export interface InstalledSidecars {
  readonly pods: readonly JsonObject[];
  /** What the profile of the installation closes. If several claim to be it, all of them apply. */
  readonly closures: Closures;
  /** The namespaces whose profile closes all of this; null if none is known. */
  readonly profileNamespaces: readonly string[] | null;
  /** Whether both could be read; the Pods at least in the namespace of the controllers. */
  readonly isRead: boolean;
}

function unread(): null {
  return null;
}

/** Reads the Pods with a sidecar and the profile of the installation, as far as the rights of the user allow. */
export async function readSidecars(api: KubernetesAPI, ackSystemNamespace: string): Promise<InstalledSidecars> {
  const ports = { api, clock: systemClock };
  const { signal } = new AbortController();
  const [all, profiles] = await Promise.all([
    listSidecarPods(ports, null, signal).catch(unread), listAll(ports, PROFILES, signal).catch(unread),
  ]);
  const pods = all ?? await listSidecarPods(ports, ackSystemNamespace, signal).catch(unread);
  const closures = (profiles ?? []).map(closuresIn).reduce(tightest, NOTHING_CLOSED);
  const tight = (profiles ?? []).filter((profile) => missingFlags(closures, closuresIn(profile)).length === 0);
  return {
    pods: pods ?? [], closures,
    profileNamespaces: tight.length === 0 ? null : tight.map((profile) => objectReference(profile).namespace),
    isRead: pods !== null && profiles !== null,
  };
}
