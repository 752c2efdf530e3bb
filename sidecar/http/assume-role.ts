import type { FastifyRequest } from "fastify";
import { grantRole } from "../../shared/resolution/grant-decision.ts";
import { MAX_CHAINED_SECONDS, type SessionExtras, type SessionTag } from "../../shared/model/session.ts";
import { requireLoaded } from "../../shared/server/readiness.ts";
import type { IssuedKey } from "../credentials/issued-journal.ts";
import type { IssuedCredentials } from "../credentials/issued.ts";
import type { Credentials } from "../credentials/session.ts";
import type { SidecarOptions } from "../options.ts";
import { type AssumeRoleForm, chainedDurationError, readAssumeRole } from "../sts/assume-role-form.ts";
import { type Content, STSErrorResponse } from "../sts/query-protocol.ts";
import type { CredentialRoutePorts } from "./credential-routes.ts";
import { formatExpiration, statedExpirationMs } from "./respond.ts";

export interface STSRoutePorts extends CredentialRoutePorts {
  readonly issued: Pick<IssuedCredentials, "find">;
}

/** An STS request whose signature is valid. */
export interface STSRequest {
  readonly form: URLSearchParams;
  readonly caller: IssuedKey;
  readonly request: FastifyRequest;
  readonly options: SidecarOptions;
  readonly ports: STSRoutePorts;
  /** Returns true after the answer limit, when the client no longer waits for the response. */
  readonly isLate: () => boolean;
}

/**
 * Returns the AssumeRole result. Validates the form as STS does, checks that a selector grants the role, and gets a
 * session from the cache or STS.
 */
export async function assumeRole({ form, caller, request, options, ports, isLate }: STSRequest): Promise<Content> {
  const requested = readAssumeRole(form);
  const { source, issuer, clock } = ports;
  const { durationSeconds } = requested;
  if (durationSeconds > MAX_CHAINED_SECONDS && (await issuer.isChained())) throw chainedDurationError();
  checkCaller(caller, requested);
  requireLoaded(source.status);
  const grant = grantRole(source.inventory, requested.roleARN, options);
  request.grant = grant;
  if (grant.verdict === "role") checkExtras(requested, grant.extras);
  const credentials = await issuer.credentialsFor(grant, { kind: "role", requested, isLate });
  const sourceIdentity = grant.verdict === "role" ? grant.extras.sourceIdentity : null;
  const nowMs = clock.now();
  return contentOf(credentials, { sourceIdentity, untilMs: nowMs + durationSeconds * 1000, nowMs });
}

function checkCaller({ kind, arn }: IssuedKey, { identityProofs }: AssumeRoleForm): void {
  if (kind !== "base") {
    const fix = "Sign with the credentials of GET /v1/credentials.";
    throw accessDenied(`Role chaining is not allowed: ${arn} is a role session. ${fix}`);
  }
  if (identityProofs.length > 0) {
    const reason = "not supported, because the sidecar calls STS with its own identity";
    throw accessDenied(`${identityProofs.join(", ")}: ${reason}. Remove these parameters.`);
  }
}

/**
 * Throws if session extras of the request differ from those of the selector. The message omits the values, because an
 * external ID is a secret.
 */
function checkExtras(requested: AssumeRoleForm, extras: SessionExtras): void {
  const { externalID, sourceIdentity, tags, transitiveTagKeys } = requested;
  const different = [
    ...(externalID === null || externalID === extras.externalID ? [] : ["ExternalId"]),
    ...(sourceIdentity === null || sourceIdentity === extras.sourceIdentity ? [] : ["SourceIdentity"]),
    ...(tags.length === 0 || sameTags(tags, extras.tags) ? [] : ["Tags"]),
    ...(transitiveTagKeys.length === 0 ? [] : ["TransitiveTagKeys"]),
  ];
  if (different.length === 0) return;
  const annotations = "ack-role-resolver.io/external-id, /source-identity, /session-tags";
  throw accessDenied(
    `${different.join(", ")}: the IAMRoleSelector of the role has different values. `
      + `Remove these parameters, or annotate the selector (${annotations}).`,
  );
}

function sameTags(a: readonly SessionTag[], b: readonly SessionTag[]): boolean {
  const values = new Map(b.map(({ key, value }) => [key, value]));
  return a.length === b.length && a.every(({ key, value }) => values.get(key) === value);
}

interface ContentOptions {
  readonly sourceIdentity: string | null;
  /** The end of the session duration that the client requested, in epoch ms. */
  readonly untilMs: number;
  readonly nowMs: number;
}

function contentOf(credentials: Credentials, { sourceIdentity, untilMs, nowMs }: ContentOptions): Content {
  const { accessKeyID, secretAccessKey, sessionToken, expirationMs, arn, userID, packedPolicySize } = credentials;
  return {
    AssumedRoleUser: { AssumedRoleId: userID, Arn: arn },
    Credentials: {
      AccessKeyId: accessKeyID,
      SecretAccessKey: secretAccessKey,
      SessionToken: sessionToken ?? "",
      // The stated expiration is earlier than the true expiration, because the SDK for Go uses AssumeRole credentials
      // until the last second.
      Expiration: formatExpiration(Math.min(statedExpirationMs(expirationMs ?? untilMs, nowMs), untilMs)),
    },
    PackedPolicySize: packedPolicySize?.toString(),
    SourceIdentity: sourceIdentity ?? undefined,
  };
}

function accessDenied(message: string): STSErrorResponse {
  return new STSErrorResponse("AccessDenied", 403, message);
}
