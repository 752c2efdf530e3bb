import type { KubernetesAPI } from "../../shared/api/api.ts";
import { isSuccess, responseText, sendRequest } from "../../shared/api/send-request.ts";
import type { ControllerDeployment } from "../../shared/controllers/controller-deployment.ts";
import { systemClock } from "../../shared/core/clock.ts";
import { isACKController } from "../../shared/core/exemptions.ts";
import { WEBHOOK } from "../../shared/core/installation.ts";
import { ACCOUNT_PREFIX } from "../../shared/core/protected-namespaces.ts";
import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { controllersOf, DNS_LABEL } from "../../shared/formats/names.ts";
import { compareText } from "../../shared/formats/text.ts";
import { observedIn, type ObservedDenials, recentDenials } from "../../shared/server/observed-denials.ts";
import { SETTINGS } from "../../shared/core/settings.ts";
import { type Given, installedSettings } from "../../shared/server/installed-settings.ts";
import { environmentName } from "../../shared/server/read-settings.ts";

/** The webhook that a cluster calls. */
export interface InstalledWebhook {
  /** What it was given; null if no webhook is installed in the cluster, or if it is unknown. */
  readonly given: Given | null;
  /** The Deployment, as `NAMESPACE/NAME`. */
  readonly name: string;
  /** The release of Helm that installed it; null if another tool did. */
  readonly release: string | null;
  /** Why the settings are unknown; null if they are known, or if no webhook is installed. */
  readonly unknown: string | null;
}

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
  const { object, unknown } = await read(api, `/api/v1/namespaces/${namespace}/configmaps/${WEBHOOK.observedDenials}`);
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

const CONFIGURATION = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${WEBHOOK.configuration}`;
const NONE: InstalledWebhook = { given: null, name: "", release: null, unknown: null };

/**
 * Reads the settings of the webhook that the API server calls. A Deployment is that of the webhook if it has the name
 * of the Service in the webhook's configuration, as in the chart: everyone who can create a Deployment could otherwise
 * choose the settings of an audit.
 */
export async function readInstalledWebhook(api: KubernetesAPI): Promise<InstalledWebhook> {
  const configuration = await read(api, CONFIGURATION);
  if (configuration.object === null) return { ...NONE, unknown: configuration.unknown };
  const webhooks = field(configuration.object, "webhooks");
  const services = (Array.isArray(webhooks) ? webhooks : []).map((one: unknown) => (
    field(field(one, "clientConfig"), "service")
  ));
  const service = services.find((one) => stringAt(one, "name") !== null);
  // A webhook outside the cluster has a URL.
  if (service === undefined) return NONE;
  const [namespace, name] = [stringAt(service, "namespace") ?? "", stringAt(service, "name") ?? ""];
  const deployment = await read(api, `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
  const given = deployment.object === null
    ? null : installedSettings({ ...deployment.object, apiVersion: "apps/v1", kind: "Deployment" });
  const release = stringAt(deployment.object, "metadata", "annotations", "meta.helm.sh/release-name");
  const isHelm = release !== null && DNS_LABEL.test(release);
  return { given, name: `${namespace}/${name}`, release: isHelm ? release : null, unknown: deployment.unknown };
}

interface Answer {
  readonly object: JsonObject | null;
  readonly unknown: string | null;
}

/** Reads an object. Only a missing right is unknown: if no API server answers, the command itself says so. */
async function read(api: KubernetesAPI, path: string): Promise<Answer> {
  try {
    const response = await sendRequest({ api, clock: systemClock }, { path });
    if (isSuccess(response)) return { object: response.object, unknown: null };
    return { object: null, unknown: response.status === 403 ? responseText({ path }, response) : null };
  } catch {
    return { object: null, unknown: null };
  }
}
