import type { ClusterPorts } from "../shared/api/api.ts";
import { Reflector, type ReflectorHandler } from "../shared/api/reflector.ts";
import type { ObjectName, StoredObject } from "../shared/api/watched-kind.ts";
import { type Closures, closuresIn, tightest } from "../shared/core/closures.ts";
import { WEBHOOK } from "../shared/core/installation.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { SourceStatus } from "../shared/sources/source.ts";

/** What the sidecar closes now. */
export interface LiveClosures {
  /** Another object after each change. */
  readonly closures: Closures;
  /** The state of the watch of the profile; null without --profile-namespace. */
  readonly status: SourceStatus | null;
}

interface InstalledProfileOptions extends ClusterPorts {
  /** --profile-namespace. */
  readonly namespace: string;
  /** What the settings of the sidecar close. The profile of the installation can only close more. */
  readonly configured: Closures;
  /** Called after each change of the closures or the status. */
  readonly onChange: (profile: InstalledProfile) => void;
}

const RESTORE = "upgrade the chart, or apply the objects of `ack-role-resolver manifests rbac`";

/**
 * Follows the profile of the installation, which the chart stores in a ConfigMap. A Pod keeps the flags with which it
 * started, and a controller runs for months, so a profile that closes a way must also reach the sidecars that run.
 * Until the profile is known, no credentials are issued; after that, the last known one applies.
 */
export class InstalledProfile implements LiveClosures, ReflectorHandler {
  readonly #options: InstalledProfileOptions;
  readonly #reflector: Reflector;
  #closures: Closures;
  #isLoaded = false;
  #isMissing = false;
  #fault: string | null = null;
  #lastSyncMs: number | null = null;

  constructor(options: InstalledProfileOptions) {
    const object = { namespace: options.namespace, name: WEBHOOK.profile };
    this.#options = options;
    this.#closures = options.configured;
    this.#reflector = new Reflector({
      ...options, handler: this,
      kind: {
        group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", object, pageSize: 1,
        transform: ({ metadata, data }) => ({ metadata, data }),
      },
    });
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  get closures(): Closures {
    return this.#closures;
  }

  get status(): SourceStatus {
    const missing = `ConfigMap ${this.#options.namespace}/${WEBHOOK.profile} does not exist; ${RESTORE}`;
    const fault = this.#fault ?? (this.#isMissing ? missing : null);
    return { loaded: this.#isLoaded, lastSyncMs: this.#lastSyncMs, fault };
  }

  onObjects([stored]: readonly StoredObject[], removed: readonly ObjectName[]): void {
    if (stored === undefined) {
      // A repeated list without a change has neither.
      this.#isMissing ||= removed.length > 0 || !this.#isLoaded;
    } else {
      this.#closures = tightest(this.#options.configured, closuresIn(stored.object));
      [this.#isLoaded, this.#isMissing] = [true, false];
    }
    this.#options.onChange(this);
  }

  onSync(): void {
    this.#lastSyncMs = this.#options.clock.steady();
  }

  onFault(fault: Error | null): void {
    this.#fault = fault?.message ?? null;
    this.#options.onChange(this);
  }
}

/** Throws ERR_NOT_READY if the profile that the sidecar follows is not known yet. */
export function checkProfileKnown({ status }: LiveClosures): void {
  if (status === null || status.loaded) return;
  const cause = status.fault === null ? "" : `: ${status.fault}`;
  const message = `The profile of the installation is not known yet${cause}. Retry in a moment.`;
  throw new ResolverError("ERR_NOT_READY", message);
}
