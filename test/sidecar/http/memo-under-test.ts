import { NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { stringAt } from "../../../shared/formats/json.ts";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { SELECTOR_OWNER } from "../../../shared/core/grant-session.ts";
import type { RoleGrant } from "../../../shared/core/grant.ts";
import { createRegistry } from "../../../shared/server/metrics.ts";
import { AuditLog } from "../../../sidecar/audit-log.ts";
import { BaseIdentity } from "../../../sidecar/base/identity.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import type { IssuedKind } from "../../../sidecar/credentials/issued-journal.ts";
import { Issuer, type IssuerSettings } from "../../../sidecar/credentials/issuer.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { AnswerMemo } from "../../../sidecar/http/answer-memo.ts";
import { TokenCheck } from "../../../sidecar/http/request-check.ts";
import { credentialsBody } from "../../../sidecar/http/respond.ts";
import { createSidecarMetrics } from "../../../sidecar/metrics.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeSTS, HOUR } from "../fake-sts.ts";
import { RecordedLog } from "../recorded-log.ts";
import { HEADERS } from "../sidecar-under-test.ts";
import { inventoryWith } from "../../shared/objects.ts";

type Requested = Pick<Parameters<Issuer["credentialsFor"]>[1], "requested">;

const SETTINGS: IssuerSettings = {
  sessionName: "ack-role-resolver", region: "eu-west-1", base: null, scopeNamespace: null, allowedAccounts: [],
  group: ["s3.services.k8s.aws"],
};
export const OTHER_ROLE = "arn:aws:iam::222222222222:role/b";

export function grantOf(change: Partial<RoleGrant> = {}): RoleGrant {
  const roleARN = "arn:aws:iam::111122223333:role/a";
  return {
    verdict: "role", roleARN, selectors: ["team-a"], extras: NO_EXTRAS, owner: SELECTOR_OWNER, grantedBy: {}, ...change,
  };
}

interface Request {
  readonly client?: string;
  readonly kind?: IssuedKind;
  readonly isLate?: boolean;
  /** Default: a path for each role, client and kind. */
  readonly path?: string;
}

/** An issuer and the memo of its answers, with the real modules, and STS on a fake clock. */
export class MemoUnderTest {
  readonly clock: FakeClock;
  readonly sts: FakeSTS;
  readonly lookups: string[] = [];
  readonly #recorded = new RecordedLog();
  readonly issued: IssuedCredentials;
  readonly base: BaseIdentity;
  readonly cache: CredentialCache;
  readonly issuer: Issuer;
  readonly source = { inventory: inventoryWith([]) };
  readonly profile = { closures: NOTHING_CLOSED };
  readonly #memo: AnswerMemo;
  baseARN = "arn:aws:sts::999999999999:assumed-role/ack/pod-1";
  granted = true;
  /** Whether STS states when the sessions expire. */
  statesEnd = true;
  rejectedAccounts = 0;

  constructor(settings: Partial<IssuerSettings> = {}, ports: Partial<Pick<MemoUnderTest, "clock" | "issued">> = {}) {
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
    const audit = new AuditLog({ log: this.#recorded.log, clock });
    this.issuer = new Issuer({ ...SETTINGS, ...settings }, {
      base: this.base, profile: this.profile, sessions: this.cache, issued: this.issued,
      audit, isGranted: () => this.granted,
      onAccountRejected: () => void (this.rejectedAccounts += 1),
      sts: {
        assumeRole: async (_, { roleARN }, signal) => {
          const session = { ...await this.sts.load(roleARN)(signal), accountID: roleARN.slice(13, 25) };
          return this.statesEnd ? session : { ...session, expirationMs: null };
        },
      },
    });
    this.#memo = new AnswerMemo({
      source: this.source, profile: this.profile, base: this.base, sessions: this.cache, audit, clock,
      listen: { address: { host: "127.0.0.1", port: 9780 } }, token: new TokenCheck(HEADERS.authorization, clock),
      metrics: createSidecarMetrics(createRegistry({ component: "sidecar" })),
    });
  }

  /** Issues credentials as the routes do, and remembers the answer. */
  async issue(grant: RoleGrant, request: Request & Partial<Requested> = {}): Promise<Credentials> {
    const { client = "client", kind = "role", isLate = false, requested } = request;
    const options = { kind, client: { key: client, fields: () => ({ client }) }, isLate: () => isLate };
    const { knowledge } = this.#memo;
    const issued = await this.issuer.credentialsFor(grant, { ...options, ...(requested && { requested }) });
    const body = credentialsBody(issued.credentials, this.clock.now());
    this.#memo.remember({ path: pathOf(grant, request), route: "/v1/credentials", issued, body }, knowledge);
    return issued.credentials;
  }

  /** Returns the access key ID of the remembered answer; null if the routes must decide. */
  again(grant: RoleGrant, asked: Request = {}): string | null {
    const request = new IncomingMessage(new Socket());
    const rawHeaders = Object.entries(HEADERS).flat();
    Object.assign(request, { method: "GET", url: pathOf(grant, asked), headers: { ...HEADERS }, rawHeaders });
    let body: unknown = null;
    const end = (text: string): void => void (body = JSON.parse(text));
    const response = Object.assign(new ServerResponse(request), { end });
    return this.#memo.answer(request, response) ? stringAt(body, "AccessKeyId") ?? "" : null;
  }

  /** The clients and keys of the audit log's lines about issued credentials. */
  get audited(): unknown[] {
    const lines = this.#recorded.lines.filter(({ msg }) => msg === "credentials issued to a client");
    return lines.map(({ client, arn, repeats }) => [client, arn, repeats].filter((one) => one !== undefined));
  }
}

function pathOf({ roleARN }: RoleGrant, { client = "client", kind = "role", path }: Request): string {
  return path ?? `/v1/credentials/${kind}/${roleARN}/${client}`;
}
