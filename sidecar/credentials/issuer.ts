import { ResolverError } from "../../shared/decisions/errors.ts";
import type { Grant, RoleGrant } from "../../shared/decisions/grants/grant.ts";
import { accountOfARN } from "../../shared/decisions/kubernetes/arn.ts";
import { CHAINED_SECONDS, type SessionRequest } from "../../shared/decisions/selectors/session.ts";
import type { BaseIdentity } from "../base/identity.ts";
import type { STS } from "../sts-upstream/client.ts";
import type { CredentialCache } from "./cache.ts";
import type { IdentityOnlyKeys } from "./identity-only.ts";
import type { IssuedKind } from "./issued-journal.ts";
import type { IssuedCredentials } from "./issued.ts";
import { SessionKeys } from "./session-key.ts";
import type { Credentials } from "./session.ts";

export interface VendingOptions {
  readonly sessionName: string;
  /** Of STS; null where an endpoint stands for it. */
  readonly region: string | null;
  /** Whether a long-lived key may be handed out. */
  readonly vendsLongLivedBase: boolean;
  /** Whether the account of the first answer is the only one from then on. */
  readonly pinsAccount: boolean;
  /** The only accounts that roles may be in; [] is any. */
  readonly allowedAccounts: readonly string[];
}

export interface VendingPorts {
  readonly base: BaseIdentity;
  readonly sts: Pick<STS, "assumeRole">;
  readonly sessions: CredentialCache;
  readonly issued: Pick<IssuedCredentials, "record" | "accountID">;
  /** What is vended in place of the base identity; null: that itself. */
  readonly identityOnly: Pick<IdentityOnlyKeys, "get"> | null;
  readonly onAccountRefused: () => void;
  /** A role's session is asked for an hour, since it is made from another session, and not for as long as was wanted. */
  readonly onDurationCapped?: (roleARN: string, wantedSeconds: number) => void;
}

/** How credentials are wanted. */
export interface Asked {
  /** What their holder is to `/sts`. The base identity is the controller's wherever it is given. */
  readonly as: IssuedKind;
  readonly wanted?: Wanted;
  /** Whether nobody waits for them any more. */
  readonly isLate?: () => boolean;
}

/** What of a session its client may decide, to have it shorter or narrower. */
export interface Wanted {
  readonly durationSeconds: number;
  readonly policy: string | null;
  readonly policyARNs: readonly string[];
}

/** Where nothing else is wanted: what every role allows, also to a session. */
const DURATION_SECONDS = CHAINED_SECONDS;
const NOTHING_WANTED: Wanted = { durationSeconds: DURATION_SECONDS, policy: null, policyARNs: [] };

/** Turns a grant into credentials. Nothing that was not granted reaches STS. */
export class Issuer {
  readonly #options: VendingOptions;
  readonly #ports: VendingPorts;
  readonly #keys = new SessionKeys();
  /** The account that was answered first. */
  #account: string | null;

  constructor(options: VendingOptions, ports: VendingPorts) {
    this.#options = options;
    this.#ports = ports;
    // The controller lives on when the sidecar is killed, and does not look a second time.
    this.#account = options.pinsAccount ? ports.issued.accountID : null;
  }

  /** What is granted, known to `/sts` from now on. Rejects with the refusal of the grant, or with what STS trouble there was. */
  async credentialsFor(grant: Grant, { as, wanted = NOTHING_WANTED, isLate = () => false }: Asked): Promise<Credentials> {
    if (grant.verdict === "refused") throw new ResolverError(grant.code, grant.message);
    if (grant.verdict === "role") {
      this.#checkAllowed(grant);
      this.#checkAccount(accountOfARN(grant.roleARN));
    }
    const credentials = await (grant.verdict === "role" ? this.#roleSession(grant, wanted) : this.#baseSession());
    // What nobody is given is no answer.
    if (isLate()) return credentials;
    this.#checkAccount(credentials.accountID);
    if (this.#options.pinsAccount) this.#account = credentials.accountID;
    await this.#ports.issued.record(credentials, grant.verdict === "base" ? "base" : as);
    return credentials;
  }

  /** Has a session for a role that nobody has asked for, behind all that somebody waits for. Nothing of it is given to anybody. */
  async tryRole(grant: RoleGrant): Promise<void> {
    this.#checkAllowed(grant);
    await this.#roleSession(grant, NOTHING_WANTED, { isAwaited: false });
  }

  /** Whether STS would take a role assumed from here for one of a chain, which lasts an hour at most. */
  async chains(): Promise<boolean> {
    return (await this.#ports.base.whenKnown()).isSession;
  }

  /** Whatever selects it: the webhook refuses a selector of another account (IRS-04), but one may be older than the setting. */
  #checkAllowed({ roleARN, selectors }: RoleGrant): void {
    const accountID = accountOfARN(roleARN) ?? "";
    const { allowedAccounts } = this.#options;
    if (allowedAccounts.length > 0 && !allowedAccounts.includes(accountID)) {
      const message = `The role of ${selectors.length === 0 ? "a CARM map" : `IAMRoleSelector ${selectors.join(", ")}`} is in account ${accountID}, which is none of --allowed-accounts.`;
      throw new ResolverError("ERR_SELECTOR_NOT_GRANTED", message);
    }
  }

  async #baseSession(): Promise<Credentials> {
    const { base, identityOnly } = this.#ports;
    if (identityOnly !== null) return identityOnly.get();
    const credentials = await base.get();
    if (credentials.sessionToken !== null || this.#options.vendsLongLivedBase) return credentials;
    throw new ResolverError(
      "ERR_BASE_LONG_LIVED",
      "The sidecar's own identity is a long-lived access key, which is handed out only where --base vend is written out. Give the sidecar a role instead.",
    );
  }

  async #roleSession(grant: RoleGrant, wanted: Wanted, { isAwaited }: { readonly isAwaited: boolean } = { isAwaited: true }): Promise<Credentials> {
    const { base, sessions } = this.#ports;
    // Who we are is waited for once: what is kept must not depend on whether our identity can be had just now.
    const { arn, isSession } = await base.whenKnown();
    const request = this.#requestFor(grant, wanted, isSession);
    const key = this.#keys.keyOf(grant.grantedBy, request, { identity: arn, region: this.#options.region });
    return sessions.get({ key, grantedBy: grant.grantedBy, isAwaited, load: (signal) => this.#assume(request, signal) });
  }

  #requestFor({ roleARN, extras }: RoleGrant, wanted: Wanted, isChained: boolean): SessionRequest {
    // Who wants it shorter is told an earlier end instead, so that one session serves all.
    const wantedSeconds = extras.durationSeconds ?? Math.max(wanted.durationSeconds, DURATION_SECONDS);
    const isCapped = isChained && wantedSeconds > CHAINED_SECONDS;
    if (isCapped) this.#ports.onDurationCapped?.(roleARN, wantedSeconds);
    return {
      ...extras, roleARN, sessionName: extras.sessionName ?? this.#options.sessionName,
      durationSeconds: isCapped ? CHAINED_SECONDS : wantedSeconds, policy: wanted.policy, policyARNs: wanted.policyARNs,
    };
  }

  async #assume(request: SessionRequest, signal: AbortSignal): Promise<Credentials> {
    const { base, sts } = this.#ports;
    const credentials = await base.get();
    try {
      return await sts.assumeRole(credentials, request, signal);
    } catch (error) {
      if (error instanceof ResolverError && error.code === "ERR_BASE_UNAVAILABLE") base.forget(credentials);
      throw error;
    }
  }

  // A controller reads its account once at start; a role in another one would make it act where it does not look.
  #checkAccount(accountID: string | null): void {
    if (this.#account === null || accountID === this.#account) return;
    this.#ports.onAccountRefused();
    throw new ResolverError(
      "ERR_SELECTOR_ACCOUNT_PINNED",
      `The role is in account ${accountID ?? "unknown"}, and this sidecar has answered for account ${this.#account}. Restart the Pod if the move is meant.`,
    );
  }
}
