import { sleep, type SteadyClock } from "../../shared/clock.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import type { KubernetesAPI } from "../../shared/cluster/api.ts";
import type { LeaderElection } from "../../shared/cluster/leader-election.ts";
import { bundleChanges, ownNames } from "./ca-bundle.ts";
import type { CertificateReports } from "./reports.ts";
import type { WatchedObjects } from "./watched-objects.ts";
import { writeBundle } from "./apply-step.ts";

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

/** The webhooks of a configuration that had the caBundle when this process read or wrote them last. */
interface Correct {
  readonly bundle: string;
  readonly names: ReadonlySet<string>;
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
      hasReverted ||= result === "reverted";
    }
    if (hasReverted) await sleep(clock, RESTORE_MS, stopping);
    const nowMs = clock.steady();
    if (this.#inForce?.bundle !== bundle) this.#inForce = { bundle, sinceMs: nowMs };
    return nowMs - this.#inForce.sinceMs;
  }

  /** Writes the caBundle of one configuration. Returns `reverted` if another program had changed a correct one. */
  async #publishTo(
    configuration: readonly [plural: string, object: JsonObject], bundle: string,
  ): Promise<"ok" | "failed" | "reverted"> {
    const { election, watched, reports, hosts } = this.#options;
    const [plural, object] = configuration;
    const changes = bundleChanges(object, bundle, hosts);
    const correct = this.#correct.get(plural);
    if (changes.length > 0) {
      this.#inForce = null;
      if (!election.isLeader) return "failed";
      const written = await writeBundle(this.#options, configuration, changes.flatMap(({ patch }) => patch));
      const reverted = correct?.bundle === bundle ? changes.filter(({ name }) => correct.names.has(name)) : [];
      reports.published(plural, {
        isConflict: written === null, isReverted: reverted.length > 0,
        // A program that applies the configuration again can remove the caBundle: that is not a wrong value.
        isReplaced: reverted.some(({ isEmpty }) => !isEmpty), filled: changes.filter(({ isEmpty }) => isEmpty).length,
      });
      if (written === null) return "failed";
      watched.store(written);
      this.#correct.set(plural, { bundle, names: ownNames(object, hosts) });
      return reverted.length > 0 ? "reverted" : "ok";
    }
    this.#correct.set(plural, { bundle, names: ownNames(object, hosts) });
    return "ok";
  }
}
