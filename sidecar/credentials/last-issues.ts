import type { RoleGrant } from "../../shared/core/grant.ts";
import type { AuditClient, AuditLog, Issue } from "../audit-log.ts";
import type { BaseIdentity, VerifiedBase } from "../base/identity.ts";
import type { RepeatEntry } from "../repeat-counter.ts";
import type { CredentialCache } from "./cache.ts";
import type { IssuedKind } from "./issued-journal.ts";
import type { StoredKey } from "./issued.ts";
import type { Entry, Lookup } from "./session.ts";

/** A session of default settings, which all clients of its role share. */
export interface SharedSession {
  /** The identity that assumed the role. */
  readonly base: VerifiedBase;
  readonly lookup: Lookup;
}

/** Credentials that are recorded for `/sts`. */
interface RecordedIssue extends Issue {
  readonly stored: StoredKey;
  /** Absent if clients do not share the session. */
  readonly shared?: SharedSession;
}

/** What a client got, and all that decides whether a client can get it again. */
interface LastIssue extends SharedSession, Pick<RecordedIssue, "credentials" | "stored"> {
  readonly entry: Entry;
  readonly clientKey: string;
  /** The entry of the audit log. */
  readonly repeats: RepeatEntry;
}

interface LastIssuesPorts {
  readonly base: Pick<BaseIdentity, "verified">;
  readonly sessions: Pick<CredentialCache, "find" | "reuse">;
  readonly audit: Pick<AuditLog, "issued" | "issuedAgain">;
}

/**
 * The last issue of each grant, so that a repeated request finds all that it needs in one place, and not in a map of
 * each module: each of these lookups reads memory that the caches of the processor no longer hold.
 */
export class LastIssues {
  readonly #ports: LastIssuesPorts;
  /** Grants are the same until the inventory changes, and there are at most as many as paths and roles remembered. */
  readonly #last = new WeakMap<RoleGrant, LastIssue>();

  constructor(ports: LastIssuesPorts) {
    this.#ports = ports;
  }

  /** Logs or counts the issue, and remembers it. */
  issue({ grant, client, stored, credentials, sessionKey, shared }: RecordedIssue): void {
    const { audit, sessions } = this.#ports;
    const repeats = audit.issued({ grant, credentials, sessionKey, client });
    const entry = sessions.find(sessionKey);
    if (grant.verdict !== "role" || shared === undefined || entry === undefined || repeats === undefined) return;
    const { base, lookup } = shared;
    this.#last.set(grant, { base, lookup, entry, credentials, stored, clientKey: client.key, repeats });
  }

  /** Returns the last issue of the grant, if these credentials are still recorded for the kind. */
  find(grant: RoleGrant, kind: IssuedKind): LastIssue | null {
    const last = this.#last.get(grant);
    if (last === undefined || last.base !== this.#ports.base.verified || !last.stored.isRecorded) return null;
    return kind === "base" && last.stored.issued.kind !== "base" ? null : last;
  }

  /** Issues the credentials again, if they are still cached. Returns whether they are. */
  reissue(last: LastIssue, grant: RoleGrant, client: AuditClient): boolean {
    const { audit, sessions } = this.#ports;
    const { credentials, entry, lookup, stored } = last;
    if (!sessions.reuse(entry, lookup, credentials)) return false;
    if (last.clientKey === client.key && audit.issuedAgain(last.repeats, credentials)) return true;
    this.issue({ grant, client, stored, credentials, sessionKey: lookup.key, shared: last });
    return true;
  }
}
