import { randomBytes } from "node:crypto";
import type { SteadyClock } from "../../shared/inventory/clock.ts";
import type { KubernetesAPI } from "../../shared/inventory/cluster/api.ts";
import type { ObjectName } from "../../shared/inventory/cluster/watched-kind.ts";
import { rejectionText, sendRequest } from "../send-request.ts";

export interface EventRecorderOptions {
  readonly api: KubernetesAPI;
  readonly clock: SteadyClock;
  /** The Secret that the Events are about. */
  readonly secret: ObjectName;
  /** The unique name of this replica. */
  readonly identity: string;
  /** Called after each Event with the result. `limited` Events are not sent. */
  readonly onOutcome: (outcome: "ok" | "limited" | "failed", fault: string | null) => void;
}

export interface EventText {
  readonly type: "Normal" | "Warning";
  /** A short CamelCase reason. The number of reasons is small, because each reason has its own limit. */
  readonly reason: string;
  readonly note: string;
}

/** The minimum time between two Events of the same reason, in ms. An Event lives for one hour by default. */
const INTERVAL_MS = 3_600_000;
/** The maximum length of a note (k8s.io/api events/v1). */
const MAX_NOTE = 1024;
const NAME_BYTES = 8;
const CONTROLLER = "ack-role-resolver.io/webhook";

/** Writes Events (events.k8s.io/v1) about the Secret. Writes at most one Event per reason and hour. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #lastMs = new Map<string, number>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Resolves when the Event is written, limited or failed. Never rejects. */
  async record(event: EventText): Promise<void> {
    const { clock, onOutcome } = this.#options;
    const nowMs = clock.steady();
    const lastMs = this.#lastMs.get(event.reason);
    if (lastMs !== undefined && nowMs - lastMs < INTERVAL_MS) return onOutcome("limited", null);
    this.#lastMs.set(event.reason, nowMs);
    try {
      const request = {
        method: "POST", path: `/apis/events.k8s.io/v1/namespaces/${this.#options.secret.namespace}/events`,
        body: JSON.stringify(this.#object(event)),
      } as const;
      const response = await sendRequest(this.#options, request);
      if (response.status === 201) onOutcome("ok", null);
      else onOutcome("failed", rejectionText(request, response));
    } catch (error) {
      onOutcome("failed", error instanceof Error ? error.message : String(error));
    }
  }

  #object({ type, reason, note }: EventText): object {
    const { clock, secret: { namespace, name }, identity } = this.#options;
    return {
      apiVersion: "events.k8s.io/v1", kind: "Event",
      // A generated name cannot contain a dot at this position.
      metadata: { namespace, name: `${name}.${randomBytes(NAME_BYTES).toString("hex")}` },
      eventTime: new Date(clock.now()).toISOString().replace("Z", "000Z"),
      reportingController: CONTROLLER, reportingInstance: identity.slice(0, 128), action: "Rotate",
      regarding: { apiVersion: "v1", kind: "Secret", namespace, name },
      type, reason, note: note.slice(0, MAX_NOTE),
    };
  }
}
