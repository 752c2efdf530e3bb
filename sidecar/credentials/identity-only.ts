import type { Clock } from "../../shared/clock.ts";
import type { BaseIdentity } from "../base/identity.ts";
import { makeKeys } from "../sts/signature.ts";
import type { CallerIdentity, Credentials } from "./session.ts";

interface IdentityOnlyPorts {
  readonly base: Pick<BaseIdentity, "get">;
  readonly clock: Pick<Clock, "now">;
  readonly randomBytes: (size: number) => Buffer;
}

const LIFE_MS = 60 * 60_000;
/**
 * The age at which keys are replaced, in ms. New keys exist before any SDK refreshes its keys, because SDKs refresh at
 * most 15 minutes before the expiration.
 */
const RENEW_AT_MS = LIFE_MS / 2;
const MIN_LIFE_MS = 60_000;

/**
 * Issues keys that stand for the base identity but are valid only at this sidecar's `/sts`. With such a key, a client
 * can assume the granted roles at `/sts`. AWS rejects these keys.
 */
export class IdentityOnlyKeys {
  readonly #ports: IdentityOnlyPorts;
  #keys: { readonly credentials: Credentials; readonly expirationMs: number } | null = null;

  constructor(ports: IdentityOnlyPorts) {
    this.#ports = ports;
  }

  /**
   * Returns keys that are valid for at least 60 s. If no such keys exist and the base identity is unavailable, rejects
   * with the error of the base identity.
   */
  async get(): Promise<Credentials> {
    const cached = this.#withLife(LIFE_MS - RENEW_AT_MS);
    if (cached !== null) return cached;
    try {
      const { accountID, arn, userID } = await this.#ports.base.get();
      // A concurrent request may have generated new keys during the wait.
      return this.#withLife(LIFE_MS - RENEW_AT_MS) ?? this.#make({ accountID, arn, userID });
    } catch (error) {
      const last = this.#withLife(MIN_LIFE_MS);
      if (last !== null) return last;
      throw error;
    }
  }

  /** Returns the current keys if they are valid for more than `lifeMs`; otherwise null. */
  #withLife(lifeMs: number): Credentials | null {
    const keys = this.#keys;
    return keys !== null && keys.expirationMs - this.#ports.clock.now() > lifeMs ? keys.credentials : null;
  }

  #make(identity: CallerIdentity): Credentials {
    const expirationMs = this.#ports.clock.now() + LIFE_MS;
    const credentials = { ...makeKeys(this.#ports.randomBytes), ...identity, expirationMs };
    this.#keys = { credentials, expirationMs };
    return credentials;
  }
}
