import { sleep, type SteadyClock } from "../../shared/inventory/clock.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import { bundlePatch } from "./ca-bundle.ts";
import type { LeaderElection } from "../leader-election.ts";
import type { CertificateReports } from "./reports.ts";
import type { WatchedObjects } from "./watched-objects.ts";
import { writeBundle } from "./writer.ts";

interface BundlePublisherOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  readonly hosts: readonly string[];
  readonly reports: CertificateReports;
  readonly watched: WatchedObjects;
  readonly election: LeaderElection;
  readonly stopping: AbortSignal;
}

/** The minimum time between two restorations of a caBundle, in ms, if another program reverts it each time. */
const RESTORE_MS = 1_000;

/** Maintains the caBundles in the webhook configurations. */
export class BundlePublisher {
  readonly #options: BundlePublisherOptions;
  /** Since when (steady time) the caBundles of all configurations have been `bundle`. */
  #inForce: { readonly bundle: string; readonly sinceMs: number } | null = null;
  /** The last caBundle of each configuration that the webhook read or wrote, and that was correct. */
  readonly #correct = new Map<string, string>();

  constructor(options: BundlePublisherOptions) {
    this.#options = options;
  }

  /**
   * Writes the caBundles that differ from `bundle`. Returns how long all caBundles have been `bundle`, in ms. Returns
   * null if they are not. A configuration that does not exist needs no caBundle.
   */
  async publish(bundle: string): Promise<number | null> {
    const { clock, hosts, watched, stopping } = this.#options;
    let hasRestored = false;
    for (const [plural, configuration] of watched.configurations ?? []) {
      const patch = bundlePatch(configuration, bundle, hosts);
      if (patch.length === 0) {
        this.#correct.set(plural, bundle);
        continue;
      }
      this.#inForce = null;
      const isRestored = this.#correct.get(plural) === bundle;
      // Requests are sequential, so that each one is preceded by a check of the leadership.
      // oxlint-disable-next-line no-await-in-loop
      if (!(await this.#write([plural, configuration], patch, isRestored))) return null;
      this.#correct.set(plural, bundle);
      hasRestored ||= isRestored;
    }
    if (hasRestored) await sleep(clock, RESTORE_MS, stopping);
    const nowMs = clock.steady();
    if (this.#inForce?.bundle !== bundle) this.#inForce = { bundle, sinceMs: nowMs };
    return nowMs - this.#inForce.sinceMs;
  }

  async #write(
    configuration: readonly [string, JsonObject], patch: ReturnType<typeof bundlePatch>, isRestored: boolean,
  ): Promise<boolean> {
    const { election, watched, reports } = this.#options;
    if (!election.isLeader) return false;
    const written = await writeBundle(this.#options, configuration, patch);
    reports.published(configuration[0], { isConflict: written === null, isRestored });
    if (written !== null) watched.store(written);
    return written !== null;
  }
}
