import { ResolverError } from "../shared/decisions/errors.ts";
import type { Grant, RoleGrant } from "../shared/decisions/grants.ts";
import { accountOfARN } from "../shared/decisions/role-arn.ts";
import type { SessionRequest } from "../shared/decisions/session.ts";
import type { BaseIdentity } from "./base-identity.ts";
import type { CredentialCache, Credentials } from "./credential-cache.ts";
import { sessionKey } from "./session-key.ts";
import type { STS } from "./sts-client.ts";

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
  readonly onAccountRefused: () => void;
}

/** The most that one chained session may last, and what every role allows. https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
const DURATION_SECONDS = 3600;

/** Turns a grant into credentials. Nothing that was not granted reaches STS. */
export class Vending {
  readonly #options: VendingOptions;
  readonly #ports: VendingPorts;
  #account: string | null = null;

  constructor(options: VendingOptions, ports: VendingPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /** Rejects with the refusal of the grant, or with what STS trouble there was. */
  async credentialsFor(grant: Grant): Promise<Credentials> {
    if (grant.verdict === "refused") throw new ResolverError(grant.code, grant.message);
    if (grant.verdict === "role") this.#checkRole(grant);
    const credentials = await (grant.verdict === "role" ? this.#roleSession(grant) : this.#baseSession());
    this.#checkAccount(credentials.accountID);
    if (this.#options.pinsAccount) this.#account = credentials.accountID;
    return credentials;
  }

  /** Whatever selects it: the webhook refuses a selector of another account (IRS-04), but one may be older than the setting. */
  #checkRole({ roleARN, selectors }: RoleGrant): void {
    const accountID = accountOfARN(roleARN) ?? "";
    const { allowedAccounts } = this.#options;
    if (allowedAccounts.length > 0 && !allowedAccounts.includes(accountID)) {
      const message = `The role of ${selectors.length === 0 ? "a CARM map" : `IAMRoleSelector ${selectors.join(", ")}`} is in account ${accountID}, which is none of --allowed-accounts.`;
      throw new ResolverError("ERR_SELECTOR_NOT_GRANTED", message);
    }
    this.#checkAccount(accountID);
  }

  async #baseSession(): Promise<Credentials> {
    const credentials = await this.#ports.base.get();
    if (credentials.sessionToken !== null || this.#options.vendsLongLivedBase) return credentials;
    throw new ResolverError(
      "ERR_BASE_LONG_LIVED",
      "The sidecar's own identity is a long-lived access key, which is handed out only where --base vend is written out. Give the sidecar a role instead.",
    );
  }

  async #roleSession({ roleARN, extras, basis }: RoleGrant): Promise<Credentials> {
    const request = {
      ...extras, roleARN, sessionName: extras.sessionName ?? this.#options.sessionName, durationSeconds: extras.durationSeconds ?? DURATION_SECONDS,
      policy: null, policyARNs: [],
    };
    const { base, sessions } = this.#ports;
    // Who we are is waited for once: what is kept must not depend on whether our identity can be had just now.
    const identity = base.identity ?? (await base.get()).arn;
    const key = sessionKey(request, { identity, region: this.#options.region });
    return sessions.get({ key, basis, load: (signal) => this.#assume(request, signal) });
  }

  async #assume(request: SessionRequest, signal: AbortSignal): Promise<Credentials> {
    const { base, sts } = this.#ports;
    const credentials = await base.get();
    try {
      return await sts.assumeRole(credentials, request, signal);
    } catch (error) {
      if (error instanceof ResolverError && error.code === "ERR_BASE_UNAVAILABLE") base.forget();
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
