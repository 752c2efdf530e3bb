import { sleep, type SteadyClock } from "../../shared/clock.ts";
import { field, type JsonObject, jsonPointer, stringAt } from "../../shared/formats/json.ts";
import { hostOf } from "../hosts.ts";
import { constraintsOf } from "../name-constraints.ts";
import { splitCertificates } from "../pem.ts";
import type { CertificateReports } from "./reports.ts";
import { authoritiesOf, type StoredCertificates } from "./secret.ts";
import type { TestedOperation, WatchedObjects } from "./watched-objects.ts";

interface BundlePublisherOptions {
  readonly clock: SteadyClock;
  readonly hosts: readonly string[];
  readonly reports: CertificateReports;
  readonly watched: WatchedObjects;
  readonly stopping: AbortSignal;
}

/** The minimum time between two restorations of a caBundle, in ms, if another program reverts it each time. */
const RESTORE_MS = 1_000;

/** The webhooks of a configuration that had the caBundle when this process read or wrote them last. */
interface Correct {
  readonly bundle: string;
  readonly names: ReadonlySet<string | null>;
}

/** Maintains the caBundles in the webhook configurations. */
export class BundlePublisher {
  readonly #options: BundlePublisherOptions;
  /** Since when (steady time) the caBundles of all configurations have been `bundle`. */
  #inForce: { readonly bundle: string; readonly sinceMs: number } | null = null;
  readonly #correct = new Map<string, Correct>();

  constructor(options: BundlePublisherOptions) {
    this.#options = options;
  }

  /**
   * Writes the caBundles that differ from `bundle`. Returns how long all caBundles have been `bundle`, in ms. Returns
   * null if they are not. A configuration that does not exist needs no caBundle.
   */
  async publish(bundle: string): Promise<number | null> {
    const { clock, watched, stopping } = this.#options;
    let hasReverted = false;
    for (const configuration of watched.configurations ?? []) {
      // Requests are sequential, so that each one is preceded by a check of the leadership.
      // oxlint-disable-next-line no-await-in-loop
      const result = await this.#publishTo(configuration, bundle);
      if (result === "failed") return null;
      hasReverted ||= result === "restored";
    }
    if (hasReverted) await sleep(clock, RESTORE_MS, stopping);
    const nowMs = clock.steady();
    if (this.#inForce?.bundle !== bundle) this.#inForce = { bundle, sinceMs: nowMs };
    return nowMs - this.#inForce.sinceMs;
  }

  /** Writes the caBundle of one configuration. Returns `restored` if another program had changed a correct one. */
  async #publishTo(
    [plural, object]: readonly [plural: string, object: JsonObject], bundle: string,
  ): Promise<"ok" | "failed" | "restored"> {
    const { watched, reports, hosts } = this.#options;
    const changes = bundleChanges(object, bundle, hosts);
    const correct = this.#correct.get(plural);
    const reverted = correct?.bundle === bundle ? changes.filter(({ name }) => correct.names.has(name)) : [];
    if (changes.length > 0) {
      this.#inForce = null;
      const outcome = await watched.writeBundle(plural, changes.flatMap(({ patch }) => patch));
      reports.published(plural, {
        outcome, isReverted: reverted.length > 0,
        // A program that applies the configuration again can remove the caBundle: that is not a wrong value.
        isReplaced: reverted.some(({ isEmpty }) => !isEmpty), filled: changes.filter(({ isEmpty }) => isEmpty).length,
      });
      if (outcome !== "ok") return "failed";
    }
    const names = new Set(ownWebhooks(object, hosts).map(({ name }) => name));
    this.#correct.set(plural, { bundle, names });
    return reverted.length > 0 ? "restored" : "ok";
  }
}

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
    .filter(({ clientConfig }) => hosts.includes(calledHost(clientConfig)));
}

/** Returns the name that the API server verifies in the certificate; "" for an invalid URL. */
function calledHost(clientConfig: unknown): string {
  const url = stringAt(clientConfig, "url");
  if (url !== null) return URL.canParse(url) ? hostOf(url) : "";
  return `${stringAt(clientConfig, "service", "name")}.${stringAt(clientConfig, "service", "namespace")}.svc`;
}
