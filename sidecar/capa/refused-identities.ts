import { describeIdentity } from "../../shared/core/capa-kinds.ts";
import type { SteadyClock } from "../../shared/core/clock.ts";
import {
  type Identity, identityKey, type RoleIdentity, type ServiceAccountIdentity,
} from "../../shared/capa/identity.ts";
import { BoundedMap } from "../../shared/server/bounded-map.ts";
import type { RefusedCall } from "../../shared/refusals/refused-call.ts";
import { RefusedCallError, type UpstreamSTSError } from "../sts-upstream/errors.ts";

/** An identity whose role STS rejected. */
export interface RefusedRole {
  readonly identity: RoleIdentity | ServiceAccountIdentity;
  /** Returns the error with the ARN of the caller, for which the sidecar may have to ask STS. */
  readonly error: () => Promise<RefusedCallError>;
}

/** The error of a chain in which STS rejected the role of one identity. */
export class RefusedRoleError extends RefusedCallError {
  /** The identity whose role STS rejected, which can be a source of the requested identity. */
  readonly identity: RoleIdentity | ServiceAccountIdentity;

  constructor(identity: RoleIdentity | ServiceAccountIdentity, call: RefusedCall, cause: UpstreamSTSError) {
    super(call, cause, `${describeIdentity(identity)} cannot be assumed: `);
    this.identity = identity;
  }
}

interface RefusedIdentitiesPorts {
  readonly clock: Pick<SteadyClock, "steady">;
  /** Whether the inventory contains the identity without a change. */
  readonly isCurrent: (identity: Identity) => boolean;
}

interface Refusal {
  readonly identity: Identity;
  /** The steady time of the last rejected call. */
  readonly atMs: number;
}

/** How long an identity counts as refused after a rejected call, in ms. By default, an Event lives as long. */
const REFUSED_MS = 60 * 60_000;
const MAX_IDENTITIES = 10_000;

/**
 * The identities whose role STS rejected in the last call. An identity is removed when its role is assumed or when it
 * changes, and one hour after the last call, because its role may never be requested again.
 */
export class RefusedIdentities {
  readonly #ports: RefusedIdentitiesPorts;
  /** By the key of the identity. */
  readonly #refused = new BoundedMap<string, Refusal>(MAX_IDENTITIES);

  constructor(ports: RefusedIdentitiesPorts) {
    this.#ports = ports;
  }

  add(identity: Identity): void {
    this.#refused.set(identityKey(identity), { identity, atMs: this.#ports.clock.steady() });
  }

  remove(identity: Identity): void {
    this.#refused.delete(identityKey(identity));
  }

  has(identity: Identity): boolean {
    const refusal = this.#refused.get(identityKey(identity));
    return refusal !== undefined && this.#isCurrent(refusal);
  }

  get size(): number {
    for (const [key, refusal] of this.#refused) if (!this.#isCurrent(refusal)) this.#refused.delete(key);
    return this.#refused.size;
  }

  #isCurrent({ identity, atMs }: Refusal): boolean {
    const { clock, isCurrent } = this.#ports;
    return clock.steady() - atMs < REFUSED_MS && isCurrent(identity);
  }
}
