import { hash } from "node:crypto";
import { LIMITS } from "../../../shared/core/limits.ts";
import { accountOfARN, parseARN, sessionARN } from "../../../shared/formats/arn.ts";
import { BoundedMap } from "../../../shared/server/bounded-map.ts";
import { makeKeys, type Signer, tokenDigest } from "../../../sidecar/sts/signature.ts";

/** An access key, and the identity that it belongs to. */
export interface Principal extends Signer {
  readonly accessKeyID: string;
  readonly arn: string;
  readonly userID: string;
  readonly accountID: string;
  /**
   * Whether the key belongs to a role session. A call of AssumeRole that is signed with a key of a role session is role
   * chaining.
   */
  readonly isRoleSession: boolean;
}

/** An access key that the emulator accepts from its start, such as a sidecar's base identity. */
export interface BaseCredentials {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expirationMs?: number;
  /** The ARN of an IAM user or an assumed role. The ARN determines the account of the principal. */
  readonly arn: string;
}

interface IssuedPrincipal extends Principal {
  readonly expirationMs: number;
  readonly sessionToken: string;
}

interface RoleSession {
  readonly roleARN: string;
  readonly sessionName: string;
  readonly durationSeconds: number;
}

/** Stores the configured keys and up to 10,000 issued keys. Issued keys are deleted one hour after they expire. */
export class Principals {
  readonly #base: ReadonlyMap<string, Principal>;
  /** The role sessions, oldest first. */
  readonly #sessions = new BoundedMap<string, IssuedPrincipal>(LIMITS.emulatorSessions.value);
  readonly #now: () => number;
  readonly #randomBytes: (size: number) => Buffer;

  constructor(base: readonly BaseCredentials[], now: () => number, randomBytes: (size: number) => Buffer) {
    this.#now = now;
    this.#randomBytes = randomBytes;
    this.#base = new Map(base.map((credentials) => [credentials.accessKeyID, basePrincipal(credentials)]));
  }

  find(accessKeyID: string): Principal | undefined {
    return this.#base.get(accessKeyID) ?? this.#sessions.get(accessKeyID);
  }

  /** Returns the session of a role. Each call returns a new key, as in STS. */
  assume({ roleARN, sessionName, durationSeconds }: RoleSession): IssuedPrincipal {
    this.#deleteLongExpired();
    // STS returns expirations in whole seconds.
    const expirationMs = (Math.floor(this.#now() / 1000) + durationSeconds) * 1000;
    const { accessKeyID, secretAccessKey, sessionToken } = makeKeys(this.#randomBytes);
    const principal = {
      accessKeyID,
      secretAccessKey,
      tokenDigest: tokenDigest(sessionToken),
      expirationMs,
      arn: sessionARN(roleARN, sessionName),
      userID: `${roleID(roleARN)}:${sessionName}`,
      accountID: accountOfARN(roleARN) ?? "",
      isRoleSession: true,
    };
    const session = { ...principal, sessionToken };
    this.#sessions.set(accessKeyID, session);
    return session;
  }

  // Expired keys are stored for one hour, so that a late caller receives ExpiredToken and not InvalidClientTokenId.
  #deleteLongExpired(): void {
    const limit = this.#now() - 3_600_000;
    for (const [id, { expirationMs }] of this.#sessions) if (expirationMs < limit) this.#sessions.delete(id);
  }
}

/**
 * Returns an ID that depends only on the ARN. In contrast to IAM, a recreated user or role has the same ID as before.
 */
function uniqueID(prefix: "AROA" | "AIDA", arn: string): string {
  return prefix + hash("sha256", arn).slice(0, 17).toUpperCase();
}

/** Returns the unique ID of a role. */
export function roleID(roleARN: string): string {
  return uniqueID("AROA", roleARN);
}

function basePrincipal(credentials: BaseCredentials): Principal {
  const accountID = parseARN(credentials.arn)?.accountID ?? "";
  return {
    accessKeyID: credentials.accessKeyID,
    secretAccessKey: credentials.secretAccessKey,
    tokenDigest: credentials.sessionToken === undefined ? null : tokenDigest(credentials.sessionToken),
    expirationMs: credentials.expirationMs ?? null,
    arn: credentials.arn,
    userID: uniqueID("AIDA", credentials.arn),
    accountID,
    // A base session stands for a web identity or an instance profile. Assuming a role from a base session is also role
    // chaining.
    isRoleSession: credentials.arn.includes(":assumed-role/"),
  };
}
