import { test } from "tap";
import { type ErrorCode, ERRORS, ResolverError } from "../../../shared/formats/errors.ts";
import { toSTSError } from "../../../sidecar/http/sts-routes.ts";
import { RejectedSignerError, UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { STSErrorResponse } from "../../../sidecar/sts/query-protocol.ts";

function describe(error: ResolverError | STSErrorResponse): string {
  const { status, code } = toSTSError(error);
  return `${status} ${code}`;
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}

test("returns 5xx for errors that a client should retry, and 4xx for other errors", (t) => {
  const codes = Object.keys(ERRORS).filter(isErrorCode).filter((code) => !/^ERR_(CONFIG|INPUT)/.test(code));
  for (const code of codes) {
    const { retry, status } = ERRORS[code];
    const translated = toSTSError(new ResolverError(code, "why."));
    t.equal(translated.status >= 500, retry, code);
    t.ok(translated.message.startsWith("why. ") && translated.message.endsWith(` (${code})`), translated.message);
    if (status === 503) t.equal(translated.code, "ServiceUnavailable", code);
  }
  t.end();
});

/** The code that creates one of these errors includes the fix in the message. */
const CODES_WITHOUT_FIX = [
  "ERR_SELECTOR_CONFLICT", "ERR_SELECTOR_MALFORMED", "ERR_SELECTOR_UNMATCHED", "ERR_STS_UNAVAILABLE",
  "ERR_BASE_UNAVAILABLE",
] as const;

test("adds a fix to each message that states only the fault", (t) => {
  for (const code of CODES_WITHOUT_FIX) {
    t.match(toSTSError(new ResolverError(code, "why")).message, /^why\. [A-Z][^]+\. \(ERR_[A-Z_]+\)$/, code);
  }
  const refused = new UpstreamSTSError("why.", { stsCode: "AccessDenied", stsStatus: 403 });
  t.equal(toSTSError(refused).message, "why. (ERR_STS_REFUSED)", "its message contains the fix");
  t.equal(
    toSTSError(new RejectedSignerError("ExpiredToken", "STS returned ExpiredToken.")).message,
    "STS rejected the sidecar's base identity: its credentials have expired. The sidecar gets new ones for the next "
      + "request; if they expire too, check the EKS Pod Identity agent, the token file of IRSA and the clock of the "
      + "node. STS returned ExpiredToken. (ERR_BASE_UNAVAILABLE)",
  );
  for (const stsCode of [
    "InvalidClientTokenId", "SignatureDoesNotMatch", "MissingAuthenticationToken", "IncompleteSignature",
    "ExpiredToken",
  ]) {
    const { message } = toSTSError(new STSErrorResponse(stsCode, 403, "why"));
    t.match(message, /^why\. .+AWS_CONTAINER_CREDENTIALS_FULL_URI/, stsCode);
  }
  t.equal(toSTSError(new STSErrorResponse("ValidationError", 400, "why")).message, "why");
  t.end();
});

test("translates each error code of the sidecar to the equivalent STS error code", (t) => {
  const cases = {
    ERR_SELECTOR_NOT_GRANTED: "403 AccessDenied",
    ERR_SELECTOR_ACCOUNT_PINNED: "403 AccessDenied",
    ERR_SELECTOR_UNKNOWN: "403 AccessDenied",
    ERR_CARM_KEY_MISSING: "403 AccessDenied",
    ERR_REQUEST_HOST: "403 AccessDenied",
    ERR_REQUEST_METHOD: "405 MethodNotAllowed",
    ERR_REQUEST_MALFORMED: "400 MalformedQueryString",
    ERR_REQUEST_TOO_LARGE: "413 RequestEntityTooLarge",
    ERR_REQUEST_MEDIA_TYPE: "415 UnsupportedMediaType",
    ERR_INTERNAL: "500 InternalFailure",
    ERR_STS_UNAVAILABLE: "503 ServiceUnavailable",
    ERR_NOT_READY: "503 ServiceUnavailable",
    ERR_REQUEST_CONNECTIONS: "503 ServiceUnavailable",
  } as const;
  for (const code of Object.keys(cases).filter((name): name is keyof typeof cases => name in cases))
    t.equal(describe(new ResolverError(code, "")), cases[code], code);
  t.equal(
    describe(new UpstreamSTSError("message", { stsCode: "RegionDisabledException", stsStatus: 403 })),
    "403 RegionDisabledException",
    "an error of upstream STS is unchanged",
  );
  t.equal(describe(new STSErrorResponse("ExpiredToken", 403, "")), "403 ExpiredToken");
  t.end();
});
