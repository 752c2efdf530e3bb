import { splitCertificates } from "../../certs/pem.ts";
import {
  field, type JsonObject, jsonPointer, type PatchOperation, stringAt,
} from "../../shared/decisions/kubernetes/json.ts";
import type { StoredCertificates } from "./secret.ts";

/** An operation of a JSON patch that the webhook sends to the API server. The patch fails if a test fails. */
type TestedOperation = PatchOperation | { readonly op: "test"; readonly path: string; readonly value: unknown };

/**
 * Returns the CAs that the API server must trust, as PEM: the current CA, the next CA before its first certificate, and
 * the previous CAs until no replica serves their certificates. Returns "" if the Secret has no CA.
 */
export function caBundle({ ca, next, previous }: StoredCertificates): string {
  if (ca === null) return "";
  const all = [ca.cert, ...(next === null ? [] : [next.cert]), ...previous].flatMap(splitCertificates);
  return [...new Set(all)].join("");
}

/**
 * Returns the JSON patch that sets the caBundle of each webhook that calls one of `hosts`. Returns an empty patch if
 * all these webhooks have the caBundle. The patch tests the name and the target of each webhook: if another client
 * changes the list at the same time, the API server rejects the patch.
 */
export function bundlePatch(
  configuration: JsonObject, bundle: string, hosts: readonly string[],
): readonly TestedOperation[] {
  const value = Buffer.from(bundle).toString("base64");
  return ownWebhooks(configuration, hosts).flatMap(({ index, name, clientConfig }): TestedOperation[] => {
    if (stringAt(clientConfig, "caBundle") === value) return [];
    const target = field(clientConfig, "service") === undefined ? "url" : "service";
    const config = ["webhooks", index, "clientConfig"] as const;
    return [
      { op: "test", path: jsonPointer("webhooks", index, "name"), value: name },
      { op: "test", path: jsonPointer(...config, target), value: field(clientConfig, target) },
      { op: "add", path: jsonPointer(...config, "caBundle"), value },
    ];
  });
}

/** Returns the CAs in the caBundles of the webhooks that call one of `hosts`, as PEM, without duplicates. */
export function trustedCAs(configurations: readonly JsonObject[], hosts: readonly string[]): string[] {
  const bundles = configurations.flatMap((one) => ownWebhooks(one, hosts))
    .map(({ clientConfig }) => stringAt(clientConfig, "caBundle") ?? "");
  return [...new Set(bundles.flatMap((text) => splitCertificates(Buffer.from(text, "base64").toString("utf8"))))];
}

interface OwnWebhook {
  readonly index: number;
  readonly name: string | null;
  readonly clientConfig: unknown;
}

function ownWebhooks(configuration: JsonObject, hosts: readonly string[]): OwnWebhook[] {
  const webhooks = field(configuration, "webhooks");
  if (!Array.isArray(webhooks)) return [];
  return webhooks
    .map((webhook: unknown, index) => (
      { index, name: stringAt(webhook, "name"), clientConfig: field(webhook, "clientConfig") }
    ))
    .filter(({ clientConfig }) => hosts.includes(hostOf(clientConfig) ?? ""));
}

/** Returns the name that the API server verifies in the certificate. */
function hostOf(clientConfig: unknown): string | null {
  const url = stringAt(clientConfig, "url");
  if (url !== null) return URL.canParse(url) ? new URL(url).hostname.replaceAll(/[[\]]/g, "") : null;
  const name = stringAt(clientConfig, "service", "name");
  const namespace = stringAt(clientConfig, "service", "namespace");
  return name === null || namespace === null ? null : `${name}.${namespace}.svc`;
}
