import { systemClock } from "../clock.ts";
import type { KubernetesAPI } from "../cluster/api.ts";
import { listPages } from "../cluster/list-watch.ts";
import type { WatchedKind } from "../cluster/watched-kind.ts";
import type { JsonObject } from "../formats/json.ts";
import { looksLikeController } from "../model/controller-deployment.ts";

const TYPE = { apiVersion: "apps/v1", kind: "Deployment" };

const DEPLOYMENTS: WatchedKind = {
  group: "apps", version: "v1", kind: "Deployment", plural: "deployments", pageSize: 500,
  // An item of a list has no type.
  transform: (object) => (looksLikeController({ ...object, ...TYPE }) ? object : null),
};

interface ListedDeployments {
  readonly deployments: readonly JsonObject[];
  /** Why the Deployments could not be listed; null if they were. */
  readonly unread: string | null;
}

/**
 * Lists the Deployments of a cluster that look like those of ACK controllers. Without the right to list Deployments in
 * all namespaces, lists those in the namespace.
 */
export async function listControllerDeployments(api: KubernetesAPI, namespace: string): Promise<ListedDeployments> {
  const all = await tryList(api, DEPLOYMENTS);
  return all.unread === null ? all : await tryList(api, { ...DEPLOYMENTS, namespace });
}

async function tryList(api: KubernetesAPI, kind: WatchedKind): Promise<ListedDeployments> {
  const deployments: JsonObject[] = [];
  try {
    for await (const { objects } of listPages({ api, clock: systemClock, kind }, new AbortController().signal)) {
      deployments.push(...objects.map(({ object }) => object).filter((object) => object !== null));
    }
    return { deployments, unread: null };
  } catch (error) {
    return { deployments: [], unread: error instanceof Error ? error.message : String(error) };
  }
}
