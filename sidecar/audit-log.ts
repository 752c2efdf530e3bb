import { createHash } from "node:crypto";
import type { SteadyClock } from "../shared/core/clock.ts";
import type { SessionPolicies } from "../shared/core/session-policies.ts";
import { printable } from "../shared/formats/text.ts";
import type { Denial, Grant, RoleGrant } from "../shared/core/grant.ts";
import type { Logger } from "../shared/server/logger.ts";
import type { Credentials, SessionGrant } from "./credentials/session.ts";
import { formatExpiration } from "./http/respond.ts";
import { RepeatCounter, type RepeatEntry } from "./repeat-counter.ts";

/** The client of a request, as far as the sidecar can tell it from others: all clients use the same token. */
export interface AuditClient {
  /** The path, and what the request asks for. The same for requests that a client repeats. */
  readonly key: string;
  /** Returns the same fields as in the log of rejected requests. */
  readonly fields: () => Readonly<Record<string, unknown>>;
}

/** Credentials that a client gets. */
export interface Issue {
  readonly grant: Exclude<Grant, Denial> | SessionGrant;
  readonly credentials: Credentials;
  /** Identifies the session and its renewals. Contains no secret. */
  readonly sessionKey: string;
  readonly client: AuditClient;
}

interface AuditLogPorts {
  readonly log: Pick<Logger, "info">;
  readonly clock: Pick<SteadyClock, "steady">;
}

/** A client that gets the same session again is logged after an hour, with the number of its requests. */
const REPEATS = { periodMs: 3_600_000, limit: 5_000, maxStates: Infinity } as const;
/** The maximum length of a value of STS in a line. An ARN has at most 2,048 characters. */
const MAX_LENGTH = 2_048;

/**
 * Logs one line for each session that STS returns, and one when a client first gets a session. Both lines are written
 * before a client gets the credentials, so a sidecar that is killed has lost none of them. docs/audit-log.md documents
 * the fields.
 */
export class AuditLog {
  /** Counts the requests of a client after its line. */
  readonly repeats: RepeatCounter;
  readonly #log: AuditLogPorts["log"];

  constructor({ log, clock }: AuditLogPorts) {
    this.#log = log;
    this.repeats = new RepeatCounter({ ...REPEATS, clock });
  }

  /** Logs a session that STS returned for a role, and the session policies that were sent. */
  obtained(
    source: RoleGrant | Pick<SessionGrant, "auditFields">, credentials: Credentials, policies?: SessionPolicies,
  ): void {
    const fields = "auditFields" in source ? source.auditFields : fieldsOfRole(source);
    const limits = policies === undefined ? {} : fieldsOfPolicies(policies);
    this.#log.info({ ...fields, ...fieldsOfSession(credentials), ...limits }, "session obtained from STS");
  }

  /**
   * Logs the first time that a client gets the session, and counts its further requests. Returns the entry that counts
   * them; undefined if the client shares one with others.
   */
  issued({ grant, credentials, sessionKey, client }: Issue): RepeatEntry | undefined {
    const state = credentials.accessKeyID;
    const selectors = grant.verdict === "role" ? grant.selectors.join() : "";
    const own = { key: `${client.key} ${selectors} ${sessionKey}`, state };
    // Clients could use up all entries of clients, but not hide a session, which has an entry too.
    const repeats = this.repeats.count(own, { key: sessionKey, state });
    if (repeats !== null) {
      const fields = { ...client.fields(), ...fieldsOfGrant(grant), ...fieldsOfSession(credentials) };
      this.#log.info({ ...fields, ...(repeats > 0 && { repeats }) }, "credentials issued to a client");
    }
    return this.repeats.find(own);
  }
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOfGrant(grant: Issue["grant"]): Fields {
  if (grant.verdict === "role") return fieldsOfRole(grant);
  return grant.verdict === "base" ? { base: true } : grant.auditFields;
}

function fieldsOfRole({ roleARN, selectors }: RoleGrant): Fields {
  return { role_arn: roleARN, selectors };
}

/** A policy can contain names that its author keeps to themselves, so only its hash is logged. */
function fieldsOfPolicies({ policy, policyARNs }: SessionPolicies): Fields {
  const hash = policy === null ? {} : { session_policy_sha256: createHash("sha256").update(policy).digest("hex") };
  return { ...hash, ...(policyARNs.length > 0 && { session_policy_arns: policyARNs }) };
}

/**
 * The access key ID is not secret if STS created it for the session: CloudTrail records it with each call of the
 * session. Any other key is a key of the base identity or from a Secret, and no output of the sidecar contains these.
 */
function fieldsOfSession({ accountID, arn, accessKeyID, expirationMs, origin }: Credentials): Fields {
  const [, sessionName] = /:assumed-role\/.*\/([^/]+)$/.exec(arn) ?? [];
  const fromSTS = origin === undefined ? {} : {
    access_key_id: shown(accessKeyID),
    ...(origin.requestID !== null && { sts_request_id: shown(origin.requestID) }),
    ...(origin.sourceIdentity !== null && { source_identity: shown(origin.sourceIdentity) }),
  };
  return {
    account: shown(accountID),
    arn: shown(arn),
    ...(sessionName !== undefined && { session_name: shown(sessionName) }),
    ...fromSTS,
    expiration: expirationMs === null ? null : formatExpiration(expirationMs),
  };
}

function shown(text: string): string {
  return printable(text.slice(0, MAX_LENGTH));
}
