import type { FastifyReply } from "fastify";
import type { ResolverError } from "../shared/decisions/errors.ts";
import type { Credentials } from "./credential-cache.ts";

/** What credentials are said to live for whose end is not known: over the 15 minutes at which botocore and Java renew. */
export const UNKNOWN_LIFE_MS = 20 * 60_000;

// Exactly this: aws-sdk-go-v2 reads an error's code and message only from a type without a charset
// (credentials/endpointcreds/internal/client/middleware.go).
const MEDIA_TYPE = "application/json";

/** The answer of the container credentials endpoint: https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html */
export function sendCredentials(reply: FastifyReply, credentials: Credentials, nowMs: number): FastifyReply {
  const expirationMs = credentials.expirationMs ?? nowMs + UNKNOWN_LIFE_MS;
  return send(reply, 200, {
    AccessKeyId: credentials.accessKeyID,
    SecretAccessKey: credentials.secretAccessKey,
    // A long-lived key has none, and botocore demands the field.
    Token: credentials.sessionToken ?? "",
    AccountId: credentials.accountID,
    Expiration: formatExpiration(expirationMs),
  });
}

/** Whole seconds and `Z`, rounded down: the JS and Rust SDKs take no other form. */
export function formatExpiration(expirationMs: number): string {
  return `${new Date(expirationMs).toISOString().slice(0, 19)}Z`;
}

/** Both spellings of code and message, since some SDKs read one and some the other. */
export function sendError(reply: FastifyReply, { code, status, message }: Pick<ResolverError, "code" | "status" | "message">): FastifyReply {
  return send(reply, status, errorBody(code, message));
}

export function errorBody(code: string, message: string): Record<string, string> {
  return { code, message, Code: code, Message: message };
}

function send(reply: FastifyReply, status: number, body: Record<string, string>): FastifyReply {
  // fastify appends a charset to the type of strings and objects, and leaves a Buffer's alone.
  return reply.code(status).header("content-type", MEDIA_TYPE).header("cache-control", "no-store").send(Buffer.from(JSON.stringify(body)));
}
