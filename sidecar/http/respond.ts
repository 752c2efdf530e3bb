import type { FastifyReply } from "fastify";
import { type Clock, withTimeout } from "../../shared/core/clock.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import type { Credentials } from "../credentials/session.ts";

/**
 * The maximum time to get the content of a response, in ms. For container credentials, the SDK for Java times out after
 * 1 s, so the sidecar must send each response within 900 ms. At /sts, SDKs wait for 30 s or longer, but a sidecar that
 * stops drains its requests within 4 s.
 */
export const ANSWER_LIMIT_MS = { container: 850, sts: 3_000 } as const;

/**
 * Returns the result of `work`, or rejects with ERR_STS_UNAVAILABLE after `limitMs`. After the limit, the work
 * continues, and the next request gets its result. `isLate` returns true after the limit. The sidecar must stop issuing
 * a removed role within 2 s, so a caller that allows more time must check the grant again after the work.
 */
export function withAnswerLimit<T>(
  clock: Clock, limitMs: number, work: (isLate: () => boolean) => Promise<T>,
): Promise<T> {
  let isLate = false;
  return withTimeout(clock, limitMs, work(() => isLate), () => {
    isLate = true;
    const message = `STS did not respond within ${limitMs} ms. Retry to get the result of the pending call.`;
    return new ResolverError("ERR_STS_UNAVAILABLE", message);
  });
}

/**
 * The stated lifetime of credentials whose expiration is unknown, in ms. The stated lifetime exceeds 15 minutes,
 * because the SDKs for Python and Java refresh 15 minutes before the expiration.
 */
export const UNKNOWN_LIFE_MS = 20 * 60_000;

// The Content-Type has no charset, because aws-sdk-go-v2 reads the code and message of an error only if the
// Content-Type is exactly this value (credentials/endpointcreds/internal/client/middleware.go).
const MEDIA_TYPE = "application/json";
/** The headers of a response with credentials, besides its length. */
export const CREDENTIAL_HEADERS = ["content-type", MEDIA_TYPE, "cache-control", "no-store"] as const;

/**
 * Returns credentials in the format of the container credentials endpoint:
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
 */
export function credentialsBody(credentials: Credentials, nowMs: number): string {
  const { accessKeyID, secretAccessKey, sessionToken, accountID } = credentials;
  const body = {
    AccessKeyId: accessKeyID,
    SecretAccessKey: secretAccessKey,
    // botocore requires the Token field, but a long-lived key has no token.
    Token: sessionToken ?? "",
    AccountId: accountID,
    Expiration: formatExpiration(credentials.expirationMs ?? nowMs + UNKNOWN_LIFE_MS),
  };
  return JSON.stringify(body);
}

/**
 * Formats an epoch time in ms as a UTC timestamp that ends with `Z`, rounded down to seconds. The SDKs for JavaScript
 * and Rust accept only this format.
 */
export function formatExpiration(expirationMs: number): string {
  return `${new Date(expirationMs).toISOString().slice(0, 19)}Z`;
}

export function sendCredentials(reply: FastifyReply, body: string): FastifyReply {
  return sendBody(reply, 200, Buffer.from(body));
}

type ErrorFields = Pick<ResolverError, "code" | "status" | "message">;

export function sendError(reply: FastifyReply, { code, status, message }: ErrorFields): FastifyReply {
  return sendBody(reply, status, Buffer.from(JSON.stringify(errorBody(code, message))));
}

/** Returns the body of an error response. Some SDKs read `code` and `message`, others `Code` and `Message`. */
export function errorBody(code: string, message: string): Record<string, string> {
  return { code, message, Code: code, Message: message };
}

function sendBody(reply: FastifyReply, status: number, body: Buffer): FastifyReply {
  // The body is a Buffer, because fastify appends a charset to the Content-Type of strings and objects.
  return reply.code(status).header("content-type", MEDIA_TYPE).header("cache-control", "no-store").send(body);
}

/**
 * The difference between the true expiration and the stated expiration, which is earlier, in ms. Some clients, such as
 * the SDK for Go, use credentials until the last second.
 */
const EARLY_MS = 5 * 60_000;
/**
 * The minimum stated lifetime, in ms. If the stated lifetime were shorter, a client would request new credentials for
 * each call.
 */
const MIN_LIFE_MS = 60_000;

/**
 * Returns the expiration that the response states, in epoch ms: 5 minutes before `trueMs`, but at least 1 minute from
 * now, and never after `trueMs`.
 */
export function statedExpirationMs(trueMs: number, nowMs: number): number {
  return Math.min(trueMs, Math.max(trueMs - EARLY_MS, nowMs + MIN_LIFE_MS));
}
