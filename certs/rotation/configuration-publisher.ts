import { sleep, type SteadyClock } from "../../shared/core/clock.ts";
import { type JsonObject, jsonPointer, stringAt } from "../../shared/formats/json.ts";
import { bundleChanges } from "./ca-bundle.ts";
import { ownWebhooks } from "./own-webhooks.ts";
import type { Reachability } from "./reachability.ts";
import type { CertificateReports } from "./reports.ts";
import type { TestedOperation, WatchedObjects } from "./watched-objects.ts";
import { FAIL_WHEN_READY_ANNOTATION } from "../../shared/core/annotation-keys.ts";

interface PublisherOptions {
  readonly clock: SteadyClock;
  readonly hosts: readonly string[];
  readonly reports: CertificateReports;
  readonly watched: WatchedObjects;
  /** Whether a Pod of the Service is ready. */
  readonly isReady: (service: string) => boolean;
  readonly reachability: Pick<Reachability, "ask" | "forget">;
  readonly stopping: AbortSignal;
}

/** The minimum time between two restorations of a field, in ms, if another program reverts it each time. */
const RESTORE_MS = 1_000;

/** The webhooks of a configuration that had the caBundle when this process read or wrote them last. */
interface Correct {
  readonly bundle: string;
  readonly names: ReadonlySet<string | null>;
}

/**
 * Maintains the caBundles in the webhook configurations, and their failurePolicy until it is `Fail`. This needs a ready
 * Pod that the API server reaches.
 */
export class ConfigurationPublisher {
  readonly #options: PublisherOptions;
  /** Since when (steady time) the caBundles of all configurations have been `bundle`. */
  #inForce: { readonly bundle: string; readonly sinceMs: number } | null = null;
  readonly #correct = new Map<string, Correct>();
  /** The names of the webhooks whose failurePolicy this process has set to `Fail`. */
  readonly #failing = new Set<string>();
  /** Whether a failurePolicy was to be set when the configurations were seen last. */
  #isDue = false;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /**
   * Writes the caBundles that differ from `bundle`. Returns how long all caBundles have been `bundle`, in ms. Returns
   * null if they are not. A configuration that does not exist needs no caBundle.
   */
  async publish(bundle: string): Promise<number | null> {
    const { clock, watched, stopping } = this.#options;
    let hasReverted = false;
    this.#isDue = false;
    for (const configuration of watched.configurations ?? []) {
      // Requests are sequential, so that each one is preceded by a check of the leadership.
      // oxlint-disable-next-line no-await-in-loop
      const result = await this.#publishTo(configuration, bundle);
      if (result === "failed") return null;
      hasReverted ||= result === "restored";
    }
    if (!this.#isDue) this.#options.reachability.forget();
    if (hasReverted) await sleep(clock, RESTORE_MS, stopping);
    const nowMs = clock.steady();
    if (this.#inForce?.bundle !== bundle) this.#inForce = { bundle, sinceMs: nowMs };
    return nowMs - this.#inForce.sinceMs;
  }

  /** Returns the change of the failurePolicy that is due, once the API server reaches the webhook. */
  async #failureChange(object: JsonObject, isTrusted: boolean): Promise<FailureChange> {
    const change = failureChange(object, this.#options);
    if (change.names.length === 0) return change;
    this.#isDue = true;
    return isTrusted && await this.#options.reachability.ask() ? change : { names: [], patch: [] };
  }

  /** Writes what is due in one configuration. Returns `restored` if another program had changed a correct field. */
  async #publishTo(
    [plural, object]: readonly [plural: string, object: JsonObject], bundle: string,
  ): Promise<"ok" | "failed" | "restored"> {
    const { watched, reports, hosts } = this.#options;
    const changes = bundleChanges(object, bundle, hosts);
    const failing = await this.#failureChange(object, changes.length === 0);
    const correct = this.#correct.get(plural);
    const reverted = correct?.bundle === bundle ? changes.filter(({ name }) => correct.names.has(name)) : [];
    const isIgnored = failing.names.some((name) => this.#failing.has(name));
    if (changes.length > 0) this.#inForce = null;
    const patch = [...changes.flatMap((one) => one.patch), ...failing.patch];
    const outcome = patch.length === 0 ? "ok" : await watched.writeConfiguration(plural, patch);
    if (changes.length > 0) {
      reports.published(plural, {
        outcome, isReverted: reverted.length > 0,
        // A program that applies the configuration again can remove the caBundle: that is not a wrong value.
        isReplaced: reverted.some(({ isEmpty }) => !isEmpty), filled: changes.filter(({ isEmpty }) => isEmpty).length,
      });
    }
    reports.failing(plural, failing.names, { outcome, isRestored: isIgnored });
    if (outcome !== "ok") return "failed";
    for (const name of failing.names) this.#failing.add(name);
    const names = new Set(ownWebhooks(object, hosts).map(({ name }) => name));
    this.#correct.set(plural, { bundle, names });
    return reverted.length > 0 || isIgnored ? "restored" : "ok";
  }
}

interface Called {
  /** The names of the webhook. */
  readonly hosts: readonly string[];
  /** Whether a Pod of the Service is ready. */
  readonly isReady: (service: string) => boolean;
}

interface FailureChange {
  /** The names of the webhooks that change. */
  readonly names: readonly string[];
  readonly patch: readonly TestedOperation[];
}

/**
 * Returns the JSON patch that sets the failurePolicy `Fail` of the webhooks that the annotation names, once their
 * Service has a ready Pod. The patch tests the annotation, so that it does not change a configuration that another
 * client has just replaced. Nothing sets `Ignore`: a webhook that is down later stays `Fail`.
 */
export function failureChange(configuration: JsonObject, { hosts, isReady }: Called): FailureChange {
  const annotation = stringAt(configuration, "metadata", "annotations", FAIL_WHEN_READY_ANNOTATION) ?? "";
  const named = annotation.split(",");
  const due = ownWebhooks(configuration, hosts).filter(({ name, failurePolicy, clientConfig }) => (
    named.includes(name ?? "") && failurePolicy !== "Fail" && isReady(stringAt(clientConfig, "service", "name") ?? "")
  ));
  const path = jsonPointer("metadata", "annotations", FAIL_WHEN_READY_ANNOTATION);
  const patch = due.flatMap(({ index, name }): TestedOperation[] => [
    { op: "test", path, value: annotation },
    { op: "test", path: jsonPointer("webhooks", index, "name"), value: name },
    { op: "add", path: jsonPointer("webhooks", index, "failurePolicy"), value: "Fail" },
  ]);
  return { names: due.map(({ name }) => name ?? ""), patch };
}
