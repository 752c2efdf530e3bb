import type { Clock } from "../../shared/core/clock.ts";
import { UNKNOWN_LIFE_MS } from "../http/respond.ts";
import { tokenDigest } from "../sts/signature.ts";
import {
  ISSUED_KINDS, IssuedJournal, type IssuedJournalPorts, type IssuedKey, type IssuedKind,
} from "./issued-journal.ts";
import type { Credentials } from "./session.ts";

interface IssuedAs {
  readonly kind: IssuedKind;
  readonly nowMs: number;
}

/** A stored key. */
export interface StoredKey {
  readonly issued: IssuedKey;
  /** Settles when the journal has recorded the key. */
  readonly recorded: Promise<void>;
  /** Whether `recorded` has settled without an error, and the key is still stored. */
  isRecorded: boolean;
}

/**
 * How long a long-lived key is stored after it was last issued, in ms. Responses state that the key expires after 20
 * minutes, so that each client requests the key again before it is deleted.
 */
const LONG_LIVED_MS = 3 * UNKNOWN_LIFE_MS;
/**
 * How long an expired key is stored, in ms. During this time, a request that is signed with the key is rejected with
 * ExpiredToken.
 */
const EXPIRED_RETENTION_MS = 15 * 60_000;
/**
 * The maximum number of stored keys. This maximum is larger than the number of unexpired keys of 1,000 sessions that
 * are refreshed regularly.
 */
const LIMIT = 10_000;

/**
 * Stores the issued credentials by access key ID until they expire. With a journal, the credentials survive a restart
 * of the sidecar.
 */
export class IssuedCredentials {
  readonly #clock: Pick<Clock, "now">;
  readonly #entries = new Map<string, StoredKey>();
  #journal: IssuedJournal | null = null;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * Returns a store that contains the keys of the journal in `stateDir`. If `stateDir` is null, credentials are stored
   * in memory only. Rejects with ERR_CONFIG_INVALID if the folder cannot be used.
   */
  static async open(
    stateDir: string | null, ports: IssuedJournalPorts & { readonly clock: Pick<Clock, "now"> },
  ): Promise<IssuedCredentials> {
    const all = new IssuedCredentials(ports.clock);
    if (stateDir !== null) all.#journal = await IssuedJournal.open(stateDir, ports, (known) => all.#restore(known));
    return all;
  }

  /**
   * Records issued credentials, and returns the stored key. Callers must wait for the result before they return the
   * credentials to a client. A key that was issued as `base` remains `base`, even if it is later issued as `role`.
   */
  async record(credentials: Credentials, kind: IssuedKind): Promise<StoredKey> {
    const known = this.#entries.get(credentials.accessKeyID);
    const nowMs = this.#clock.now();
    if (known !== undefined && covers(known.issued, credentials, { kind, nowMs })) {
      await known.recorded;
      return known;
    }
    this.#makeRoom(nowMs);
    const issued = issuedKeyOf(credentials, { kind: known?.issued.kind === "base" ? "base" : kind, nowMs });
    const recorded = Promise.withResolvers<void>();
    const entry = { issued, recorded: recorded.promise, isRecorded: false };
    this.#delete(issued.accessKeyID);
    this.#entries.set(issued.accessKeyID, entry);
    recorded.resolve(this.#journal?.record(issued, () => this.#all()));
    await recorded.promise;
    entry.isRecorded = this.#entries.get(issued.accessKeyID) === entry;
    return entry;
  }

  /** Returns the key with this ID. An expired key is still returned for 15 minutes. */
  find(accessKeyID: string): IssuedKey | undefined {
    return this.#entries.get(accessKeyID)?.issued;
  }

  /**
   * The account of the most recently issued key that has not expired, except for keys of tools; null if there is
   * no such key.
   */
  get accountID(): string | null {
    const nowMs = this.#clock.now();
    const pinning = [...this.#all()].findLast(({ kind, expirationMs }) => kind !== "tool" && expirationMs > nowMs);
    return pinning?.accountID ?? null;
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  *#all(): Iterable<IssuedKey> {
    for (const { issued } of this.#entries.values()) yield issued;
  }

  /** Stores the keys of the journal. If the journal contains an access key ID twice, uses the later line. */
  #restore(known: readonly IssuedKey[]): Iterable<IssuedKey> {
    const recorded = Promise.resolve();
    for (const issued of known) {
      this.#delete(issued.accessKeyID);
      this.#entries.set(issued.accessKeyID, { issued, recorded, isRecorded: true });
    }
    this.#makeRoom(this.#clock.now());
    return this.#all();
  }

  /**
   * Evicts keys of role sessions before base keys, so that many role sessions cannot displace the identity of a
   * controller.
   */
  #makeRoom(nowMs: number): void {
    for (const [id, { issued }] of this.#entries) {
      if (issued.expirationMs + EXPIRED_RETENTION_MS <= nowMs) this.#delete(id);
    }
    for (const kind of ISSUED_KINDS) this.#evictOldest(kind, this.#entries.size - LIMIT + 1);
  }

  #evictOldest(kind: IssuedKind, number: number): void {
    let left = number;
    if (left <= 0) return;
    for (const [id, { issued }] of this.#entries) {
      if (issued.kind !== kind) continue;
      this.#delete(id);
      if (--left === 0) return;
    }
  }

  #delete(id: string): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.isRecorded = false;
    this.#entries.delete(id);
  }
}

function issuedKeyOf(credentials: Credentials, { kind, nowMs }: IssuedAs): IssuedKey {
  const { accessKeyID, secretAccessKey, sessionToken, accountID, arn, userID, expirationMs } = credentials;
  return {
    accessKeyID, secretAccessKey, accountID, arn, userID, kind, expirationMs: expirationMs ?? nowMs + LONG_LIVED_MS,
    tokenDigest: sessionToken === null ? null : tokenDigest(sessionToken),
  };
}

/** Whether the stored key matches the credentials and the kind, and does not expire earlier than they do. */
function covers(known: IssuedKey, credentials: Credentials, { kind, nowMs }: IssuedAs): boolean {
  const { secretAccessKey, sessionToken, expirationMs } = credentials;
  if (kind === "base" && known.kind !== "base") return false;
  if (known.expirationMs < (expirationMs ?? nowMs + UNKNOWN_LIFE_MS)) return false;
  if (known.secretAccessKey !== secretAccessKey) return false;
  if (sessionToken === null) return known.tokenDigest === null;
  return known.tokenDigest?.equals(tokenDigest(sessionToken)) === true;
}
