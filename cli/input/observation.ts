import type { KubernetesAPI } from "../../shared/api/api.ts";
import type { ControllerDeployment } from "../../shared/controllers/controller-deployment.ts";
import { isACKController } from "../../shared/core/exemptions.ts";
import { WEBHOOK } from "../../shared/core/installation.ts";
import { ACCOUNT_PREFIX } from "../../shared/core/protected-namespaces.ts";
import { SETTINGS } from "../../shared/core/settings.ts";
import { controllersOf } from "../../shared/formats/names.ts";
import { compareText } from "../../shared/formats/text.ts";
import { observedIn, type ObservedDenials, recentDenials } from "../../shared/server/observed-denials.ts";
import { environmentName } from "../../shared/server/read-settings.ts";
import { readInstalledWebhook, readObject } from "./installed-webhook.ts";

/** What the webhook of a cluster has observed in the profile `observe`. */
export interface Observation {
  /** The namespace of the installation. */
  readonly namespace: string;
  /** The release of Helm that installed the webhook; null if another tool did. */
  readonly release: string | null;
  /** Null if it is unknown, or if the webhook has not written it yet. */
  readonly observed: ObservedDenials | null;
  /** Why it is unknown. */
  readonly unknown: string | null;
  /** The service accounts of controllers that `--controller-users` does not name, as NAMESPACE/NAME. */
  readonly unnamed: readonly string[];
  /** The values of `--controller-users`. */
  readonly users: readonly string[];
}

/** Reads what the profile `enforce` would have denied. Returns null if the installed webhook has another profile. */
export async function readObservation(
  api: KubernetesAPI, { controllers, users, nowMs }: Known,
): Promise<Observation | null> {
  const { given, name, release } = await readInstalledWebhook(api);
  const { flag } = SETTINGS.profile;
  const profile = given?.flags["profile"] ?? given?.environment[environmentName(flag)];
  if (profile !== "observe") return null;
  const [namespace = ""] = name.split("/");
  const path = `/api/v1/namespaces/${namespace}/configmaps/${WEBHOOK.observedDenials}`;
  const { object, unknown } = await readObject(api, path);
  const stored = object === null ? null : observedIn(object);
  const observed = stored === null ? null : recentDenials(stored, nowMs);
  return { namespace, release, observed, unknown, unnamed: unnamedControllers(controllers, users), users };
}

interface Known {
  readonly controllers: readonly ControllerDeployment[];
  /** The values of `--controller-users`. */
  readonly users: readonly string[];
  readonly nowMs: number;
}

/** Returns the service accounts of the controllers that no value names, sorted. */
function unnamedControllers(controllers: readonly ControllerDeployment[], users: readonly string[]): readonly string[] {
  const named = controllersOf(users);
  const { controllerServiceAccounts } = controllersOf(controllers.map(({ serviceAccount }) => serviceAccount));
  const unnamed = controllerServiceAccounts.filter((account) => (
    !isACKController({ username: `${ACCOUNT_PREFIX}${account.replace("/", ":")}`, groups: [] }, named)
  ));
  return [...new Set(unnamed)].toSorted(compareText);
}
