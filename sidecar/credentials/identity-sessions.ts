import { ResolverError } from "../../shared/decisions/errors.ts";
import type { IdentityGrant } from "../../shared/decisions/grants/by-identity.ts";
import { describeIdentity } from "../../shared/decisions/identities/denials.ts";
import type { Identity, RoleIdentity, StaticIdentity } from "../../shared/decisions/identities/identity.ts";
import { chainedDurationDenial } from "../../shared/decisions/identities/role-session.ts";
import { MAX_CHAINED_SECONDS, type SessionRequest } from "../../shared/decisions/selectors/session.ts";
import type { BaseIdentity } from "../base/identity.ts";
import type { STS } from "../sts-upstream/client.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";
import type { CredentialCache } from "./cache.ts";
import { SessionKeyCache } from "./session-key.ts";
import type { Credentials, SigningCredentials } from "./session.ts";

interface IdentitySessionsPorts {
  readonly base: Pick<BaseIdentity, "get" | "whenVerified" | "invalidate">;
  readonly sts: Pick<STS, "assumeRole">;
  readonly sessions: Pick<CredentialCache, "get" | "evict">;
  /** Whether the inventory contains exactly this identity. A changed identity is a different object. */
  readonly isCurrent: (identity: Identity) => boolean;
}

interface IdentitySessionsOptions {
  /** The session name of a role identity that has no session name. */
  readonly sessionName: string;
  /** The Region of STS; null for a custom endpoint. */
  readonly region: string | null;
}

/** The credentials that sign the next call in a chain of identities. */
interface Signer<T extends SigningCredentials = SigningCredentials> {
  /** Identifies the credentials in a session key. Contains no secret. */
  readonly key: string;
  readonly isSession: boolean;
  readonly credentials: () => Promise<T>;
  /** Whether the identities and the Secret that provide the credentials are unchanged. */
  readonly isCurrent: () => boolean;
  /** Evicts credentials that STS rejected. Returns the error for the client. */
  readonly onRejected: (error: ResolverError, rejected: SigningCredentials) => ResolverError;
}

/**
 * Provides sessions of CAPA identities. Each role of a chain is a cached session, and the current session of its source
 * signs each of its calls. The key of a session contains the key of its source, so a change of an identity affects only
 * the sessions that are created from it.
 */
export class IdentitySessions {
  readonly #options: IdentitySessionsOptions;
  readonly #ports: IdentitySessionsPorts;
  readonly #keys = new SessionKeyCache();

  constructor(options: IdentitySessionsOptions, ports: IdentitySessionsPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /** Returns the credentials of the granted identity. Rejects with ERR_IDENTITY_* or with an STS error. */
  async get({ source, roles }: IdentityGrant): Promise<Credentials> {
    if (source !== null) throw noSecrets(source);
    const first = await this.#baseSigner();
    const [role, ...others] = roles;
    if (role === undefined) return this.#ports.base.get();
    const denial = first.isSession ? chainedDurationDenial(role) : null;
    if (denial !== null) throw new ResolverError(denial.code, denial.message);
    const initial = this.#roleSigner(first, role);
    return others.reduce((signer, next) => this.#roleSigner(signer, next), initial).credentials();
  }

  async #baseSigner(): Promise<Signer> {
    const { base } = this.#ports;
    const { arn, isSession } = await base.whenVerified();
    return {
      key: arn, isSession, credentials: () => base.get(), isCurrent: () => true,
      onRejected(error, rejected) {
        base.invalidate(rejected);
        return error;
      },
    };
  }

  /** Returns the session of the role, which `signer` assumes. */
  #roleSigner(signer: Signer, role: RoleIdentity): Signer<Credentials> {
    const { sessions, isCurrent } = this.#ports;
    const request = this.#requestFor(role);
    const key = this.#keys.keyOf(role, request, { identity: signer.key, region: this.#options.region });
    const isGranted = (): boolean => isCurrent(role) && signer.isCurrent();
    const call = (source: SigningCredentials, signal: AbortSignal): Promise<Credentials> =>
      this.#assume({ role, request, signer }, source, signal);
    const load = { source: signer.credentials, call };
    return {
      key, isSession: true, isCurrent: isGranted,
      credentials: () => sessions.get({ key, grantedBy: role, load, isGranted }),
      onRejected({ message }) {
        sessions.evict(key);
        const text = `STS rejected the session of ${describeIdentity(role)}, which is the source of the role.`;
        return new ResolverError("ERR_STS_UNAVAILABLE", `${text} ${message} Retry the request.`);
      },
    };
  }

  #requestFor(role: RoleIdentity): SessionRequest {
    return {
      roleARN: role.roleARN ?? "",
      sessionName: role.sessionName ?? this.#options.sessionName,
      durationSeconds: role.durationSeconds ?? MAX_CHAINED_SECONDS,
      externalID: role.externalID,
      sourceIdentity: null,
      tags: role.tags,
      transitiveTagKeys: role.transitiveTags,
      policy: role.inlinePolicy,
      policyARNs: role.policyARNs,
    };
  }

  async #assume(
    { role, request, signer }: { role: RoleIdentity; request: SessionRequest; signer: Signer },
    source: SigningCredentials, signal: AbortSignal,
  ): Promise<Credentials> {
    try {
      return await this.#ports.sts.assumeRole(source, request, signal);
    } catch (error) {
      if (error instanceof UpstreamSTSError) {
        throw new UpstreamSTSError(`${describeIdentity(role)} cannot be assumed: ${error.message}`, error);
      }
      const isRejected = error instanceof ResolverError && error.code === "ERR_BASE_UNAVAILABLE";
      throw isRejected ? signer.onRejected(error, source) : error;
    }
  }
}

function noSecrets(identity: StaticIdentity): ResolverError {
  const message = `${describeIdentity(identity)} cannot be used: the sidecar does not read Secrets. `
    + "Use an AWSClusterControllerIdentity as the source.";
  return new ResolverError("ERR_IDENTITY_SECRET", message);
}
