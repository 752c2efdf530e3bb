import type { IdentityStore } from "../../shared/capa/identities.ts";
import { isDeepStrictEqual } from "node:util";
import { describeIdentity, SERVICE_ACCOUNT_IDENTITY } from "../../shared/core/capa-kinds.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import {
  type Identity, identityKey, type RoleIdentity, type ServiceAccountIdentity, type StaticIdentity,
} from "../../shared/capa/identity.ts";
import type { SessionRequest } from "../../shared/core/session.ts";
import type { IdentityGrant } from "../../shared/capa/grant-by-identity.ts";
import { chainedDurationDenial } from "../../shared/capa/role-session.ts";
import { refusalText } from "../../shared/refusals/refusal-text.ts";
import type { RefusedAssumeRole } from "../../shared/refusals/refused-call.ts";
import type { BaseIdentity } from "../base/identity.ts";
import type { CredentialCache } from "../credentials/cache.ts";
import { type Credentials, type Load, sessionKey, type SigningCredentials } from "../credentials/session.ts";
import { type RefusedRole, RefusedRoleError } from "./refused-identities.ts";
import type { SidecarSettings } from "../options.ts";
import type { STS } from "../sts-upstream/client.ts";
import { DeniedCallerError, RejectedSignerError, RetryableSTSError, UpstreamSTSError } from "../sts-upstream/errors.ts";
import type { IdentitySecrets, StaticKey } from "./access-keys.ts";
import { durationField, roleCall, sessionRequest, tokenCall } from "./session-calls.ts";
import type { ServiceAccountTokens, WebIdentityToken } from "./service-account-tokens.ts";

/** The session name is that of an identity that has none. The Region of STS is null for a custom endpoint. */
type IdentitySessionOptions = Pick<SidecarSettings, "sessionName" | "region">;

/** Whether the inventory contains the identity, and no change of it except for its metadata. */
export function isCurrentIdentity(identities: Pick<IdentityStore, "get">, identity: Identity): boolean {
  const current = identities.get(identity, identity.namespace);
  return isDeepStrictEqual({ ...current, resourceVersion: null }, { ...identity, resourceVersion: null });
}

interface IdentitySessionsPorts {
  readonly base: Pick<BaseIdentity, "get" | "whenVerified" | "invalidate">;
  readonly sts: Pick<STS, "assumeRole" | "assumeRoleWithWebIdentity" | "callerIdentity">;
  /** The access keys of static identities; null if the sidecar does not read Secrets. */
  readonly secrets: Pick<IdentitySecrets, "get" | "isCurrent" | "learn"> | null;
  /** The tokens of service account identities; null if the sidecar has no API server, because it reads manifests. */
  readonly tokens: Pick<ServiceAccountTokens, "request"> | null;
  readonly sessions: Pick<CredentialCache, "get" | "evict">;
  /** Whether the inventory contains the identity without a change. */
  readonly isCurrent: (identity: Identity) => boolean;
  /** Called after each call for which STS rejected the role. */
  readonly onRefused?: (refused: RefusedRole) => void;
  /** Called with each session of a role that STS returned. */
  readonly onAssumed?: (identity: Identity, session: Credentials) => void;
}

/** What policies see of the credentials that sign a call. */
interface SigningCaller extends Pick<RefusedAssumeRole, "base" | "hasPodTags" | "hasIdentityTags"> {
  /** The ARN that a trust policy names; null if it is unknown. */
  readonly arn: string | null;
  /** Returns the ARN, for which the sidecar may have to ask STS. Rejects if it stays unknown. */
  readonly findARN: () => Promise<string | null>;
}

/** The credentials that sign the next call in a chain of identities. */
interface Signer<T extends SigningCredentials = SigningCredentials> {
  /** Identifies the credentials in a session key. Contains no secret. */
  readonly key: string;
  readonly isSession: boolean;
  readonly caller: SigningCaller;
  readonly credentials: () => Promise<T>;
  /** Whether the identities and the Secret that provide the credentials are unchanged. */
  readonly isCurrent: () => boolean;
  /** Evicts credentials that STS rejected. Returns the error for the client. */
  readonly onRejected: (error: RejectedSignerError, rejected: SigningCredentials) => ResolverError;
}

/**
 * Provides sessions of CAPA identities. Each role of a chain is a cached session, and the current session of its source
 * signs each of its calls. The key of a session contains the key of its source, so a change of an identity affects only
 * the sessions that are created from it.
 */
export class IdentitySessions {
  readonly #options: IdentitySessionOptions;
  readonly #ports: IdentitySessionsPorts;

  constructor(options: IdentitySessionOptions, ports: IdentitySessionsPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /**
   * Returns the credentials of the granted identity. Rejects with ERR_IDENTITY_* or with an STS error. The rate limiter
   * prefers calls for which a client waits (`isAwaited`).
   */
  async get({ source, roles }: IdentityGrant, { isAwaited } = { isAwaited: true }): Promise<Credentials> {
    if (source?.kind === SERVICE_ACCOUNT_IDENTITY) return this.#webIdentitySession(source, isAwaited);
    const first = source === null ? await this.#baseSigner() : await this.#staticSigner(source);
    const [role, ...others] = roles;
    if (role === undefined) return source === null ? this.#ports.base.get() : this.#staticSession(source);
    const denial = first.isSession ? chainedDurationDenial(role) : null;
    if (denial !== null) throw new ResolverError(denial.code, denial.message);
    const initial = this.#roleSigner(first, role, isAwaited);
    return others.reduce((signer, next) => this.#roleSigner(signer, next, isAwaited), initial).credentials();
  }

  async #baseSigner(): Promise<Signer> {
    const { base } = this.#ports;
    const { arn, isSession, hasPodTags } = await base.whenVerified();
    return {
      key: arn, isSession, caller: { arn, base: arn, hasPodTags, hasIdentityTags: false, findARN: async () => arn },
      credentials: () => base.get(), isCurrent: () => true,
      onRejected(error, rejected) {
        base.invalidate(rejected);
        return error;
      },
    };
  }

  async #staticSigner(identity: StaticIdentity): Promise<Signer> {
    const key = await this.#staticKey(identity);
    const credentials = signingCredentials(key);
    return {
      key: staticSessionKey(identity, key), isSession: key.sessionToken !== null, credentials: async () => credentials,
      caller: {
        arn: null, base: null, hasPodTags: false, hasIdentityTags: false,
        findARN: async () => (await this.#staticSession(identity)).arn,
      },
      isCurrent: () => this.#isCurrentKey(identity, key),
      onRejected: (error) => rejectedKey(identity, error),
    };
  }

  #staticKey(identity: StaticIdentity): Promise<StaticKey> {
    const { secrets } = this.#ports;
    return secrets === null ? Promise.reject(noSecrets(identity)) : secrets.get(identity);
  }

  /** Whether neither the identity nor the content of its Secret has changed. */
  #isCurrentKey(identity: StaticIdentity, key: StaticKey): boolean {
    return this.#ports.isCurrent(identity) && this.#ports.secrets?.isCurrent(identity, key) === true;
  }

  /**
   * Returns the access key of the identity, with the account of the access key, which STS returns. Each refresh calls
   * STS again, because an access key can be deleted in IAM while it is in the Secret.
   */
  async #staticSession(identity: StaticIdentity): Promise<Credentials> {
    const { sessions, sts, secrets } = this.#ports;
    const key = await this.#staticKey(identity);
    const credentials = signingCredentials(key);
    return sessions.get({
      key: staticSessionKey(identity, key),
      grantedBy: identity,
      isGranted: () => this.#isCurrentKey(identity, key),
      load: async (signal) => {
        try {
          const caller = await sts.callerIdentity(credentials, signal);
          secrets?.learn(identity, key, caller.accountID);
          return { ...credentials, ...caller };
        } catch (error) {
          const isRejected = error instanceof RejectedSignerError || error instanceof UpstreamSTSError;
          throw isRejected ? rejectedKey(identity, error) : error;
        }
      },
    });
  }

  /**
   * Returns the session of a service account identity. Each STS call uses a new token of the ServiceAccount, so a
   * session and its refreshes never depend on the lifetime of a token.
   */
  async #webIdentitySession(identity: ServiceAccountIdentity, isAwaited: boolean): Promise<Credentials> {
    const { sessions, tokens, isCurrent } = this.#ports;
    if (tokens === null) throw noAPIServer(identity);
    const { uid, audiences, expirationSeconds } = identity;
    // Stands for the token. It differs from the ARN of a base identity.
    const { key, request } = this.#session(identity, JSON.stringify([uid, audiences, expirationSeconds]));
    const prepare = async (): Promise<Load> => {
      const token = await tokens.request(identity);
      return (signal) => this.#assumeWithToken({ identity, request, token }, signal);
    };
    const isGranted = (): boolean => isCurrent(identity);
    const lookup = { key, grantedBy: identity, isAwaited, isGranted, durationField: durationField(identity) };
    return sessions.get({ ...lookup, load: { prepare } });
  }

  /** Returns the request of the session, and its key. `signer` identifies the credentials or token of the call. */
  #session(
    identity: RoleIdentity | ServiceAccountIdentity, signer: string,
  ): { readonly key: string; readonly request: SessionRequest } {
    const { sessionName, region } = this.#options;
    const request = sessionRequest(identity, sessionName);
    // Identities never share a session, so that a change of one identity affects no session of another.
    const caller = { identity: signer, region, owner: identityKey(identity) };
    return { request, key: sessionKey(request, caller) };
  }

  /** Returns the session of the role, which `signer` assumes. */
  #roleSigner(signer: Signer, role: RoleIdentity, isAwaited: boolean): Signer<Credentials> {
    const { sessions } = this.#ports;
    const { key, request } = this.#session(role, signer.key);
    const isGranted = (): boolean => this.#ports.isCurrent(role) && signer.isCurrent();
    const load = {
      prepare: async (): Promise<Load> => {
        const source = await signer.credentials();
        return (signal) => this.#assume({ role, request, signer }, source, signal);
      },
    };
    return {
      key, isSession: true, isCurrent: isGranted,
      caller: {
        ...signer.caller, arn: role.roleARN, findARN: async () => role.roleARN,
        hasIdentityTags: signer.caller.hasIdentityTags || role.transitiveTags.length > 0,
      },
      credentials: () => sessions.get({
        key, grantedBy: role, load, isGranted, isAwaited, durationField: durationField(role),
      }),
      onRejected({ response }) {
        sessions.evict(key);
        const text = `STS rejected the session of ${describeIdentity(role)}, which is the source of the role.`;
        // STS responded, so this error must not open the circuit.
        return new RetryableSTSError(`${text} ${response} Retry the request.`);
      },
    };
  }

  async #assume(
    { role, request, signer }: { role: RoleIdentity; request: SessionRequest; signer: Signer },
    source: SigningCredentials, signal: AbortSignal,
  ): Promise<Credentials> {
    const { sts, onRefused, onAssumed } = this.#ports;
    try {
      const credentials = await sts.assumeRole(source, request, signal);
      onAssumed?.(role, credentials);
      return credentials;
    } catch (error) {
      if (error instanceof UpstreamSTSError) {
        const { findARN, arn, ...caller } = signer.caller;
        const refusedBy = (named: string | null): RefusedRoleError => (
          new RefusedRoleError(role, roleCall(request, { ...caller, caller: named }), error)
        );
        onRefused?.({ identity: role, error: async () => refusedBy(await findARN().catch(() => null)) });
        throw refusedBy(arn);
      }
      throw error instanceof RejectedSignerError ? signer.onRejected(error, source) : error;
    }
  }

  async #assumeWithToken({ identity, request, token }: WebIdentityCall, signal: AbortSignal): Promise<Credentials> {
    const { sts, onRefused, onAssumed } = this.#ports;
    try {
      const credentials = await sts.assumeRoleWithWebIdentity(token.token, request, signal);
      onAssumed?.(identity, credentials);
      return credentials;
    } catch (error) {
      const call = tokenCall(identity, token.issuer);
      if (error instanceof RetryableSTSError) {
        const { stsCode: code, message } = error;
        const text = `${describeIdentity(identity)} cannot be assumed: ${refusalText({ code, message }, call)}`;
        throw new RetryableSTSError(text, code);
      }
      if (!(error instanceof UpstreamSTSError)) throw error;
      const refused = new RefusedRoleError(identity, call, error);
      onRefused?.({ identity, error: async () => refused });
      throw refused;
    }
  }
}

interface WebIdentityCall {
  readonly identity: ServiceAccountIdentity;
  readonly request: SessionRequest;
  readonly token: WebIdentityToken;
}

function noSecrets(identity: StaticIdentity): ResolverError {
  const message = `${describeIdentity(identity)} cannot be used: the sidecar does not read Secrets. `
    + "Set --identity-secret-namespace to the namespace of CAPA; it requires --cluster.";
  return new DeniedCallerError("ERR_IDENTITY_SECRET", message);
}

function noAPIServer(identity: ServiceAccountIdentity): ResolverError {
  const message = `${describeIdentity(identity)} cannot be used: with --from, the sidecar has no API server that `
    + "issues tokens of ServiceAccounts. Use --cluster.";
  return new DeniedCallerError("ERR_IDENTITY_TOKEN", message);
}

/** Omits the message of STS, which describes the base identity. */
function rejectedKey(identity: StaticIdentity, cause: ResolverError): ResolverError {
  const message = `STS rejected the access key in the Secret of ${describeIdentity(identity)}. `
    + "Write a valid access key to the Secret.";
  return new DeniedCallerError("ERR_IDENTITY_SECRET", message, { cause });
}

function signingCredentials({ accessKeyID, secretAccessKey, sessionToken }: StaticKey): SigningCredentials {
  return { accessKeyID, secretAccessKey, sessionToken, expirationMs: null };
}

/** Returns a key whose first part, the role ARN, is empty. */
function staticSessionKey(identity: StaticIdentity, { digest }: StaticKey): string {
  return JSON.stringify(["", identityKey(identity), digest]);
}
