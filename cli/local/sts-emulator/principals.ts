import { hash } from "node:crypto";
import { parseARN } from "../../../shared/decisions/kubernetes/arn.ts";
import { makeKeys, type Signer, tokenDigest } from "../../../sidecar/sts/signature.ts";

/** Who an access key speaks for. */
export interface Principal extends Signer {
  readonly accessKeyID: string;
  readonly arn: string;
  readonly userID: string;
  readonly accountID: string;
  /** Whether the key came from AssumeRole, so that assuming another role with it is role chaining. */
  readonly isRoleSession: boolean;
}

/** A key that the emulator knows from the start, such as a sidecar's own identity. */
export interface BaseCredentials {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expirationMs?: number;
  /** An IAM user's or an assumed role's ARN; its account is the principal's. */
  readonly arn: string;
}

export interface RoleSession {
  readonly roleARN: string;
  readonly sessionName: string;
  readonly durationSeconds: number;
}

/** The keys that the emulator knows: those it was configured with and those it issued, until they have expired for a while. */
export class Principals {
  readonly #byAccessKeyID = new Map<string, Principal>();
  readonly #now: () => number;
  readonly #randomBytes: (size: number) => Buffer;

  constructor(base: readonly BaseCredentials[], now: () => number, randomBytes: (size: number) => Buffer) {
    this.#now = now;
    this.#randomBytes = randomBytes;
    for (const credentials of base) this.#add(basePrincipal(credentials));
  }

  find(accessKeyID: string): Principal | undefined {
    return this.#byAccessKeyID.get(accessKeyID);
  }

  /** A new key of its own for each call, as STS does. */
  assume({ roleARN, sessionName, durationSeconds }: RoleSession): Principal & { readonly expirationMs: number; readonly sessionToken: string } {
    this.#dropLongExpired();
    const arn = parseARN(roleARN);
    const roleName = roleARN.slice(roleARN.lastIndexOf("/") + 1);
    const accountID = arn?.accountID ?? "";
    // STS states whole seconds.
    const expirationMs = (Math.floor(this.#now() / 1000) + durationSeconds) * 1000;
    const { accessKeyID, secretAccessKey, sessionToken } = makeKeys(this.#randomBytes);
    const principal = {
      accessKeyID,
      secretAccessKey,
      tokenDigest: tokenDigest(sessionToken),
      expirationMs,
      arn: `arn:${arn?.partition ?? "aws"}:sts::${accountID}:assumed-role/${roleName}/${sessionName}`,
      userID: `${roleID(roleARN)}:${sessionName}`,
      accountID,
      isRoleSession: true,
    };
    this.#add(principal);
    return { ...principal, sessionToken };
  }

  #add(principal: Principal): void {
    this.#byAccessKeyID.set(principal.accessKeyID, principal);
  }

  // An hour of grace, so that a late caller reads ExpiredToken and not InvalidClientTokenId.
  #dropLongExpired(): void {
    const limit = this.#now() - 3_600_000;
    for (const [id, { isRoleSession, expirationMs }] of this.#byAccessKeyID) {
      if (isRoleSession && expirationMs !== null && expirationMs < limit) this.#byAccessKeyID.delete(id);
    }
  }
}

/** Stable for an ARN, as IAM's is until what it names is made anew. */
function uniqueID(prefix: "AROA" | "AIDA", arn: string): string {
  return prefix + hash("sha256", arn).slice(0, 17).toUpperCase();
}

/** The unique id of a role. */
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
    // A base session stands for what web identity or an instance profile gives: assuming a role with it is chaining too.
    isRoleSession: credentials.arn.includes(":assumed-role/"),
  };
}
