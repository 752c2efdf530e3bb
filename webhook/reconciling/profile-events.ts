import type { Problem } from "../../shared/core/problem.ts";
import { podProblem } from "../../shared/controllers/pod-profile.ts";
import { repeat, type SteadyClock } from "../../shared/core/clock.ts";
import type { KubernetesAPI } from "../../shared/api/api.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { errorMessage } from "../../shared/formats/errors.ts";
import type { Logger } from "../../shared/server/logger.ts";
import { listSidecarPods } from "../sidecar-pods.ts";

interface SidecarPodsOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  readonly log: Pick<Logger, "warn">;
  readonly settings: DecisionSettings;
  /** Whether this replica is the leader. */
  readonly mayWrite: () => boolean;
  readonly report: (problem: Problem) => void;
}

const TICK_MS = 500;
/** The time between two lists of the Pods, in ms. An upgrade to another profile starts a new leader, which lists. */
const INTERVAL_MS = 5 * 60_000;
const FIX = "apply the objects of `ack-role-resolver manifests rbac`";

/**
 * Reports the Pods in the namespace of the controllers whose sidecar does not follow the profile of the installation,
 * and can hand out what the profile forbids: a sidecar of an earlier version, or one of the user's own.
 */
export class ProfileEvents {
  readonly #options: SidecarPodsOptions;
  #nextMs = 0;
  #fault: string | null = null;

  constructor(options: SidecarPodsOptions) {
    this.#options = options;
  }

  /** Whether the webhook injects sidecars, without which it has no right to list Pods, and closes anything. */
  static isNeeded({ injection: { image, closures } }: Pick<DecisionSettings, "injection">): boolean {
    return image !== null && (closures.base || closures.unmatched);
  }

  /** Lists the Pods now and then until `stopping` aborts. Never rejects. */
  async run(stopping: AbortSignal): Promise<void> {
    const { clock, mayWrite } = this.#options;
    await repeat(clock, stopping, async () => {
      if (!mayWrite()) this.#nextMs = 0;
      else if (clock.steady() >= this.#nextMs) await this.#list(stopping);
      return TICK_MS;
    });
  }

  async #list(stopping: AbortSignal): Promise<void> {
    const { clock, log, settings, report } = this.#options;
    this.#nextMs = clock.steady() + INTERVAL_MS;
    try {
      for (const pod of await listSidecarPods(this.#options, settings.ackSystemNamespace, stopping)) {
        const problem = podProblem(pod, settings);
        if (problem !== null) report(problem);
      }
      this.#fault = null;
    } catch (error) {
      const fault = errorMessage(error);
      const isNew = this.#fault === null && !stopping.aborted;
      this.#fault = fault;
      if (isNew) log.warn({ fault, fix: FIX }, "Pods with a sidecar cannot be listed");
    }
  }
}
