import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { hostOf } from "../hosts.ts";

/** A webhook that calls this installation. */
interface OwnWebhook {
  /** Its position in the configuration. */
  readonly index: number;
  readonly name: string | null;
  readonly clientConfig: unknown;
  readonly failurePolicy: string | null;
}

/** Returns the webhooks of a configuration that call one of `hosts`. */
export function ownWebhooks(configuration: JsonObject, hosts: readonly string[]): OwnWebhook[] {
  const webhooks = field(configuration, "webhooks");
  if (!Array.isArray(webhooks)) return [];
  return webhooks
    .map((webhook: unknown, index) => ({
      index, name: stringAt(webhook, "name"), clientConfig: field(webhook, "clientConfig"),
      failurePolicy: stringAt(webhook, "failurePolicy"),
    }))
    .filter(({ clientConfig }) => hosts.includes(calledHost(clientConfig)));
}

/** Returns the name that the API server verifies in the certificate; "" for an invalid URL. */
function calledHost(clientConfig: unknown): string {
  const url = stringAt(clientConfig, "url");
  if (url !== null) return URL.canParse(url) ? hostOf(url) : "";
  return `${stringAt(clientConfig, "service", "name")}.${stringAt(clientConfig, "service", "namespace")}.svc`;
}
