import type { KubernetesAPI } from "../../shared/api/api.ts";
import { isSuccess, responseText, sendRequest } from "../../shared/api/send-request.ts";
import { systemClock } from "../../shared/core/clock.ts";
import { WEBHOOK } from "../../shared/core/installation.ts";
import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { DNS_LABEL } from "../../shared/formats/names.ts";
import { type Given, installedSettings } from "../../shared/server/installed-settings.ts";

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

const CONFIGURATION = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${WEBHOOK.configuration}`;
const NONE: InstalledWebhook = { given: null, name: "", release: null, unknown: null };

/**
 * Reads the settings of the webhook that the API server calls. A Deployment is that of the webhook if it has the name
 * of the Service in the webhook's configuration, as in the chart: everyone who can create a Deployment could otherwise
 * choose the settings of an audit.
 */
export async function readInstalledWebhook(api: KubernetesAPI): Promise<InstalledWebhook> {
  const configuration = await readObject(api, CONFIGURATION);
  if (configuration.object === null) return { ...NONE, unknown: configuration.unknown };
  const webhooks = field(configuration.object, "webhooks");
  const services = (Array.isArray(webhooks) ? webhooks : []).map((one: unknown) => (
    field(field(one, "clientConfig"), "service")
  ));
  const service = services.find((one) => stringAt(one, "name") !== null);
  // A webhook outside the cluster has a URL.
  if (service === undefined) return NONE;
  const [namespace, name] = [stringAt(service, "namespace") ?? "", stringAt(service, "name") ?? ""];
  const deployment = await readObject(api, `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
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
export async function readObject(api: KubernetesAPI, path: string): Promise<Answer> {
  try {
    const response = await sendRequest({ api, clock: systemClock }, { path });
    if (isSuccess(response)) return { object: response.object, unknown: null };
    return { object: null, unknown: response.status === 403 ? responseText({ path }, response) : null };
  } catch {
    return { object: null, unknown: null };
  }
}
