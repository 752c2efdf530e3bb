import { readFile } from "node:fs/promises";
import type { SessionPolicies } from "../../shared/core/session-policies.ts";
import { MAX_CHAINED_SECONDS, NO_EXTRAS, type SessionRequest } from "../../shared/core/session.ts";
import { partsOf } from "../../shared/refusals/refused-call.ts";
import type { CredentialCache } from "../credentials/cache.ts";
import { type Credentials, sessionKey } from "../credentials/session.ts";
import type { STS } from "../sts-upstream/client.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";
import type { BaseIdentity } from "./identity.ts";

interface ScopedBasePorts {
  readonly base: Pick<BaseIdentity, "get" | "whenVerified">;
  readonly sts: Pick<STS, "assumeRole" | "assumeRoleWithWebIdentity">;
  readonly sessions: Pick<CredentialCache, "get">;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly sessionName: string;
  readonly region: string | null;
  /** Called each time with why the credentials cannot be limited. */
  readonly onUnlimited: (reason: string) => void;
}

/**
 * The base identity with session policies. Only STS can add them, so it needs a session of its own: from the token of
 * IRSA, or else the role assumes itself, which its trust policy must allow.
 */
export class ScopedBase {
  readonly #ports: ScopedBasePorts;

  constructor(ports: ScopedBasePorts) {
    this.#ports = ports;
  }

  /** Returns the limited credentials; null if AWS does not let the sidecar limit them. Rejects if STS fails. */
  async get(policies: SessionPolicies): Promise<Credentials | null> {
    const { base, sessions, environment, sessionName, region, onUnlimited } = this.#ports;
    const { arn } = await base.whenVerified();
    const token = tokenOf(environment, arn);
    const roleARN = token?.roleARN ?? roleOf(arn);
    if (roleARN === null) {
      onUnlimited(`${arn} is not a session of a role`);
      return null;
    }
    const request: SessionRequest = {
      ...NO_EXTRAS, sourceIdentity: null, roleARN, sessionName, durationSeconds: MAX_CHAINED_SECONDS,
      transitiveTagKeys: [], ...policies,
    };
    const key = sessionKey(request, { identity: arn, region, owner: "base" });
    try {
      return await sessions.get({ key, grantedBy: this, load: (signal) => this.#load(request, token, signal) });
    } catch (error) {
      // With the token of IRSA, STS can always limit the session.
      const isRefused = token === null && error instanceof UpstreamSTSError && REFUSALS.has(error.stsCode);
      if (!isRefused) throw error;
      onUnlimited(error.message);
      return null;
    }
  }

  async #load(request: SessionRequest, token: TokenSource | null, signal: AbortSignal): Promise<Credentials> {
    const { base, sts } = this.#ports;
    if (token === null) return sts.assumeRole(await base.get(), request, signal);
    return sts.assumeRoleWithWebIdentity((await readFile(token.file, "utf8")).trim(), request, signal);
  }
}

/** What STS says for good of a role that assumes itself. */
const REFUSALS: ReadonlySet<string> = new Set(["AccessDenied", "AccessDeniedException", "PackedPolicyTooLarge"]);

interface TokenSource {
  readonly file: string;
  readonly roleARN: string;
}

/** Returns the token from which the base identity is; null if it is not from one, whatever the variables say. */
function tokenOf(environment: ScopedBasePorts["environment"], arn: string): TokenSource | null {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file = "", AWS_ROLE_ARN: roleARN = "" } = environment;
  const [own, role] = [partsOf(arn), partsOf(roleARN)];
  const isOwn = own?.isSession === true && own.accountID === role?.accountID && own.roleName === role.roleName;
  return file !== "" && isOwn ? { file, roleARN } : null;
}

/** Returns the role of a session, whose ARN does not tell the path of the role; null for a user. */
function roleOf(arn: string): string | null {
  const parts = partsOf(arn);
  return parts?.isSession === true ? `arn:${parts.partition}:iam::${parts.accountID}:role/${parts.roleName}` : null;
}
