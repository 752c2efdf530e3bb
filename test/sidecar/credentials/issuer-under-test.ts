import { NO_EXTRAS } from "../../../shared/core/session.ts";
import type { RoleGrant } from "../../../shared/core/grant.ts";
import { AuditLog } from "../../../sidecar/audit-log.ts";
import { BaseIdentity } from "../../../sidecar/base/identity.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import type { IssuedKind } from "../../../sidecar/credentials/issued-journal.ts";
import { Issuer, type IssuerSettings } from "../../../sidecar/credentials/issuer.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeSTS, HOUR } from "../fake-sts.ts";
import { RecordedLog } from "../recorded-log.ts";
import { NOTHING_CLOSED } from "../../shared/objects.ts";

const SETTINGS: IssuerSettings = {
  sessionName: "ack-role-resolver", region: "eu-west-1", base: null, scopeNamespace: null, allowedAccounts: [],
};
export const OTHER_ROLE = "arn:aws:iam::222222222222:role/b";

export function grantOf(change: Partial<RoleGrant> = {}): RoleGrant {
  const roleARN = "arn:aws:iam::111122223333:role/a";
  return { verdict: "role", roleARN, selectors: ["team-a"], extras: NO_EXTRAS, grantedBy: {}, ...change };
}

interface Request {
  readonly client?: string;
  readonly kind?: IssuedKind;
  readonly isLate?: boolean;
}

/** An issuer with the real modules, and STS on a fake clock. */
export class IssuerUnderTest {
  readonly clock: FakeClock;
  readonly sts: FakeSTS;
  readonly lookups: string[] = [];
  readonly #recorded = new RecordedLog();
  readonly issued: IssuedCredentials;
  readonly base: BaseIdentity;
  readonly cache: CredentialCache;
  readonly issuer: Issuer;
  baseARN = "arn:aws:sts::999999999999:assumed-role/ack/pod-1";
  granted = true;
  rejectedAccounts = 0;

  constructor(settings: Partial<IssuerSettings> = {}, ports: Partial<Pick<IssuerUnderTest, "clock" | "issued">> = {}) {
    const { clock = new FakeClock(), issued = new IssuedCredentials(clock) } = ports;
    [this.clock, this.sts, this.issued] = [clock, new FakeSTS(clock), issued];
    const random = (): number => 0.5;
    this.base = new BaseIdentity({
      clock, random, onAttempt: () => {},
      provider: async () => ({
        accessKeyID: "ASIABASE", secretAccessKey: "s", sessionToken: "t", expirationMs: clock.now() + 12 * HOUR,
      }),
      sts: {
        clockLagMs: 0, callerIdentity: async () => ({ accountID: "999999999999", arn: this.baseARN, userID: "AROA:x" }),
      },
    });
    const lookups = { inc: ({ result }: { readonly result: string }) => void this.lookups.push(result) };
    this.cache = new CredentialCache({ clock, random, lookups });
    this.issuer = new Issuer({ ...SETTINGS, ...settings }, {
      base: this.base, profile: { closures: NOTHING_CLOSED }, sessions: this.cache, issued: this.issued,
      identities: { get: () => this.base.get() },
      audit: new AuditLog({ log: this.#recorded.log, clock }), isGranted: () => this.granted,
      onAccountRejected: () => void (this.rejectedAccounts += 1),
      sts: {
        assumeRole: async (_, { roleARN }, signal) => (
          { ...await this.sts.load(roleARN)(signal), accountID: roleARN.slice(13, 25) }
        ),
      },
    });
  }

  issue(grant: RoleGrant, { client = "client", kind = "role", isLate = false }: Request = {}): Promise<Credentials> {
    const options = { kind, client: { key: client, fields: () => ({ client }) }, isLate: () => isLate };
    return this.issuer.credentialsFor(grant, options);
  }

  again(grant: RoleGrant, { client = "client", kind = "role" }: Request = {}): string | null {
    const options = { kind, client: { key: client, fields: () => ({ client }) } };
    return this.issuer.issueAgain(grant, options)?.accessKeyID ?? null;
  }

  /** The clients and keys of the audit log's lines about issued credentials. */
  get audited(): unknown[] {
    const lines = this.#recorded.lines.filter(({ msg }) => msg === "credentials issued to a client");
    return lines.map(({ client, arn, repeats }) => [client, arn, repeats].filter((one) => one !== undefined));
  }
}
