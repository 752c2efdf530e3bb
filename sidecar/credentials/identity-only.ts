import type { Clock } from "../../shared/inventory/clock.ts";
import type { BaseIdentity } from "../base/identity.ts";
import { makeKeys } from "../sts/signature.ts";
import type { Credentials } from "./session.ts";

export interface IdentityOnlyPorts {
  readonly base: Pick<BaseIdentity, "get">;
  readonly clock: Pick<Clock, "now">;
  readonly randomBytes: (size: number) => Buffer;
}

const LIFE_MS = 60 * 60_000;
/** Those who renew early, up to 15 minutes before the end, find new ones in time. */
const RENEW_AT_MS = LIFE_MS / 2;
const LEAST_LIFE_MS = 60_000;

/**
 * Keys in the name of the base identity that work on this sidecar's `/sts` alone: whoever holds them can be what is granted here, and
 * at AWS itself is nobody.
 */
export class IdentityOnlyKeys {
  readonly #ports: IdentityOnlyPorts;
  #keys: { readonly credentials: Credentials; readonly expirationMs: number } | null = null;

  constructor(ports: IdentityOnlyPorts) {
    this.#ports = ports;
  }

  /** Rejects as the base identity does, while nobody knows yet in whose name they would be. */
  async get(): Promise<Credentials> {
    const kept = this.#kept(LIFE_MS - RENEW_AT_MS);
    if (kept !== null) return kept;
    try {
      const { accountID, arn, userID } = await this.#ports.base.get();
      // Somebody else who waited may have made them.
      return this.#kept(LIFE_MS - RENEW_AT_MS) ?? this.#make({ accountID, arn, userID });
    } catch (error) {
      const last = this.#kept(LEAST_LIFE_MS);
      if (last !== null) return last;
      throw error;
    }
  }

  #kept(lifeMs: number): Credentials | null {
    const keys = this.#keys;
    return keys !== null && keys.expirationMs - this.#ports.clock.now() > lifeMs ? keys.credentials : null;
  }

  #make(identity: Pick<Credentials, "accountID" | "arn" | "userID">): Credentials {
    const expirationMs = this.#ports.clock.now() + LIFE_MS;
    const credentials = { ...makeKeys(this.#ports.randomBytes), ...identity, expirationMs };
    this.#keys = { credentials, expirationMs };
    return credentials;
  }
}
