import type { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";

/** The received body of an AdmissionReview. */
export interface ReceivedBody {
  /** The body, or its first 7 MiB if the body is larger. */
  readonly bytes: Buffer;
  readonly isComplete: boolean;
}

const MAX_STORED = LIMITS.reviewBytes.value;
const MAX_RECEIVED = LIMITS.reviewReceivedBytes.value;

/**
 * Receives the body of a review. Receives the bytes after the first 7 MiB too, but discards them: if the webhook closed
 * the connection instead, the failurePolicy could admit the object. Rejects with ERR_REQUEST_TOO_LARGE or
 * ERR_REQUEST_MALFORMED.
 */
export async function receiveBody({ headers }: FastifyRequest, payload: Readable): Promise<ReceivedBody> {
  const announced = headers["content-length"] === undefined ? null : Number(headers["content-length"]);
  requireAllowed(announced ?? 0);
  const chunks: Buffer[] = [];
  let [received, stored] = [0, 0];
  for await (const chunk of payload as AsyncIterable<Buffer>) {
    received += chunk.length;
    requireAllowed(received);
    const part = chunk.subarray(0, MAX_STORED - stored);
    if (part.length > 0) chunks.push(part);
    stored += part.length;
  }
  if (announced !== null && announced !== received) {
    const message = "The length of the body differs from the Content-Length header.";
    throw new ResolverError("ERR_REQUEST_MALFORMED", message);
  }
  return { bytes: Buffer.concat(chunks, stored), isComplete: received === stored };
}

function requireAllowed(bytes: number): void {
  if (bytes <= MAX_RECEIVED) return;
  const message = `The body is larger than ${MAX_RECEIVED} bytes, the limit of an AdmissionReview.`;
  throw new ResolverError("ERR_REQUEST_TOO_LARGE", message);
}
