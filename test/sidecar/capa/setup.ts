import type { Identity, RoleIdentity, ServiceAccountIdentity, StaticIdentity } from "../../../shared/capa/identity.ts";
import type { SessionRequest } from "../../../shared/core/session.ts";
import { IdentitySessions, isCurrentIdentity } from "../../../sidecar/capa/identity-sessions.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import type { RefusedRole } from "../../../sidecar/capa/refused-identities.ts";
import type { Credentials, SigningCredentials } from "../../../sidecar/credentials/session.ts";
import type { StaticKey } from "../../../sidecar/capa/access-keys.ts";
import { ServiceAccountTokens } from "../../../sidecar/capa/service-account-tokens.ts";
import { STSCallGuard } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "../fake-clock.ts";
import { HOUR, SECOND } from "../fake-sts.ts";
import { TokenServer } from "./token-server.ts";

export const OPTIONS = { sessionName: "ack-role-resolver", region: "eu-west-1" };

export function roleOf(name: string, rest: Partial<RoleIdentity> = {}): RoleIdentity {
  return {
    kind: "AWSClusterRoleIdentity", name, namespace: "", uid: null, resourceVersion: "1",
    allowedNamespaces: { type: "all" }, roleARN: `arn:aws:iam::111122223333:role/${name}`, sessionName: null,
    durationSeconds: null, inlinePolicy: null,
    policyARNs: [], tags: [], transitiveTags: [], mistyped: [], externalID: null, source: null, ...rest,
  };
}

/** Returns the service account identity `team-a/capa`. */
export function accountIdentity(rest: Partial<ServiceAccountIdentity> = {}): ServiceAccountIdentity {
  return {
    kind: "AWSServiceAccountIdentity", name: "capa", namespace: "team-a", uid: "uid-1", resourceVersion: "1",
    roleARN: "arn:aws:iam::111122223333:role/capa", sessionName: null, durationSeconds: null, inlinePolicy: null,
    policyARNs: [], tags: [], transitiveTags: [], mistyped: [], audiences: ["sts.amazonaws.com"],
    expirationSeconds: 86_400, ...rest,
  };
}

interface Call {
  readonly signer: string;
  readonly role: string;
  readonly atMs: number;
}

export function staticKey(name: string): StaticKey {
  return { accessKeyID: `AKIA${name}`, secretAccessKey: "planted", sessionToken: null, digest: `digest-${name}` };
}

export const STATIC: StaticIdentity = {
  kind: "AWSClusterStaticIdentity", name: "s", namespace: "", uid: null, resourceVersion: "1",
  allowedNamespaces: { type: "all" }, secretName: "creds",
};

interface TokenCall {
  readonly token: string;
  readonly request: SessionRequest;
  readonly atMs: number;
}

/**
 * The sessions of identities, with an STS whose keys expire after one hour, and 100 ms of latency. Every identity is
 * part of the inventory.
 */
export class IdentitySetup {
  readonly clock = new FakeClock();
  readonly calls: Call[] = [];
  random: () => number = () => 0.5;
  readonly removed = new Set<Identity>();
  /** The new version of each changed identity. */
  readonly changed = new Map<Identity, Identity>();
  /** The access key in the Secret of each static identity. */
  key = staticKey("1");
  /** The account of each access key. */
  accountID = "444455556666";
  /** The digest of the last access key whose account STS returned, and the account. */
  learned = "";
  /** The identities whose role STS rejected, and those whose role was assumed. */
  readonly refused: RefusedRole[] = [];
  readonly assumed: string[] = [];
  /** Throws if STS rejects a call. */
  onCall: (call: Call) => void = () => {};
  /** The calls with a token, which have no latency, and the error of each of them. */
  readonly tokenCalls: TokenCall[] = [];
  tokenError: Error | null = null;
  readonly server = new TokenServer();
  readonly guard = new STSCallGuard({ clock: this.clock });
  readonly cache = new CredentialCache({ clock: this.clock, random: () => this.random(), guard: this.guard });
  readonly sessions: IdentitySessions;

  /** With --from, the sidecar has neither Secrets nor tokens. */
  constructor({ isOffline = false } = {}) {
    const tokens = new ServiceAccountTokens({ api: this.server.api, clock: this.clock, onRequest: () => {} });
    const current = (identity: Identity): Identity | null => (
      this.removed.has(identity) ? null : this.changed.get(identity) ?? identity
    );
    this.sessions = new IdentitySessions(OPTIONS, {
      base: {
        get: async () => this.#credentials("base", 12 * HOUR),
        whenVerified: async () => (
          { arn: "arn:aws:sts::999999999999:assumed-role/capa/pod", isSession: true, hasPodTags: false }
        ),
        invalidate: () => {},
      },
      sts: {
        assumeRole: (signer, request) => this.#assume(signer, request),
        assumeRoleWithWebIdentity: async (token, request) => {
          this.tokenCalls.push({ token, request, atMs: this.clock.steady() });
          if (this.tokenError !== null) throw this.tokenError;
          return this.#credentials(`ASIA${this.tokenCalls.length}`, HOUR);
        },
        callerIdentity: async ({ accessKeyID }) => {
          this.#record(accessKeyID, "GetCallerIdentity");
          return { accountID: this.accountID, arn: "arn:aws:iam::444455556666:user/capa", userID: "AIDA" };
        },
      },
      secrets: isOffline ? null : {
        get: async () => this.key, isCurrent: (_, { digest }) => digest === this.key.digest,
        learn: (_, { digest }, accountID) => void (this.learned = `${digest} ${accountID}`),
      },
      sessions: this.cache,
      tokens: isOffline ? null : tokens,
      onRefused: (refused) => void this.refused.push(refused),
      onAssumed: ({ name }) => void this.assumed.push(name),
      isCurrent: (identity) => isCurrentIdentity({ get: () => current(identity) }, identity),
    });
  }

  /** Requests the session, and lets the fake time pass until the response. */
  async get(...roles: readonly RoleIdentity[]): Promise<Credentials> {
    return this.getFrom(null, ...roles);
  }

  async getFrom(source: StaticIdentity | null, ...roles: readonly RoleIdentity[]): Promise<Credentials> {
    const result = this.sessions.get({ verdict: "identity", source, roles });
    await this.clock.advance(SECOND);
    return await result;
  }

  /** Returns the session of a service account identity. */
  async ofAccount(identity: ServiceAccountIdentity): Promise<Credentials> {
    return this.sessions.get({ verdict: "identity", source: identity, roles: [] });
  }

  /** Returns the session or the error of the request. */
  async outcomeFrom(source: StaticIdentity | null, ...roles: readonly RoleIdentity[]): Promise<unknown> {
    const result = this.sessions.get({ verdict: "identity", source, roles }).catch((error: unknown) => error);
    await this.clock.advance(SECOND);
    return await result;
  }

  async #assume(signer: SigningCredentials, { roleARN }: SessionRequest): Promise<Credentials> {
    const role = roleARN.slice(roleARN.lastIndexOf("/") + 1);
    this.#record(signer.accessKeyID, role);
    await new Promise<void>((resolve) => this.clock.schedule(100, resolve));
    const isExpired = (signer.expirationMs ?? Infinity) <= this.clock.now();
    if (isExpired) throw new Error(`the session ${signer.accessKeyID} has expired`);
    return this.#credentials(`${role}#${this.calls.length}`, HOUR);
  }

  #record(signer: string, role: string): void {
    const call = { signer, role, atMs: this.clock.steady() };
    this.calls.push(call);
    this.onCall(call);
  }

  #credentials(accessKeyID: string, lifeMs: number): Credentials {
    return {
      accessKeyID, secretAccessKey: "secret", sessionToken: "token", expirationMs: this.clock.now() + lifeMs,
      accountID: "111122223333", arn: "arn:aws:sts::111122223333:assumed-role/a/session", userID: "AROAA:session",
    };
  }
}
