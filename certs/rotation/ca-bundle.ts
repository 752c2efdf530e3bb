import { field, type JsonObject, jsonPointer, stringAt } from "../../shared/formats/json.ts";
import { constraintsOf } from "../name-constraints.ts";
import { splitCertificates } from "../pem.ts";
import { ownWebhooks } from "./own-webhooks.ts";
import { authoritiesOf, type StoredCertificates } from "./secret.ts";
import type { TestedOperation } from "./watched-objects.ts";

/**
 * Returns the CAs that the API server must trust, as PEM: the current CA, the next CA before its first certificate, and
 * the previous CAs until no replica serves their certificates. Returns "" if the Secret has no CA.
 */
export function caBundle(stored: StoredCertificates): string {
  return stored.ca === null ? "" : authoritiesOf(stored).join("");
}

/** A webhook whose caBundle must change. */
interface BundleChange {
  /** The name of the webhook. */
  readonly name: string | null;
  /** Whether the webhook has no caBundle, as a new webhook. */
  readonly isEmpty: boolean;
  /**
   * The JSON patch that sets the caBundle. It tests the name and the target of the webhook: if another client changes
   * the list at the same time, the API server rejects the patch.
   */
  readonly patch: readonly TestedOperation[];
}

/** Returns the changes after which each webhook that calls one of `hosts` has the caBundle. */
export function bundleChanges(
  configuration: JsonObject, bundle: string, hosts: readonly string[],
): readonly BundleChange[] {
  const value = Buffer.from(bundle).toString("base64");
  return ownWebhooks(configuration, hosts).flatMap(({ index, name, clientConfig }) => {
    const current = stringAt(clientConfig, "caBundle") ?? "";
    if (current === value) return [];
    const target = field(clientConfig, "service") === undefined ? "url" : "service";
    const config = ["webhooks", index, "clientConfig"] as const;
    const patch: TestedOperation[] = [
      { op: "test", path: jsonPointer("webhooks", index, "name"), value: name },
      { op: "test", path: jsonPointer(...config, target), value: field(clientConfig, target) },
      { op: "add", path: jsonPointer(...config, "caBundle"), value },
    ];
    return [{ name, isEmpty: current === "", patch }];
  });
}

/**
 * Returns the CAs in the caBundles of the webhooks that call one of `hosts`, as PEM, without duplicates. Omits CAs
 * without name constraints, which come from other programs.
 */
export function trustedCAs(configurations: readonly JsonObject[], hosts: readonly string[]): string[] {
  const bundles = configurations.flatMap((one) => ownWebhooks(one, hosts))
    .map(({ clientConfig }) => stringAt(clientConfig, "caBundle") ?? "");
  const all = new Set([...new Set(bundles)]
    .flatMap((text) => splitCertificates(Buffer.from(text, "base64").toString("utf8"))));
  return [...all].filter((one) => constraintsOf(one) !== null);
}
