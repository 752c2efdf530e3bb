import { podProblem } from "../../shared/controllers/pod-profile.ts";
import { closesAny } from "../../shared/core/closures.ts";
import { repeat } from "../../shared/core/clock.ts";
import { errorMessage } from "../../shared/formats/errors.ts";
import { listSidecarPods } from "../sidecar-pods.ts";
import type { LeaderPorts, LeaderTask, StartTask } from "./leader-task.ts";

/** Starts if the webhook injects sidecars, without which it has no right to list Pods, and closes anything. */
export const profileTask: StartTask = (ports) => {
  const { image, closures } = ports.settings.injection;
  return image !== null && closesAny(closures) ? new ProfileEvents(ports) : null;
};

const TICK_MS = 500;
/** The time between two lists of the Pods, in ms. An upgrade to another profile starts a new leader, which lists. */
const INTERVAL_MS = 5 * 60_000;
const FIX = "apply the objects of `ack-role-resolver manifests rbac`";

/**
 * Reports the Pods in the namespace of the controllers whose sidecar does not follow the profile of the installation,
 * and can hand out what the profile forbids: a sidecar of an earlier version, or one of the user's own.
 */
class ProfileEvents implements LeaderTask {
  readonly #options: LeaderPorts;
  #nextMs = 0;
  #fault: string | null = null;

  constructor(options: LeaderPorts) {
    this.#options = options;
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
