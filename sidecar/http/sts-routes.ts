import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, ResolverError } from "../../shared/decisions/errors.ts";
import type { IssuedKey } from "../credentials/issued-journal.ts";
import type { SidecarOptions } from "../options.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";
import {
  type Content, readForm, renderError, renderResult, sanitize, STSErrorResponse,
} from "../sts/query-protocol.ts";
import { verifySignature } from "../sts/signature.ts";
import { withAnswerLimit } from "./answer-limit.ts";
import { assumeRole, type STSRequest, type STSRoutePorts } from "./assume-role.ts";
import { STS_PATHS } from "./request-check.ts";
import { messageWithFix, signatureMessage } from "./sts-fixes.ts";

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
    return new STSErrorResponse(stsCode, stsStatus, messageWithFix(error.code, error.message, stsCode));
  }
  const [code, status] = STS_ERRORS[error.code] ?? (error.status === 503 ? UNAVAILABLE : ACCESS_DENIED);
  return new STSErrorResponse(code, status, messageWithFix(error.code, error.message));
}

/**
 * The accepted difference between the clocks of the signer and the sidecar, in ms. The signer runs on the same machine
 * as the sidecar, so the difference is small.
 */
const SKEW_MS = 5 * 60_000;
/** The actions that clients call without credentials. */
const UNSIGNED_ACTIONS: ReadonlySet<string> = new Set(["AssumeRoleWithWebIdentity"]);

/** Adds the routes of the STS query protocol. */
export function addSTSRoutes(app: FastifyInstance, options: SidecarOptions, ports: STSRoutePorts): void {
  const find = (accessKeyID: string): IssuedKey | undefined => ports.issued.find(accessKeyID);
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const form = readForm(body);
    const action = actionOf(form);
    const caller = await verifySignature(request.raw, body, { find, nowMs: ports.clock.now(), skewMs: SKEW_MS });
    const roleARN = form.get("RoleArn");
    request.requested = {
      action: sanitize(action),
      caller: caller.arn,
      ...(roleARN !== null && { role_arn: sanitize(roleARN) }),
    };
    const result = await withAnswerLimit(ports.clock, (isLate) =>
      perform(action, { form, caller, request, options, ports, isLate }));
    return send(reply, 200, (requestID) => renderResult(action, result, requestID));
  };
  for (const path of STS_PATHS) app.post(path, handle);
}

export function sendSTSError(reply: FastifyReply, error: STSErrorResponse): FastifyReply {
  return send(reply, error.status, (requestID) => renderError(error, requestID));
}

function actionOf(form: URLSearchParams): string {
  const action = form.get("Action") ?? "";
  if (action === "") throw new STSErrorResponse("MissingAction", 400, "The form body has no Action parameter.");
  if (!UNSIGNED_ACTIONS.has(action)) return action;
  const fix = "Remove AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE from the controller's container.";
  throw new STSErrorResponse("AccessDenied", 403, `The sidecar does not support ${action}. ${fix}`);
}

async function perform(action: string, request: STSRequest): Promise<Content> {
  if (action === "AssumeRole") return assumeRole(request);
  const { arn, userID, accountID } = request.caller;
  if (action === "GetCallerIdentity") return { Arn: arn, UserId: userID, Account: accountID };
  const version = request.form.get("Version") ?? "NO_VERSION_SPECIFIED";
  const message = `Could not find operation ${sanitize(action)} for version ${sanitize(version)}.`;
  throw new STSErrorResponse("InvalidAction", 400, `${message} Supported actions: AssumeRole, GetCallerIdentity.`);
}

function send(reply: FastifyReply, status: number, render: (requestID: string) => string): FastifyReply {
  const requestID = randomUUID();
  const headers = { "content-type": "text/xml", "x-amzn-requestid": requestID, "cache-control": "no-store" };
  // The body is a Buffer, because fastify appends a charset to the Content-Type of a string.
  return reply.code(status).headers(headers).send(Buffer.from(render(requestID)));
}
