import { describeIdentity } from "../../shared/decisions/identities/denials.ts";
import type { RoleIdentity, ServiceAccountIdentity } from "../../shared/decisions/identities/identity.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";

/** An identity whose role STS rejected. */
export type RefusedRole =
  | {
    readonly identity: RoleIdentity;
    /** Returns the ARN of the caller, which the trust policy of the role must name; null if the ARN is unknown. */
    readonly caller: () => Promise<string | null>;
  }
  | {
    readonly identity: ServiceAccountIdentity;
    /** Sentences that describe the fix; "" if the fix is unknown. */
    readonly fix: string;
  };

/** The error of a chain in which STS rejected the role of one identity. */
export class RefusedRoleError extends UpstreamSTSError {
  /** The identity whose role STS rejected, which can be a source of the requested identity. */
  readonly identity: RoleIdentity;

  constructor(identity: RoleIdentity, cause: UpstreamSTSError) {
    super(`${describeIdentity(identity)} cannot be assumed: ${cause.message}`, cause);
    this.identity = identity;
  }
}
