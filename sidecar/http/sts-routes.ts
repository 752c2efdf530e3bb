import { checkProfileKnown } from "../installed-profile.ts";
import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, ResolverError } from "../../shared/formats/errors.ts";
import { differingExtras } from "../../shared/core/session-annotations.ts";
import { MAX_CHAINED_SECONDS, type SessionExtras, type SessionTag } from "../../shared/core/session.ts";
import { grantRole } from "../../shared/core/grant-decision.ts";
import type { Grant } from "../../shared/core/grant.ts";
import { notLoaded } from "../../shared/server/readiness.ts";
import type { IssuedKey } from "../credentials/issued-journal.ts";
import type { IssuedCredentials } from "../credentials/issued.ts";
import type { Issuer } from "../credentials/issuer.ts";
import type { Credentials } from "../credentials/session.ts";
import type { SidecarOptions } from "../options.ts";
import { RejectedSignerError, UpstreamSTSError } from "../sts-upstream/errors.ts";
import { type AssumeRoleForm, chainedDurationError, readAssumeRole } from "../sts/assume-role-form.ts";
import {
  type Content, readAction, readForm, renderError, renderResult, sanitize, STSErrorResponse,
} from "../sts/query-protocol.ts";
import { readSignedHeaders, type SignedHeaders, verifySignature } from "../sts/signature.ts";
import { clientFields, type CredentialRoutePorts } from "./credential-routes.ts";
import { STS_PATHS } from "./request-check.ts";
import { ANSWER_LIMIT_MS, formatExpiration, statedExpirationMs, withAnswerLimit } from "./respond.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The headers of a request to `/sts`; undefined if it is not signed. */
    signed: SignedHeaders<IssuedKey> | undefined;
  }
}

export interface STSRoutePorts extends CredentialRoutePorts {
  readonly issued: Pick<IssuedCredentials, "find">;
}

/** An STS request whose signature is valid. */
interface STSRequest {
  readonly form: URLSearchParams;
  readonly action: string;
  readonly caller: IssuedKey;
  /** The region for which the client has signed the request: ACK calls STS in that of the resource. */
  readonly region: string;
  readonly request: FastifyRequest;
  readonly options: SidecarOptions;
  readonly ports: STSRoutePorts;
}

/**
 * Returns the AssumeRole result. Validates the form as STS does, checks that a selector grants the role, and gets a
 * session from the cache or from STS.
 */
async function assumeRole({ form, caller, region, request, options, ports }: STSRequest): Promise<Content> {
  const requested = readAssumeRole(form);
  const { source, answers, issuer, clock } = ports;
  const { durationSeconds, roleARN } = requested;
  checkCaller(caller, requested);
  if (!source.status.loaded) throw notLoaded(source.status);
  checkProfileKnown(ports.profile);
  const { knowledge } = answers;
  const grant = grantRole(knowledge.inventory, roleARN, options);
  const current = (): Grant => (
    answers.knowledge === knowledge ? grant : grantRole(source.inventory, roleARN, options)
  );
  request.grant = grant;
  if (grant.verdict === "role") checkExtras(requested, grant.extras);
  const client = {
    key: `sts ${region} ${withoutTime(requested.sessionName)}`,
    fields: () => ({ ...clientFields(request), requested_session_name: requested.sessionName, region }),
  };
  const issue = { kind: "role", client, requested } as const;
  const sourceIdentity = grant.verdict === "role" ? grant.extras.sourceIdentity : null;
  const credentials = await withAnswerLimit(clock, ANSWER_LIMIT_MS.sts, async (isLate) => {
    if (durationSeconds > MAX_CHAINED_SECONDS && (await issuer.isChained())) throw chainedDurationError();
    return await issueWhileGranted(issuer, { grant, current, issue: { ...issue, isLate } });
  });
  const nowMs = clock.now();
  return contentOf(credentials, { sourceIdentity, untilMs: nowMs + durationSeconds * 1000, nowMs });
}

interface Waiting {
  readonly grant: Grant;
  /** Returns the decision on the inventory as it is now. */
  readonly current: () => Grant;
  readonly issue: Parameters<Issuer["credentialsFor"]>[1] & { readonly isLate: () => boolean };
}

/** Rejects if the role is removed, or its session settings change, while the request waits. */
async function issueWhileGranted(issuer: Issuer, { grant, current, issue }: Waiting): Promise<Credentials> {
  let last: Grant = grant;
  const isLate = (): boolean => {
    last = current();
    return issue.isLate() || !isSameSession(last, grant);
  };
  const { credentials } = await issuer.credentialsFor(grant, { ...issue, isLate });
  if (last.verdict === "denied") throw new ResolverError(last.code, last.message);
  if (!isSameSession(last, grant)) throw new ResolverError("ERR_STS_UNAVAILABLE", CHANGED);
  return credentials;
}

const CHANGED = "The session settings of the role have changed while the request waited. Retry to get a new session.";

function isSameSession(a: Grant, b: Grant): boolean {
  return a.verdict === "role" && b.verdict === "role" && differingExtras(a.extras, b.extras).length === 0;
}

/**
 * Returns the session name without the time that it ends with, in s, ms, µs or ns. SDKs add the time to their default
 * session names, such as `aws-go-sdk-1700000000000000000`, so that each object of one client has another name.
 */
function withoutTime(sessionName: string): string {
  return sessionName.replace(/-(\d{10}|\d{13}|\d{16}|\d{19})$/, "-");
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
    `${different.join(", ")}: the IAMRoleSelector of the role, or the default of the sidecar, has different values. `
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

/**
 * The fixes to append to messages that state only a fault, because clients of `/sts` show only the code and the message
 * to their users. The messages of other errors already contain a fix.
 */
const FIXES: Partial<Record<ErrorCode, string>> = {
  ERR_SELECTOR_CONFLICT: "Change the IAMRoleSelectors so that only one selects the resource.",
  ERR_SELECTOR_MALFORMED: "Correct the faults; `ack-role-resolver lint` reports them.",
  ERR_SELECTOR_UNMATCHED: "Create an IAMRoleSelector that selects the resource, or set --unmatched base.",
  ERR_STS_UNAVAILABLE: "The sidecar retries automatically.",
  ERR_BASE_UNAVAILABLE: "Configure web identity or EKS Pod Identity for the service account of the Pod.",
};

const SIGN = "Sign the request with credentials of GET /v1/credentials: set AWS_CONTAINER_CREDENTIALS_FULL_URI, and "
  + "remove other credentials from the controller's container.";

/**
 * The fixes for a request whose signature the sidecar rejects. The fixes are appended to the messages of STS, which
 * contain no fix.
 */
const SIGNATURE_FIXES: Readonly<Record<string, string>> = {
  InvalidClientTokenId: `${SIGN} If the sidecar restarted, set --state-dir.`,
  SignatureDoesNotMatch: SIGN,
  MissingAuthenticationToken: SIGN,
  IncompleteSignature: SIGN,
  ExpiredToken: "Do not copy credentials: set AWS_CONTAINER_CREDENTIALS_FULL_URI, so that the client refreshes them.",
};

/** Returns the message with the fix and the code. */
function messageWithFix(error: ResolverError): string {
  const { code, message } = error;
  return `${join(message, error instanceof RejectedSignerError ? undefined : FIXES[code])} (${code})`;
}

/** Returns the message of a rejected signature with the fix. SDKs print the code before the message. */
function signatureMessage(stsCode: string, message: string): string {
  const isLate = message.startsWith("Signature expired");
  return join(message, isLate ? "Correct the clock of the client." : SIGNATURE_FIXES[stsCode]);
}

function join(message: string, fix: string | undefined): string {
  if (fix === undefined) return message;
  return `${message}${/[.!?]$/.test(message) ? "" : "."} ${fix}`;
}

type STSError = readonly [code: string, status: number];

/** The sidecar's error codes that have an equivalent STS error. */
const STS_ERRORS: Partial<Record<ErrorCode, STSError>> = {
  ERR_REQUEST_MALFORMED: ["MalformedQueryString", 400],
  ERR_REQUEST_METHOD: ["MethodNotAllowed", 405],
  ERR_REQUEST_MEDIA_TYPE: ["UnsupportedMediaType", 415],
  ERR_REQUEST_TOO_LARGE: ["RequestEntityTooLarge", 413],
  ERR_INTERNAL: ["InternalFailure", 500],
};
/** The STS error for a 503 of the sidecar. SDKs retry this error. */
const UNAVAILABLE: STSError = ["ServiceUnavailable", 503];
const ACCESS_DENIED: STSError = ["AccessDenied", 403];

/** Converts an error to an STS code and status. An error that upstream STS returned keeps its code and status. */
export function toSTSError(error: ResolverError | STSErrorResponse): STSErrorResponse {
  if (error instanceof STSErrorResponse) {
    return new STSErrorResponse(error.code, error.status, signatureMessage(error.code, error.message));
  }
  if (error instanceof UpstreamSTSError) {
    const { stsCode, stsStatus } = error;
    return new STSErrorResponse(stsCode, stsStatus, messageWithFix(error));
  }
  const [code, status] = STS_ERRORS[error.code] ?? (error.status === 503 ? UNAVAILABLE : ACCESS_DENIED);
  return new STSErrorResponse(code, status, messageWithFix(error));
}

/**
 * The accepted difference between the clocks of the signer and the sidecar, in ms. The signer runs on the same machine
 * as the sidecar, so the difference is small.
 */
const SKEW_MS = 5 * 60_000;

/** Adds the routes of the STS query protocol. */
export function addSTSRoutes(app: FastifyInstance, options: SidecarOptions, ports: STSRoutePorts): void {
  const find = (accessKeyID: string): IssuedKey | undefined => ports.issued.find(accessKeyID);
  app.decorateRequest("signed", undefined);
  const onRequest = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
    // An unsigned request may be AssumeRoleWithWebIdentity, whose error names the variables to remove.
    if (request.headers.authorization !== undefined) request.signed = readSignedHeaders(request.raw, find);
    done();
  };
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const form = readForm(body);
    const action = readAction(form);
    const signed = request.signed ?? readSignedHeaders(request.raw, find);
    const caller = await verifySignature(request.raw, body, signed, { nowMs: ports.clock.now(), skewMs: SKEW_MS });
    request.requested = () => {
      const roleARN = form.get("RoleArn");
      return { action: sanitize(action), caller: caller.arn, ...(roleARN !== null && { role_arn: sanitize(roleARN) }) };
    };
    const region = sanitize(signed.claim.region);
    const result = await perform({ form, action, caller, region, request, options, ports });
    return send(reply, 200, (requestID) => renderResult(action, result, requestID));
  };
  for (const path of STS_PATHS) app.post(path, { onRequest }, handle);
}

export function sendSTSError(reply: FastifyReply, error: STSErrorResponse): FastifyReply {
  return send(reply, error.status, (requestID) => renderError(error, requestID));
}

async function perform(request: STSRequest): Promise<Content> {
  const { form, action, caller } = request;
  if (action === "AssumeRole") return assumeRole(request);
  const { arn, userID, accountID } = caller;
  if (action === "GetCallerIdentity") return { Arn: arn, UserId: userID, Account: accountID };
  const version = form.get("Version") ?? "NO_VERSION_SPECIFIED";
  const message = `Could not find operation ${sanitize(action)} for version ${sanitize(version)}.`;
  throw new STSErrorResponse("InvalidAction", 400, `${message} Supported actions: AssumeRole, GetCallerIdentity.`);
}

function send(reply: FastifyReply, status: number, render: (requestID: string) => string): FastifyReply {
  const requestID = randomUUID();
  const headers = { "content-type": "text/xml", "x-amzn-requestid": requestID, "cache-control": "no-store" };
  // The body is a Buffer, because fastify appends a charset to the Content-Type of a string.
  return reply.code(status).headers(headers).send(Buffer.from(render(requestID)));
}
