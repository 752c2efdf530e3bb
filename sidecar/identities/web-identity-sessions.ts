import { ResolverError } from "../../shared/decisions/errors.ts";
import { describeIdentity } from "../../shared/decisions/identities/denials.ts";
import {
  type Identity, identityKey, type ServiceAccountIdentity,
} from "../../shared/decisions/identities/identity.ts";
import type { SessionRequest } from "../../shared/decisions/selectors/session.ts";
import type { ServiceAccountTokens, WebIdentityToken } from "./service-account-tokens.ts";
import type { STS } from "../sts-upstream/client.ts";
import { RetryableSTSError, UpstreamSTSError } from "../sts-upstream/errors.ts";
import { webIdentityFix } from "./web-identity-fix.ts";
import type { CredentialCache } from "../credentials/cache.ts";
import type { RefusedRole } from "./refused-role.ts";
import { type IdentitySessionOptions, sessionRequest } from "./session-request.ts";
import { SessionKeyCache } from "../credentials/session-key.ts";
import type { Credentials } from "../credentials/session.ts";

interface WebIdentitySessionsPorts {
  readonly sts: Pick<STS, "assumeRoleWithWebIdentity">;
  /** Null if the sidecar has no API server, because it reads manifests. */
  readonly tokens: Pick<ServiceAccountTokens, "request"> | null;
  readonly sessions: Pick<CredentialCache, "get">;
  /** Whether the inventory contains the identity without a change. */
  readonly isCurrent: (identity: Identity) => boolean;
  /** Called after each call for which STS rejected the role. */
  readonly onRefused?: (refused: RefusedRole, error: UpstreamSTSError) => void;
  /** Called after each call that returned a session of the role. */
  readonly onAssumed?: (identity: ServiceAccountIdentity) => void;
}

/**
 * Provides sessions of service account identities. Each STS call uses a new token of the ServiceAccount, so a session
 * and its refreshes never depend on the lifetime of a token.
 */
export class WebIdentitySessions {
  readonly #options: IdentitySessionOptions;
  readonly #ports: WebIdentitySessionsPorts;
  readonly #keys = new SessionKeyCache();

  constructor(options: IdentitySessionOptions, ports: WebIdentitySessionsPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /**
   * Returns the session of the granted identity. Rejects with ERR_IDENTITY_TOKEN or with an STS error. The rate limiter
   * prefers calls for which a client waits (`isAwaited`).
   */
  async get(identity: ServiceAccountIdentity, isAwaited = true): Promise<Credentials> {
    const { sessions, tokens, isCurrent } = this.#ports;
    if (tokens === null) throw noAPIServer(identity);
    const request = sessionRequest(identity, this.#options);
    const caller = {
      identity: tokenKey(identity), region: this.#options.region, owner: identityKey(identity),
    };
    const key = this.#keys.keyOf(identity, request, caller);
    return sessions.get({
      key,
      grantedBy: identity,
      isAwaited,
      isGranted: () => isCurrent(identity),
      load: {
        prepare: async () => {
          const token = await tokens.request(identity);
          return (signal) => this.#assume({ identity, request, token }, signal);
        },
      },
    });
  }

  async #assume(
    { identity, request, token: { token, issuer } }: WebIdentityCall, signal: AbortSignal,
  ): Promise<Credentials> {
    const { sts, onAssumed, onRefused } = this.#ports;
    try {
      const credentials = await sts.assumeRoleWithWebIdentity(token, request, signal);
      onAssumed?.(identity);
      return credentials;
    } catch (error) {
      if (!(error instanceof UpstreamSTSError || error instanceof RetryableSTSError)) throw error;
      const fix = webIdentityFix(identity, error.stsCode, issuer);
      const message = `The role of ${describeIdentity(identity)} cannot be assumed: ${error.message} ${fix}`.trimEnd();
      if (error instanceof RetryableSTSError) throw new RetryableSTSError(message, error.stsCode);
      onRefused?.({ identity, fix }, error);
      throw new UpstreamSTSError(message, error);
    }
  }
}

interface WebIdentityCall {
  readonly identity: ServiceAccountIdentity;
  readonly request: SessionRequest;
  readonly token: WebIdentityToken;
}

/** Returns the part of the session key that stands for the token. It differs from the ARN of a base identity. */
function tokenKey({ uid, audiences, expirationSeconds }: ServiceAccountIdentity): string {
  return JSON.stringify([uid, audiences, expirationSeconds]);
}

function noAPIServer(identity: ServiceAccountIdentity): ResolverError {
  const message = `${describeIdentity(identity)} cannot be used: with --from, the sidecar has no API server that `
    + "issues tokens of ServiceAccounts. Use --cluster.";
  return new ResolverError("ERR_IDENTITY_TOKEN", message);
}
