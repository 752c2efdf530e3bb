import { test } from "tap";
import { type ErrorCode, ERRORS, ResolverError } from "../../../shared/decisions/errors.ts";
import { toSTSError } from "../../../sidecar/http/sts-routes.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
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
    t.equal(translated.message, `why. (${code})`);
    if (status === 503) t.equal(translated.code, "ServiceUnavailable", code);
  }
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
