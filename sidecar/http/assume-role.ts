import type { FastifyRequest } from "fastify";
import { grantRole } from "../../shared/decisions/grants/decide.ts";
import { CHAINED_SECONDS, type SessionExtras, type SessionTag } from "../../shared/decisions/selectors/session.ts";
import type { Issued } from "../credentials/issued-journal.ts";
import type { IssuedCredentials } from "../credentials/issued.ts";
import type { Credentials } from "../credentials/session.ts";
import type { SidecarOptions } from "../options.ts";
import { type AssumeRoleForm, longChaining, readAssumeRole } from "../sts/assume-role-form.ts";
import { type Content, STSErrorResponse } from "../sts/response.ts";
import { type CredentialRoutePorts, requireLoaded } from "./credential-routes.ts";
import { notesOf } from "./request-context.ts";
import { formatExpiration, statedExpirationMs } from "./respond.ts";

export interface STSRoutePorts extends CredentialRoutePorts {
  readonly issued: Pick<IssuedCredentials, "find">;
}

/** One request of a caller who is believed. */
export interface STSQuestion {
  readonly form: URLSearchParams;
  readonly caller: Issued;
  readonly request: FastifyRequest;
  readonly options: SidecarOptions;
  readonly ports: STSRoutePorts;
  /** Whether nobody waits for the answer any more. */
  readonly isLate: () => boolean;
}

/** AssumeRole: checked as STS does, decided as on the credential paths, and only then got from the cache or from STS. */
export async function assumeGranted({ form, caller, request, options, ports, isLate }: STSQuestion): Promise<Content> {
  const asked = readAssumeRole(form);
  const { source, vending, clock } = ports;
  if (asked.durationSeconds > CHAINED_SECONDS && (await vending.chains())) throw longChaining();
  if (caller.kind !== "base") throw denied(`Role chaining is not granted: ${caller.arn} is a role already. Ask with the credentials of GET /v1/credentials.`);
  if (asked.proofs.length > 0) throw denied(`${asked.proofs.join(", ")}: the sidecar asks STS with its own identity, which these prove nothing of. Leave them out.`);
  requireLoaded(source);
  const grant = grantRole(source.inventory, asked.roleARN, options);
  notesOf(request).grant = grant;
  if (grant.verdict === "role") refuseOtherExtras(asked, grant.extras);
  const credentials = await vending.credentialsFor(grant, { as: "role", wanted: asked, isLate });
  const sourceIdentity = grant.verdict === "role" ? grant.extras.sourceIdentity : null;
  return contentOf(credentials, { sourceIdentity, untilMs: clock.now() + asked.durationSeconds * 1000, nowMs: clock.now() });
}

/** The selector alone says these; a client may repeat them. Its values are not told: an external ID is for the two ends alone. */
function refuseOtherExtras(asked: AssumeRoleForm, extras: SessionExtras): void {
  const others = [
    ...(asked.externalID === null || asked.externalID === extras.externalID ? [] : ["ExternalId"]),
    ...(asked.sourceIdentity === null || asked.sourceIdentity === extras.sourceIdentity ? [] : ["SourceIdentity"]),
    ...(asked.tags.length === 0 || sameTags(asked.tags, extras.tags) ? [] : ["Tags"]),
    ...(asked.transitiveTagKeys.length === 0 ? [] : ["TransitiveTagKeys"]),
  ];
  if (others.length === 0) return;
  throw denied(`${others.join(", ")}: not what the IAMRoleSelector of the role says. Leave them out, or annotate the selector (ack-role-resolver.io/external-id, /source-identity, /session-tags).`);
}

function sameTags(asked: readonly SessionTag[], given: readonly SessionTag[]): boolean {
  const values = new Map(given.map(({ key, value }) => [key, value]));
  return asked.length === given.length && asked.every(({ key, value }) => values.get(key) === value);
}

interface Stated {
  readonly sourceIdentity: string | null;
  /** The end of what the client asked for. */
  readonly untilMs: number;
  readonly nowMs: number;
}

function contentOf(credentials: Credentials, { sourceIdentity, untilMs, nowMs }: Stated): Content {
  const { accessKeyID, secretAccessKey, sessionToken, expirationMs, arn, userID, packedPolicySize } = credentials;
  return {
    AssumedRoleUser: { AssumedRoleId: userID, Arn: arn },
    Credentials: {
      AccessKeyId: accessKeyID,
      SecretAccessKey: secretAccessKey,
      SessionToken: sessionToken ?? "",
      // Go uses what AssumeRole gave to the last second.
      Expiration: formatExpiration(Math.min(statedExpirationMs(expirationMs ?? untilMs, nowMs), untilMs)),
    },
    PackedPolicySize: packedPolicySize?.toString(),
    SourceIdentity: sourceIdentity ?? undefined,
  };
}

function denied(message: string): STSErrorResponse {
  return new STSErrorResponse("AccessDenied", 403, message);
}
