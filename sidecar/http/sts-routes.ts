import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply } from "fastify";
import { type ErrorCode, ResolverError } from "../../shared/decisions/errors.ts";
import type { Issued } from "../credentials/issued-journal.ts";
import type { SidecarOptions } from "../options.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";
import { readForm, shown } from "../sts/form.ts";
import { type Content, renderRefusal, renderResult, STSErrorResponse } from "../sts/response.ts";
import { verifySignature } from "../sts/signature.ts";
import { inTime } from "./answer-limit.ts";
import { assumeGranted, type STSQuestion, type STSRoutePorts } from "./assume-role.ts";
import { STS_PATHS } from "./request-check.ts";
import { notesOf } from "./request-context.ts";

type Wording = readonly [code: string, status: number];

/** What has a name of its own in STS. */
const WORDINGS: Partial<Record<ErrorCode, Wording>> = {
  ERR_REQUEST_MALFORMED: ["MalformedQueryString", 400],
  ERR_REQUEST_METHOD: ["MethodNotAllowed", 405],
  ERR_REQUEST_MEDIA_TYPE: ["UnsupportedMediaType", 415],
  ERR_REQUEST_TOO_LARGE: ["RequestEntityTooLarge", 413],
  ERR_INTERNAL: ["InternalFailure", 500],
};
/** SDKs ask again after it. */
const TROUBLE: Wording = ["ServiceUnavailable", 503];
const NOT_GRANTED: Wording = ["AccessDenied", 403];

/** A refusal of ours in STS's words; one of STS itself with its own code. */
export function inWordsOfSTS(error: ResolverError | STSErrorResponse): STSErrorResponse {
  if (error instanceof STSErrorResponse) return error;
  if (error instanceof UpstreamSTSError) return new STSErrorResponse(error.stsCode, error.stsStatus, error.message);
  const [code, status] = WORDINGS[error.code] ?? (error.status === 503 ? TROUBLE : NOT_GRANTED);
  return new STSErrorResponse(code, status, `${error.message} (${error.code})`);
}

/** How far the signer's clock may be off: it is that of this machine. */
const SKEW_MS = 5 * 60_000;
/** What callers have no signature for yet. */
const UNSIGNED_ACTIONS: ReadonlySet<string> = new Set(["AssumeRoleWithWebIdentity"]);

/** STS's query protocol on each of its paths, whichever an SDK signs. */
export function addSTSRoutes(app: FastifyInstance, options: SidecarOptions, ports: STSRoutePorts): void {
  for (const path of STS_PATHS) {
    app.post(path, async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const form = readForm(body);
      const action = actionOf(form);
      const find = (accessKeyID: string): Issued | undefined => ports.issued.find(accessKeyID);
      const caller = await verifySignature(request.raw, body, { find, nowMs: ports.clock.now(), skewMs: SKEW_MS });
      const roleARN = form.get("RoleArn");
      notesOf(request).asked = { action: shown(action), caller: caller.arn, ...(roleARN !== null && { role_arn: shown(roleARN) }) };
      const result = await inTime(ports.clock, (isLate) => answer(action, { form, caller, request, options, ports, isLate }));
      return send(reply, 200, (requestID) => renderResult(action, result, requestID));
    });
  }
}

export function sendSTSRefusal(reply: FastifyReply, refusal: STSErrorResponse): FastifyReply {
  return send(reply, refusal.status, (requestID) => renderRefusal(refusal, requestID));
}

function actionOf(form: URLSearchParams): string {
  const action = form.get("Action") ?? "";
  if (action === "") throw new STSErrorResponse("MissingAction", 400, "The form body names no Action.");
  if (!UNSIGNED_ACTIONS.has(action)) return action;
  throw new STSErrorResponse("AccessDenied", 403, `${action} is not granted here. Take AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE from the controller's container; the sidecar has its identity.`);
}

async function answer(action: string, question: STSQuestion): Promise<Content> {
  if (action === "AssumeRole") return assumeGranted(question);
  const { arn, userID, accountID } = question.caller;
  if (action === "GetCallerIdentity") return { Arn: arn, UserId: userID, Account: accountID };
  const version = question.form.get("Version") ?? "NO_VERSION_SPECIFIED";
  throw new STSErrorResponse("InvalidAction", 400, `Could not find operation ${shown(action)} for version ${shown(version)}. There are AssumeRole and GetCallerIdentity.`);
}

function send(reply: FastifyReply, status: number, render: (requestID: string) => string): FastifyReply {
  const requestID = randomUUID();
  // fastify appends a charset to the type of strings, and leaves a Buffer's alone.
  return reply.code(status).headers({ "content-type": "text/xml", "x-amzn-requestid": requestID, "cache-control": "no-store" }).send(Buffer.from(render(requestID)));
}
