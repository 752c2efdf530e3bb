import type { FastifyReply } from "fastify";
import type { ResolverError } from "../../shared/decisions/errors.ts";
import type { Credentials } from "../credentials/session.ts";

/** What credentials are said to live for whose end is not known: over the 15 minutes at which botocore and Java renew. */
export const UNKNOWN_LIFE_MS = 20 * 60_000;

// Exactly this: aws-sdk-go-v2 reads an error's code and message only from a type without a charset
// (credentials/endpointcreds/internal/client/middleware.go).
const MEDIA_TYPE = "application/json";

/** The answer of the container credentials endpoint: https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html */
export function sendCredentials(reply: FastifyReply, credentials: Credentials, nowMs: number): FastifyReply {
  if (credentials.expirationMs === null) return sendBody(reply, 200, bodyOf(credentials, nowMs + UNKNOWN_LIFE_MS));
  const body = bodies.get(credentials) ?? bodyOf(credentials, credentials.expirationMs);
  bodies.set(credentials, body);
  return sendBody(reply, 200, body);
}

/** A session is written once however often it is given out, for as long as it is kept. */
const bodies = new WeakMap<Credentials, Buffer>();

function bodyOf({ accessKeyID, secretAccessKey, sessionToken, accountID }: Credentials, expirationMs: number): Buffer {
  return Buffer.from(JSON.stringify({
    AccessKeyId: accessKeyID,
    SecretAccessKey: secretAccessKey,
    // A long-lived key has none, and botocore demands the field.
    Token: sessionToken ?? "",
    AccountId: accountID,
    Expiration: formatExpiration(expirationMs),
  }));
}

/** Whole seconds and `Z`, rounded down: the JS and Rust SDKs take no other form. */
export function formatExpiration(expirationMs: number): string {
  return `${new Date(expirationMs).toISOString().slice(0, 19)}Z`;
}

/** Both spellings of code and message, since some SDKs read one and some the other. */
export function sendError(reply: FastifyReply, { code, status, message }: Pick<ResolverError, "code" | "status" | "message">): FastifyReply {
  return sendBody(reply, status, Buffer.from(JSON.stringify(errorBody(code, message))));
}

export function errorBody(code: string, message: string): Record<string, string> {
  return { code, message, Code: code, Message: message };
}

function sendBody(reply: FastifyReply, status: number, body: Buffer): FastifyReply {
  // fastify appends a charset to the type of strings and objects, and leaves a Buffer's alone.
  return reply.code(status).header("content-type", MEDIA_TYPE).header("cache-control", "no-store").send(body);
}/** How much sooner credentials are said to end where their reader has no window of its own and uses them to the last second, as Go does. */
const EARLY_MS = 5 * 60_000;
/** Never sooner than this, or a reader would ask again for each call. */
const LEAST_MS = 60_000;

/** The end to state for credentials that end at `trueMs` (both epoch ms): 5 minutes early, yet in a minute at the soonest, and never late. */
export function statedExpirationMs(trueMs: number, nowMs: number): number {
  return Math.min(trueMs, Math.max(trueMs - EARLY_MS, nowMs + LEAST_MS));
}
