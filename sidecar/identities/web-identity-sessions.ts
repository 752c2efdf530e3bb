import { accountOfARN } from "../../shared/formats/arn.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { quote } from "../../shared/formats/text.ts";
import { type Identity, identityKey, type ServiceAccountIdentity } from "../../shared/model/identity.ts";
import type { SessionRequest } from "../../shared/model/session.ts";
import { describeIdentity } from "../../shared/resolution/identity-denials.ts";
import type { CredentialCache } from "../credentials/cache.ts";
import { type Credentials, SessionKeyCache } from "../credentials/session.ts";
import type { RefusedRole } from "../refused-roles/refused-identities.ts";
import type { STS } from "../sts-upstream/client.ts";
import { RetryableSTSError, UpstreamSTSError } from "../sts-upstream/errors.ts";
import type { ServiceAccountTokens, WebIdentityToken } from "./service-account-tokens.ts";
import { type IdentitySessionOptions, sessionRequest } from "./session-request.ts";

/** What the fixes name. All fields are texts for messages. */
interface Facts {
  readonly roleARN: string;
  readonly provider: string;
  readonly audiences: string;
  /** The conditions of the trust policy. */
  readonly claims: string;
}

function accessDenied({ roleARN, provider, claims }: Facts): string {
  return `In the trust policy of ${roleARN}, allow sts:AssumeRoleWithWebIdentity to ${provider}, on condition that `
    + `${claims}.`;
}

function expiredToken(): string {
  return "The sidecar requests a new token for each call. Synchronize the clock of the API server.";
}

/**
 * The fix for each error code that is specific to the action:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 */
const FIXES: ReadonlyMap<string, (facts: Facts) => string> = new Map([
  ["AccessDenied", accessDenied],
  ["AccessDeniedException", accessDenied],
  ["ExpiredToken", expiredToken],
  ["ExpiredTokenException", expiredToken],
  ["IDPRejectedClaim", ({ roleARN, provider, claims }) =>
    `Compare the token with the trust policy of ${roleARN} and with the audiences of ${provider}: ${claims}.`],
  ["InvalidIdentityToken", ({ roleARN, provider, audiences }) =>
    `In account ${accountOfARN(roleARN) ?? ""}, create ${provider}, with the audience ${audiences}. STS must be able `
      + "to read the public keys of the issuer."],
  ["IDPCommunicationError", ({ provider }) =>
    `STS must be able to read the public keys of ${provider}. The sidecar retries with a new token.`],
]);

/**
 * Returns the fix for an error of AssumeRoleWithWebIdentity; "" if the error is not specific to this action. `issuer`
 * is the issuer of the token; "" if it is unknown.
 */
export function webIdentityFix(identity: ServiceAccountIdentity, stsCode: string, issuer: string): string {
  const { namespace, name, roleARN } = identity;
  const audiences = identity.audiences.map(quote).join(" or ");
  const claims = `sub is system:serviceaccount:${namespace}:${name} and aud is ${audiences}`;
  const provider = `the OIDC provider of the ${issuer === "" ? "cluster" : `issuer ${quote(issuer)}`}`;
  return FIXES.get(stsCode)?.({ roleARN: roleARN ?? "", provider, audiences, claims }) ?? "";
}

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
