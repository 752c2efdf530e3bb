import { systemClock } from "../../shared/core/clock.ts";
import type { KubernetesAPI } from "../../shared/api/api.ts";
import { listPages } from "../../shared/api/list-watch.ts";
import type { WatchedKind } from "../../shared/api/watched-kind.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { looksLikeController } from "../../shared/controllers/controller-deployment.ts";

const TYPE = { apiVersion: "apps/v1", kind: "Deployment" };

const DEPLOYMENTS: WatchedKind = {
  group: "apps", version: "v1", kind: "Deployment", plural: "deployments", pageSize: 500,
  // An item of a list has no type.
  transform: (object) => (looksLikeController({ ...object, ...TYPE }) ? object : null),
};

const SERVICE_ACCOUNTS: WatchedKind = {
  group: "", version: "v1", kind: "ServiceAccount", plural: "serviceaccounts", pageSize: 500,
  transform: ({ metadata }) => ({ metadata }),
};

interface Listed {
  readonly objects: readonly JsonObject[];
  /** Why the objects could not be listed; null if they were. */
  readonly unread: string | null;
}

/**
 * Lists the Deployments of a cluster that look like those of ACK controllers, and the service accounts in the
 * namespace. Without the right to list Deployments in all namespaces, lists those in the namespace. `unread` concerns
 * only the Deployments: without its service account, only the role of a controller is unknown.
 */
export async function listControllerObjects(api: KubernetesAPI, namespace: string): Promise<Listed> {
  const [all, accounts] = await Promise.all([
    tryList(api, DEPLOYMENTS), tryList(api, { ...SERVICE_ACCOUNTS, namespace }),
  ]);
  const { objects, unread } = all.unread === null ? all : await tryList(api, { ...DEPLOYMENTS, namespace });
  return { objects: [...objects, ...accounts.objects], unread };
}

async function tryList(api: KubernetesAPI, kind: WatchedKind): Promise<Listed> {
  const objects: JsonObject[] = [];
  try {
    for await (const page of listPages({ api, clock: systemClock, kind }, new AbortController().signal)) {
      objects.push(...page.objects.map(({ object }) => object).filter((object) => object !== null));
    }
    return { objects, unread: null };
  } catch (error) {
    return { objects: [], unread: error instanceof Error ? error.message : String(error) };
  }
}
