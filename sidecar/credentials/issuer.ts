import { ResolverError } from "../../shared/formats/errors.ts";
import type { Denial, Grant, RoleGrant } from "../../shared/core/grant.ts";
import { accountOfARN } from "../../shared/formats/arn.ts";
import type { SessionPolicies } from "../../shared/core/session-policies.ts";
import { isUnrestricted, MAX_CHAINED_SECONDS, type SessionRequest } from "../../shared/core/session.ts";
import { sentBy } from "../../shared/refusals/refused-call.ts";
import type { AuditClient, AuditLog } from "../audit-log.ts";
import type { BaseIdentity, VerifiedBase } from "../base/identity.ts";
import type { ScopedBase } from "../base/scoped-base.ts";
import type { LiveClosures } from "../installed-profile.ts";
import type { SidecarSettings } from "../options.ts";
import type { RepeatEntry } from "../repeat-counter.ts";
import type { STS } from "../sts-upstream/client.ts";
import { RefusedCallError, UpstreamSTSError } from "../sts-upstream/errors.ts";
import type { CredentialCache } from "./cache.ts";
import type { IssuedKind } from "./issued-journal.ts";
import type { IssuedCredentials, StoredKey } from "./issued.ts";
import { SessionLimits } from "./session-limits.ts";
import { type Credentials, type Entry, type Lookup, type SessionGrant, sessionKey } from "./session.ts";

/** The settings of the sidecar on which the issued credentials depend. */
export type IssuerSettings = Pick<
  SidecarSettings, "sessionName" | "region" | "base" | "scopeNamespace" | "allowedAccounts" | "group"
>;

interface IssuerPorts {
  readonly base: BaseIdentity;
  /** Decides whether clients get the credentials of the base identity. */
  readonly profile: Pick<LiveClosures, "closures">;
  /** Limits the credentials of the base identity to the session scope. Absent: they are never limited. */
  readonly scopedBase?: Pick<ScopedBase, "get">;
  readonly sts: Pick<STS, "assumeRole">;
  readonly sessions: CredentialCache;
  readonly issued: Pick<IssuedCredentials, "record" | "accountID">;
  readonly audit: Pick<AuditLog, "obtained" | "issued">;
  /**
   * Whether the role of the grant is granted now. The sidecar does not refresh the session of a role that is not
   * granted. By default, every role is granted.
   */
  readonly isGranted?: (grant: RoleGrant) => boolean;
  readonly onAccountRejected: () => void;
  /** Called when STS rejects a granted role, also for each request that receives a cached rejection. */
  readonly onRefused?: (grant: RoleGrant, error: RefusedCallError) => void;
  /** Called when the sidecar shortens a session to one hour because of role chaining. */
  readonly onDurationCapped?: (roleARN: string, requestedSeconds: number) => void;
}

interface IssueOptions {
  /** How `/sts` treats the issued credentials. The base identity is always recorded as `base`. */
  readonly kind: IssuedKind;
  readonly client: AuditClient;
  readonly requested?: RequestedSession;
  /** Returns true if the client does not receive the credentials, for example because its request timed out. */
  readonly isLate?: () => boolean;
}

/**
 * The session parameters that a client may set. The parameters of a client can only shorten or restrict the session.
 */
interface RequestedSession extends SessionPolicies {
  readonly durationSeconds: number;
}

/** A session of default settings, which all clients of its role share. */
interface SharedSession {
  /** The identity that assumed the role. */
  readonly base: VerifiedBase;
  readonly lookup: Lookup;
}

interface KeyedSession {
  /** Identifies the session and its renewals. */
  readonly sessionKey: string;
  readonly credentials: Credentials;
  /** Absent for a session that clients do not share. */
  readonly shared?: SharedSession;
}

/** All that decides whether a client that got a shared session can get it again. */
export interface SharedIssue extends SharedSession {
  readonly credentials: Credentials;
  readonly entry: Entry;
  readonly stored: StoredKey;
  /** The entry of the audit log that counts the requests of the client. */
  readonly repeats: RepeatEntry;
}

export interface Issued {
  readonly credentials: Credentials;
  /** Null for a session that clients do not share, or a client that the audit log does not tell from others. */
  readonly shared: SharedIssue | null;
}

/**
 * The default session duration, in seconds. Every role allows this duration, even if the role is assumed by role
 * chaining.
 */
const DURATION_SECONDS = MAX_CHAINED_SECONDS;
const DURATION_FIELD = "duration-seconds of the selector";
const DEFAULT_SESSION: RequestedSession = { durationSeconds: DURATION_SECONDS, policy: null, policyARNs: [] };

const PROFILE_CHANGED = "The profile of the installation has changed while the request waited. Retry.";

/** Whether the client receives the session of the default settings, or a shorter part of it. */
function isDefault(requested: RequestedSession): boolean {
  return requested.durationSeconds <= DURATION_SECONDS && isUnrestricted(requested);
}

/** Issues the credentials that a grant allows. Never calls STS for a role that is not granted. */
export class Issuer {
  readonly #settings: IssuerSettings;
  readonly #ports: IssuerPorts;
  readonly #limits: SessionLimits;
  /** The pinned account; null until the first credentials are issued. */
  #account: string | null;

  constructor(settings: IssuerSettings, ports: IssuerPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#limits = new SessionLimits(settings.group, ports.profile);
    // Restores the pinned account, because a restart of the sidecar does not restart the controller, and the controller
    // reads its account only once.
    this.#account = settings.scopeNamespace === null ? null : ports.issued.accountID;
  }

  /**
   * Returns the granted credentials, and records them for `/sts` and in the audit log. Rejects with the reason of a
   * denied grant, or with an STS error.
   */
  async credentialsFor(grant: Grant | SessionGrant, issue: IssueOptions): Promise<Issued> {
    const { kind, client, requested = DEFAULT_SESSION, isLate = () => false } = issue;
    if (grant.verdict === "denied") throw new ResolverError(grant.code, grant.message);
    if (grant.verdict === "role") {
      this.#checkAllowed(grant);
      if (this.#account !== null) this.#checkAccount(accountOfARN(grant.roleARN));
    }
    const session = await this.#session(grant, requested, kind);
    const { credentials } = session;
    // A client whose request timed out does not receive the credentials, so the credentials must not pin the account.
    if (isLate()) return { credentials, shared: null };
    if (kind !== "tool") this.#pinAccount(credentials.accountID);
    const stored = await this.#ports.issued.record(credentials, grant.verdict === "base" ? "base" : kind);
    const repeats = this.#ports.audit.issued({ grant, client, ...session });
    return { credentials, shared: this.#sharedIssue(session, stored, repeats) };
  }

  #sharedIssue({ sessionKey: key, shared, credentials }: KeyedSession, stored: StoredKey, repeats?: RepeatEntry):
    SharedIssue | null {
    const entry = this.#ports.sessions.find(key);
    if (shared === undefined || repeats === undefined || entry === undefined) return null;
    return { ...shared, credentials, entry, stored, repeats };
  }

  async #session(
    grant: Exclude<Grant, Denial> | SessionGrant, requested: RequestedSession, kind: IssuedKind,
  ): Promise<KeyedSession> {
    if (grant.verdict === "role") return this.#roleSession(grant, requested);
    // The base identity of a tool is that of an identity of Cluster API, which has limits of its own.
    if (grant.verdict === "base") return { sessionKey: "base", credentials: await this.#baseSession(kind === "tool") };
    return { sessionKey: grant.sessionKey, credentials: await grant.get() };
  }

  /**
   * Assumes the role but does not issue its credentials. This call has a lower priority than calls for waiting clients.
   */
  async probe(grant: RoleGrant): Promise<void> {
    this.#checkAllowed(grant);
    await this.#roleSession(grant, DEFAULT_SESSION, { isAwaited: false });
  }

  /**
   * Whether the base identity is itself a session. If so, assuming a role is role chaining, and STS limits the session
   * of the role to one hour.
   */
  async isChained(): Promise<boolean> {
    return (await this.#ports.base.whenVerified()).isSession;
  }

  /**
   * Throws if the account of the role is not allowed. The webhook rejects such selectors (IRS-04), but a selector can
   * be older than the webhook's setting.
   */
  #checkAllowed({ roleARN, selectors, owner }: RoleGrant): void {
    const { allowedAccounts } = this.#settings;
    const accountID = accountOfARN(roleARN) ?? "";
    if (allowedAccounts.length === 0 || allowedAccounts.includes(accountID)) return;
    const source = selectors.length === 0 ? `a ${owner.noun}` : `IAMRoleSelector ${selectors.join(", ")}`;
    const message = `The role of ${source} is in account ${accountID}, which is not in --allowed-accounts. `
      + "Use a role of an allowed account, or add the account.";
    throw new ResolverError("ERR_SELECTOR_NOT_GRANTED", message);
  }

  async #baseSession(isExempt: boolean): Promise<Credentials> {
    const { base, profile } = this.#ports;
    const isClosed = (): boolean => profile.closures.base;
    if (isClosed()) return base.getStandIn();
    const credentials = await base.get();
    // The profile can change while the request waits.
    if (isClosed()) return base.getStandIn();
    if (credentials.sessionToken !== null || this.#settings.base === "vend") {
      return isExempt ? credentials : this.#limited(credentials);
    }
    throw new ResolverError(
      "ERR_BASE_LONG_LIVED",
      "The sidecar's base identity is a long-lived access key. " +
        "Configure an IAM role for the sidecar, or set --base vend to issue the key to clients.",
    );
  }

  /** Gets the credentials of the base identity that clients get, if a scope limits them. */
  async warmBase(): Promise<void> {
    const { closures } = this.#ports.profile;
    if (closures.sessionScope && !closures.base) await this.#baseSession(false);
  }

  /** The base identity assumes the granted roles itself, with credentials that are not limited. */
  async #limited(credentials: Credentials): Promise<Credentials> {
    const policies = this.#limits.basePolicies;
    return policies === null ? credentials : await this.#ports.scopedBase?.get(policies) ?? credentials;
  }

  async #roleSession(
    grant: RoleGrant, requested: RequestedSession, { isAwaited } = { isAwaited: true },
  ): Promise<KeyedSession> {
    const { base, sessions, profile } = this.#ports;
    const { closures } = profile;
    // Waits only for the first verification of the base identity. A cached session is returned even if the base
    // identity is unavailable now.
    const verified = await base.whenVerified();
    const { arn, isSession } = verified;
    const request = this.#requestFor(grant, requested, isSession);
    const key = sessionKey(request, { identity: arn, region: this.#settings.region });
    const load = (signal: AbortSignal): Promise<Credentials> => this.#assume(grant, request, signal);
    const isGranted = (): boolean => this.#ports.isGranted?.(grant) ?? true;
    const lookup = { key, grantedBy: grant.grantedBy, isAwaited, load, isGranted, durationField: DURATION_FIELD };
    try {
      const credentials = await sessions.get(lookup);
      if (profile.closures !== closures) throw new ResolverError("ERR_STS_UNAVAILABLE", PROFILE_CHANGED);
      const session = { sessionKey: key, credentials };
      return isDefault(requested) ? { ...session, shared: { base: verified, lookup } } : session;
    } catch (error) {
      if (error instanceof RefusedCallError) this.#ports.onRefused?.(grant, error);
      throw error;
    }
  }

  #requestFor({ roleARN, extras }: RoleGrant, requested: RequestedSession, isChained: boolean): SessionRequest {
    // A client that requests a shorter session receives the shared session, but with an earlier expiration.
    const requestedSeconds = extras.durationSeconds ?? Math.max(requested.durationSeconds, DURATION_SECONDS);
    const isCapped = isChained && requestedSeconds > MAX_CHAINED_SECONDS;
    if (isCapped) this.#ports.onDurationCapped?.(roleARN, requestedSeconds);
    return {
      ...extras, roleARN, sessionName: extras.sessionName ?? this.#settings.sessionName,
      durationSeconds: isCapped ? MAX_CHAINED_SECONDS : requestedSeconds,
      transitiveTagKeys: [], ...this.#limits.policiesFor(extras, requested),
    };
  }

  async #assume(grant: RoleGrant, request: SessionRequest, signal: AbortSignal): Promise<Credentials> {
    const { base, sts, audit } = this.#ports;
    const credentials = await base.get();
    try {
      const session = await sts.assumeRole(credentials, request, signal);
      audit.obtained(grant, session, request);
      return session;
    } catch (error) {
      if (error instanceof ResolverError && error.code === "ERR_BASE_UNAVAILABLE") base.invalidate(credentials);
      if (!(error instanceof UpstreamSTSError)) throw error;
      throw new RefusedCallError({
        action: "AssumeRole", roleARN: grant.roleARN, owner: grant.owner,
        caller: credentials.arn, base: credentials.arn, hasPodTags: base.verified?.hasPodTags ?? false,
        hasIdentityTags: false, sent: sentBy(request),
      }, error);
    }
  }

  #pinAccount(accountID: string): void {
    this.#checkAccount(accountID);
    if (this.#settings.scopeNamespace !== null) this.#account = accountID;
  }

  // A controller reads its account only once, at its start. If the role of the controller moved to a different account,
  // the controller would use the wrong account ID.
  #checkAccount(accountID: string | null): void {
    if (this.#account === null || accountID === this.#account) return;
    this.#ports.onAccountRejected();
    const other = accountID ?? "unknown";
    throw new ResolverError(
      "ERR_SELECTOR_ACCOUNT_PINNED",
      `The role is in account ${other}, but this sidecar already issued credentials of account ${this.#account}. ` +
        "Restart the Pod to change the account.",
    );
  }
}
