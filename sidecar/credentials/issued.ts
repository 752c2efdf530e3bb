import type { Clock } from "../../shared/inventory/clock.ts";
import { UNKNOWN_LIFE_MS } from "../http/respond.ts";
import { tokenDigest } from "../sts/signature.ts";
import { type Issued, IssuedJournal, type IssuedJournalPorts, type IssuedKind } from "./issued-journal.ts";
import type { Credentials } from "./session.ts";

interface Entry {
  readonly issued: Issued;
  /** Settles once the journal has it. */
  readonly kept: Promise<void>;
}

/** A long-lived key is said to live for 20 minutes at a time, and is known for longer than anybody waits to ask again. */
const LONG_LIVED_MS = 3 * UNKNOWN_LIFE_MS;
/** So long after its end a key is still known, so that a late caller reads ExpiredToken. */
const EXPIRED_KEPT_MS = 15 * 60_000;
/** Over what 1,000 sessions, renewed at half of their life, leave behind. */
const LIMIT = 10_000;

/** What this sidecar has issued, by access key id, until it has expired; with a journal, across restarts. */
export class IssuedCredentials {
  readonly #clock: Pick<Clock, "now">;
  readonly #entries = new Map<string, Entry>();
  /** What covers credentials that are given out as one object many times, so that they are looked into once. */
  readonly #seen = new WeakMap<Credentials, Entry>();
  #journal: IssuedJournal | null = null;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Null keeps everything in memory. Rejects with ERR_CONFIG_INVALID where the folder cannot be used. */
  static async open(stateDir: string | null, ports: IssuedJournalPorts & { readonly clock: Pick<Clock, "now"> }): Promise<IssuedCredentials> {
    const all = new IssuedCredentials(ports.clock);
    if (stateDir !== null) all.#journal = await IssuedJournal.open(stateDir, ports, (known) => all.#takeOver(known));
    return all;
  }

  /** To be awaited before the credentials are given out. What was issued as base stays so, whatever else it is vended for. */
  async record(credentials: Credentials, kind: IssuedKind): Promise<void> {
    const known = this.#entries.get(credentials.accessKeyID);
    const nowMs = this.#clock.now();
    if (known !== undefined && this.#covers(known, credentials, { kind, nowMs })) return known.kept;
    this.#makeRoom(nowMs);
    const issued = issuedOf(credentials, { kind: known?.issued.kind === "base" ? "base" : kind, nowMs });
    const kept = Promise.withResolvers<void>();
    this.#entries.set(issued.accessKeyID, { issued, kept: kept.promise });
    kept.resolve(this.#journal?.keep(issued, () => this.#live()));
    return kept.promise;
  }

  #covers(known: Entry, credentials: Credentials, { kind, nowMs }: { readonly kind: IssuedKind; readonly nowMs: number }): boolean {
    if (known.issued.kind !== "base" && kind === "base") return false;
    if (this.#seen.get(credentials) === known) return true;
    if (!stillSays(known.issued, credentials, nowMs)) return false;
    // Of a long-lived key the end that is remembered moves on.
    if (credentials.expirationMs !== null) this.#seen.set(credentials, known);
    return true;
  }

  /** Expired ones as well, for a while. */
  find(accessKeyID: string): Issued | undefined {
    return this.#entries.get(accessKeyID)?.issued;
  }

  /** The account of what was given out last and has not expired; null where there is nothing. */
  get accountID(): string | null {
    const nowMs = this.#clock.now();
    return [...this.#live()].findLast(({ expirationMs }) => expirationMs > nowMs)?.accountID ?? null;
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  *#live(): Iterable<Issued> {
    for (const { issued } of this.#entries.values()) yield issued;
  }

  /** Of an access key id that stands there twice the later line counts. */
  #takeOver(known: readonly Issued[]): Iterable<Issued> {
    for (const issued of known) this.#entries.set(issued.accessKeyID, { issued, kept: Promise.resolve() });
    this.#makeRoom(this.#clock.now());
    return this.#live();
  }

  /** Roles go before a controller's own identity, which they could otherwise push out. */
  #makeRoom(nowMs: number): void {
    for (const [id, { issued }] of this.#entries) if (issued.expirationMs + EXPIRED_KEPT_MS <= nowMs) this.#entries.delete(id);
    while (this.#entries.size >= LIMIT) {
      const [first] = this.#entries.keys();
      const oldest = [...this.#entries.values()].find(({ issued }) => issued.kind === "role")?.issued.accessKeyID ?? first;
      this.#entries.delete(oldest ?? "");
    }
  }
}

function issuedOf(credentials: Credentials, { kind, nowMs }: { readonly kind: IssuedKind; readonly nowMs: number }): Issued {
  const { accessKeyID, secretAccessKey, sessionToken, accountID, arn, userID, expirationMs } = credentials;
  return {
    accessKeyID, secretAccessKey, accountID, arn, userID, kind, expirationMs: expirationMs ?? nowMs + LONG_LIVED_MS,
    tokenDigest: sessionToken === null ? null : tokenDigest(sessionToken),
  };
}

/** Whether what is known says of these credentials what is given out now. */
function stillSays(known: Issued, { secretAccessKey, sessionToken, expirationMs }: Credentials, nowMs: number): boolean {
  if (known.expirationMs < (expirationMs ?? nowMs + UNKNOWN_LIFE_MS)) return false;
  const sameToken = sessionToken === null ? known.tokenDigest === null : known.tokenDigest?.equals(tokenDigest(sessionToken)) === true;
  return sameToken && known.secretAccessKey === secretAccessKey;
}
