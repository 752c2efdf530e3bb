import type { KubernetesAPI } from "../../shared/api/api.ts";
import { readControllers } from "../../shared/controllers/controller-deployment.ts";
import { settleSettings } from "../../shared/controllers/controller-settings.ts";
import type { Given } from "../../shared/server/installed-settings.ts";
import { listControllerObjects } from "./controller-objects.ts";

const NOTHING_STATED = {
  mode: null, teamLevelCarm: null, serviceLevelCarm: null, region: null, controllerAccount: null, controllerRole: null,
};

/** Returns the settings in which all ACK controllers of a cluster agree, as flags. Without a right, returns none. */
export async function readSettledControllers(api: KubernetesAPI, systemNamespace: string): Promise<Given> {
  const { objects, unread } = await listControllerObjects(api, systemNamespace);
  const { controllers } = readControllers(objects, systemNamespace);
  const { settings } = settleSettings(NOTHING_STATED, { controllers, others: [], unread });
  const known = Object.entries(settings).filter(([, value]) => value !== null);
  return { flags: Object.fromEntries(known), environment: {} };
}
