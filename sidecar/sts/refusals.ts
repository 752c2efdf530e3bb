import { type ErrorCode, ResolverError } from "../../shared/decisions/errors.ts";
import { STSRefused } from "../sts-faults.ts";
import { STSRefusal } from "./answer.ts";

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
export function inWordsOfSTS(error: ResolverError | STSRefusal): STSRefusal {
  if (error instanceof STSRefusal) return error;
  if (error instanceof STSRefused) return new STSRefusal(error.stsCode, error.stsStatus, error.message);
  const [code, status] = WORDINGS[error.code] ?? (error.status === 503 ? TROUBLE : NOT_GRANTED);
  return new STSRefusal(code, status, `${error.message} (${error.code})`);
}
