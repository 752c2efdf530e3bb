import type { ServingPair } from "../../certs/read.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { parseSecret, type StoredCertificates, type StoredLeaf } from "./secret.ts";
import { isRestorable, servingFault } from "./serving.ts";

interface SecretStateOptions {
  readonly hosts: readonly string[];
  readonly nowMs: () => number;
  /** Uses the certificate for new connections. Throws if OpenSSL rejects the certificate. */
  readonly serve: (pair: ServingPair) => void;
  /** Receives each fault of the Secret once, and null when the Secret is valid again. */
  readonly onFault: (fault: string | null) => void;
}

/** What one replica knows about the Secret, and the certificate that the replica serves. */
export class SecretState {
  readonly #options: SecretStateOptions;
  #fault: string | null = null;
  /** The Secret that `stored` was parsed from; null if it does not exist. */
  object: JsonObject | null = null;
  /** The parsed Secret; null until the Secret is read. A Secret that does not exist is parsed as an empty Secret. */
  stored: StoredCertificates | null = null;
  /** The last valid content of the Secret. */
  remembered: StoredCertificates | null = null;
  served: StoredLeaf | null = null;

  constructor(options: SecretStateOptions) {
    this.#options = options;
  }

  /**
   * Parses the Secret if it changed, and serves its certificate unless the served one is better. Call this regularly,
   * because certificates expire. `object` is null if the Secret does not exist, and undefined if it was never read.
   */
  update(object: JsonObject | null | undefined): void {
    if (object === undefined) return;
    const { hosts, nowMs } = this.#options;
    if (object !== this.object || this.stored === null) {
      this.object = object;
      this.stored = parseSecret(object ?? {}, hosts);
    }
    if (isRestorable(this.stored, nowMs())) this.remembered = this.stored;
    this.#report(servingFault(this.stored, this.served, nowMs()) ?? this.#serve(this.stored));
  }

  /** Whether this replica can write the last valid content again. */
  get canRestore(): boolean {
    return isRestorable(this.remembered, this.#options.nowMs());
  }

  #serve({ leaf, faults }: StoredCertificates): string | null {
    if (leaf !== null && leaf.cert !== this.served?.cert) {
      try {
        const { cert, key, notAfterMs } = leaf;
        this.#options.serve({ cert, key, notAfter: new Date(notAfterMs) });
      } catch {
        // Omits the message of OpenSSL, which could contain the key.
        return "tls.crt, tls.key: rejected by OpenSSL";
      }
      this.served = leaf;
    }
    return faults.length === 0 ? null : faults.join("; ");
  }

  #report(fault: string | null): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#options.onFault(fault);
  }
}
