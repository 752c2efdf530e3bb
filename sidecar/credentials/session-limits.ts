import { INFRASTRUCTURE_GROUP } from "../../shared/core/capa-kinds.ts";
import { defaultScope } from "../../shared/core/closures.ts";
import { combinedPolicies, type SessionPolicies } from "../../shared/core/session-policies.ts";
import { scopeOf, type SessionScope } from "../../shared/core/session-scope.ts";
import { isUnrestricted, NO_EXTRAS, type SessionExtras } from "../../shared/core/session.ts";
import type { LiveClosures } from "../installed-profile.ts";

/** What limits the sessions that a sidecar issues: session policies, and what its controllers need. */
export class SessionLimits {
  readonly #groups: readonly string[];
  /** Whether the sidecar also serves Cluster API, which needs more than any controller of ACK. */
  readonly #isMixed: boolean;
  readonly #profile: Pick<LiveClosures, "closures">;
  /** Null until a session is limited to it. */
  #scope: SessionScope | null = null;
  /** The scope alone, which most sessions send. */
  #alone: SessionPolicies | null = null;

  constructor(groups: readonly string[], profile: Pick<LiveClosures, "closures">) {
    // Cluster API has no row in the table: its identities limit their sessions themselves.
    this.#groups = groups.filter((group) => group !== INFRASTRUCTURE_GROUP);
    this.#isMixed = this.#groups.length < groups.length;
    this.#profile = profile;
  }

  /**
   * Returns the session policies of a role session. Throws ERR_SESSION_POLICY or ERR_SESSION_SCOPE if STS cannot limit
   * the session to what the selector, the request and the scope allow.
   */
  policiesFor(extras: SessionExtras, requested: SessionPolicies): SessionPolicies {
    const name = extras.scope ?? defaultScope(this.#profile.closures);
    const scope = name === "none" ? null : this.#serviceScope();
    if (scope !== null && isUnrestricted(extras) && isUnrestricted(requested)) return this.#scopeAlone(scope);
    const { policy, policyARNs } = combinedPolicies(extras, requested, scope);
    return { policy, policyARNs };
  }

  /** Returns the session policies of the base identity for clients; null if nothing limits it. Throws as above. */
  get basePolicies(): SessionPolicies | null {
    const isLimited = !this.#isMixed && defaultScope(this.#profile.closures) === "service";
    const scope = isLimited ? this.#serviceScope() : null;
    return scope === null ? null : this.#scopeAlone(scope);
  }

  #scopeAlone(scope: SessionScope): SessionPolicies {
    this.#alone ??= combinedPolicies(NO_EXTRAS, NO_EXTRAS, scope);
    return this.#alone;
  }

  #serviceScope(): SessionScope | null {
    if (this.#groups.length > 0) this.#scope ??= scopeOf(this.#groups);
    return this.#scope;
  }
}
