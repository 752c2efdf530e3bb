import { NOTHING_CLOSED } from "../../shared/core/closures.ts";
import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import { IDENTITIES } from "../../shared/capa/identities.ts";
import { type IdentityQuery, servesIdentities } from "../../shared/capa/grant-by-identity.ts";
import type { FastifyInstance, LightMyRequestResponse } from "fastify";
import { isStillGranted } from "../../shared/core/grant-decision.ts";
import { Inventory } from "../../shared/core/inventory.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { NO_EXTRAS, type SessionRequest } from "../../shared/core/session.ts";
import type { KubernetesAPI } from "../../shared/api/api.ts";
import type { SourceStatus } from "../../shared/sources/source.ts";
import { createRegistry } from "../../shared/server/metrics.ts";
import { buildSidecar } from "../../sidecar/app.ts";
import { AuditLog } from "../../sidecar/audit-log.ts";
import { ScopedBase } from "../../sidecar/base/scoped-base.ts";
import { BaseIdentity } from "../../sidecar/base/identity.ts";
import { CredentialCache } from "../../sidecar/credentials/cache.ts";
import { createIdentityMetrics } from "../../sidecar/capa/identity-metrics.ts";
import { addIdentityRoute, identityFields } from "../../sidecar/capa/identity-route.ts";
import { IdentitySessions, isCurrentIdentity } from "../../sidecar/capa/identity-sessions.ts";
import { IssuedCredentials } from "../../sidecar/credentials/issued.ts";
import { Issuer, type IssuerSettings } from "../../sidecar/credentials/issuer.ts";
import type { Credentials, SigningCredentials } from "../../sidecar/credentials/session.ts";
import { createSidecarMetrics, registerSidecarState } from "../../sidecar/metrics.ts";
import type { LiveClosures } from "../../sidecar/installed-profile.ts";
import { IdentitySecrets } from "../../sidecar/capa/access-keys.ts";
import type { SidecarOptions } from "../../sidecar/options.ts";
import { ServiceAccountTokens } from "../../sidecar/capa/service-account-tokens.ts";
import { TokenCheck } from "../../sidecar/http/request-check.ts";
import { namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../shared/objects.ts";
import { FakeClock } from "./fake-clock.ts";
import { RecordedLog } from "./recorded-log.ts";
import { SECRET_NAMESPACE, type SecretData, SecretServer } from "./capa/secret-server.ts";

export const TOKEN = "planted-token-0123456789abcdef";
export const HEADERS = { host: "127.0.0.1:9780", authorization: TOKEN };
export const BASE_IDENTITY = {
  accountID: "999999999999",
  arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
  userID: "AROAACK:pod",
};
export const BASE_SECRET = "planted-base-secret";
export const ROLE_SECRET = "planted-role-secret";

export interface Setup extends Partial<SidecarOptions & IdentityQuery>, Partial<Omit<IssuerSettings, "base">> {
  readonly objects?: readonly JsonObject[];
  /** --base. */
  readonly mode?: IssuerSettings["base"];
  /** The profile that the sidecar follows. By default, it follows none. */
  readonly profile?: LiveClosures;
  /** The store of the issued credentials. By default, each sidecar has its own store in memory. */
  readonly issued?: IssuedCredentials;
  readonly base?: () => Promise<SigningCredentials>;
  /** The Secrets of static identities. By default, the sidecar reads no Secrets. */
  readonly secrets?: Readonly<Record<string, SecretData>>;
  /** Throws if STS rejects the access key of a static identity. */
  readonly callerIdentity?: (signer: SigningCredentials) => void;
  readonly assumeRole?: (request: SessionRequest) => Promise<Credentials>;
  /** The API server that issues tokens of ServiceAccounts. By default, the sidecar has no API server. */
  readonly api?: KubernetesAPI;
}

const IDLE = {
  guard: { circuit: "closed", inFlight: 0, waiting: 0 }, base: { lastVerification: null }, probe: null,
} as const;

/**
 * A sidecar that listens on no socket. The sidecar consists of the real modules and a fake clock. The test provides the
 * STS and the base identity.
 */
export class SidecarUnderTest {
  readonly clock = new FakeClock();
  readonly inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  status: SourceStatus = { loaded: true, lastSyncMs: 0, fault: null };
  readonly stsCalls: SessionRequest[] = [];
  /** Why the credentials of the base identity cannot be limited. */
  readonly unlimited: string[] = [];
  /** The access key IDs that signed the STS calls. */
  readonly signers: string[] = [];
  /** The web identity tokens of the STS calls that are not signed. */
  readonly tokens: string[] = [];
  /** The results of the requests for tokens. */
  readonly tokenResults: string[] = [];
  readonly #recorded = new RecordedLog();
  readonly logLines = this.#recorded.texts;
  readonly #audit = new AuditLog({ log: this.#recorded.log, clock: this.clock });
  readonly registry = createRegistry({ component: "sidecar" });
  readonly token = new TokenCheck(TOKEN, this.clock);
  readonly issued: IssuedCredentials;
  /** The access key IDs that signed GetCallerIdentity for a static identity. */
  readonly identified: string[] = [];
  readonly secretServer: SecretServer;
  /** Null without Secrets. The test starts the watch. */
  readonly secrets: IdentitySecrets | null;
  readonly app: FastifyInstance;

  constructor(setup: Setup = {}) {
    const options = { ...DEFAULTS, ...setup };
    this.issued = setup.issued ?? new IssuedCredentials(this.clock);
    this.inventory.apply(options.objects.map(put));
    const metrics = createSidecarMetrics(this.registry);
    const sessions = new CredentialCache({ clock: this.clock, random: () => 0.5, lookups: metrics.cacheLookups });
    registerSidecarState(this.registry, { ...IDLE, sessions }, () => this.clock.now());
    this.secretServer = new SecretServer(this.clock, setup.secrets);
    this.secrets = setup.secrets === undefined ? null : this.#identitySecrets();
    const base = this.#baseIdentity(setup);
    const sts = this.#sts(setup);
    const closures = { ...NOTHING_CLOSED, base: setup.mode === "identity-only" };
    const { profile = { closures, status: null } } = setup;
    const issuer = new Issuer({ ...options, group: options.groups, base: setup.mode ?? null }, {
      base, profile, sessions, sts,
      scopedBase: this.#scopedBase({ base, sts, sessions }),
      isGranted: (grant) => isStillGranted(this.inventory, grant, options),
      issued: this.issued, audit: this.#audit, onAccountRejected: () => metrics.accountRejections.inc(),
    });
    const identities = this.#identitySessions(options, { base, sts, sessions });
    const source = {
      inventory: this.inventory,
      getStatus: () => this.status,
      get status(): SourceStatus {
        return this.getStatus();
      },
    };
    this.app = buildSidecar(options, {
      source,
      profile,
      base,
      sessions,
      audit: this.#audit,
      issuer,
      metrics,
      log: this.#recorded.log,
      issued: this.issued,
      token: this.token,
      clock: this.clock,
      extensions: [{
        addRoutes(app, issue) {
          if (servesIdentities(options)) addIdentityRoute(app, issue, { sessions: identities, query: options });
        },
      }],
      retryAfterSeconds: () => 1,
      listen: { address: { host: "127.0.0.1", port: 9780 } },
    });
  }

  get(url: string, headers: Readonly<Record<string, string>> = HEADERS): Promise<LightMyRequestResponse> {
    return this.app.inject({ method: "GET", url, headers });
  }

  /** The lines of the audit log, without the fields that each line has. */
  get auditLines(): Record<string, unknown>[] {
    return this.#recorded.lines.filter(({ msg }) => / (from STS|to a client)$/.test(String(msg)))
      .map(({ level: _level, name: _name, time: _time, ...line }) => line);
  }

  session(request: Pick<SessionRequest, "roleARN"> & Partial<SessionRequest>): Credentials {
    const accountID = request.roleARN.slice(13, 25);
    return {
      accessKeyID: `ASIA${this.stsCalls.length}`,
      secretAccessKey: ROLE_SECRET,
      sessionToken: `${ROLE_SECRET}-token`,
      expirationMs: this.clock.now() + 3_600_000,
      accountID,
      arn: `arn:aws:sts::${accountID}:assumed-role/${request.roleARN.split("/").at(-1)}/session`,
      userID: "AROAROLE:session",
      origin: { requestID: `request-${this.stsCalls.length}`, sourceIdentity: request.sourceIdentity ?? null },
    };
  }

  #sts(setup: Setup): ConstructorParameters<typeof IdentitySessions>[1]["sts"] {
    return {
      assumeRole: (signer, request) => this.#assumeRole(setup, request, signer),
      assumeRoleWithWebIdentity: (token, request) => {
        this.tokens.push(token);
        return this.#assumeRole(setup, request, null);
      },
      callerIdentity: async (signer) => {
        this.identified.push(signer.accessKeyID);
        setup.callerIdentity?.(signer);
        return { accountID: "444455556666", arn: "arn:aws:iam::444455556666:user/capa", userID: "AIDACAPA" };
      },
    };
  }

  #identitySecrets(): IdentitySecrets {
    const { secretReads } = createIdentityMetrics(this.registry, { size: 0 });
    return new IdentitySecrets({
      api: this.secretServer.api, clock: this.clock, random: () => 0, namespace: SECRET_NAMESPACE,
      onRead: (result) => secretReads.inc({ result }), onAccount: () => {}, onStatus: () => {},
    });
  }

  #scopedBase(ports: Pick<ConstructorParameters<typeof ScopedBase>[0], "base" | "sts" | "sessions">): ScopedBase {
    return new ScopedBase({
      ...ports, environment: {}, sessionName: "sidecar", region: null,
      onUnlimited: (reason) => this.unlimited.push(reason),
    });
  }

  #identitySessions(
    options: Pick<IssuerSettings, "sessionName" | "region"> & Setup,
    ports: Pick<ConstructorParameters<typeof IdentitySessions>[1], "base" | "sts" | "sessions">,
  ): IdentitySessions {
    const { api } = options;
    const onRequest = (result: string): void => void this.tokenResults.push(result);
    return new IdentitySessions(options, {
      ...ports, secrets: this.secrets,
      isCurrent: (identity) => isCurrentIdentity(this.inventory.of(IDENTITIES), identity),
      onAssumed: (identity, session) => this.#audit.obtained({ auditFields: identityFields(identity) }, session),
      tokens: api === undefined ? null : new ServiceAccountTokens({ api, clock: this.clock, onRequest }),
    });
  }

  #baseIdentity({ base }: Setup): BaseIdentity {
    const session = async (): Promise<SigningCredentials> => ({
      accessKeyID: "ASIABASE",
      secretAccessKey: BASE_SECRET,
      sessionToken: `${BASE_SECRET}-token`,
      expirationMs: this.clock.now() + 3_600_500,
    });
    return new BaseIdentity({
      provider: base ?? session,
      sts: { callerIdentity: async () => BASE_IDENTITY, clockLagMs: 0 },
      clock: this.clock,
      random: () => 0.5,
      onAttempt: () => {},
    });
  }

  #assumeRole(
    { assumeRole }: Setup, request: SessionRequest, signer: SigningCredentials | null,
  ): Promise<Credentials> {
    this.stsCalls.push(request);
    if (signer !== null) this.signers.push(signer.accessKeyID);
    return assumeRole === undefined ? Promise.resolve(this.session(request)) : assumeRole(request);
  }
}

export const ROLE_A = "arn:aws:iam::111111111111:role/a";
export const TEAM_A = selectorObject("team-a", { arn: ROLE_A, namespaceSelector: { names: ["team-a"] } });

const DEFAULTS = {
  groups: ["s3.services.k8s.aws"],
  kinds: [],
  scope: null,
  unmatched: "base",
  objects: [namespaceObject("team-a"), TEAM_A],
  settings: SETTINGS_BY_DEFAULT,
  sessionDefaults: NO_EXTRAS,
  sessionName: "ack-role-resolver",
  region: null,
  scopeNamespace: null,
  allowedAccounts: [],
  allowedAudiences: ["sts.amazonaws.com"],
} as const;
/** The options of a sidecar with --scope-namespace team-a. */
export const SCOPED = { scope: "team-a", unmatched: "deny", scopeNamespace: "team-a" } as const;
