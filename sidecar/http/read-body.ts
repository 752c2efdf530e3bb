import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { ResolverError } from "../../shared/formats/errors.ts";
import { JoinedChunks } from "../../shared/server/joined-chunks.ts";

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Passes the body of the request to `done`, or ERR_REQUEST_TOO_LARGE or ERR_REQUEST_MALFORMED. The parser of fastify
 * would keep each chunk.
 */
export function readBody({ headers }: IncomingMessage, payload: Readable, limitBytes: number, done: Done): void {
  const announced = Number(headers["content-length"] ?? Number.NaN);
  const chunks = new JoinedChunks(limitBytes);
  let isDone = false;
  const end = (error: Error | null): void => {
    if (isDone) return;
    isDone = true;
    if (error === null) done(null, chunks.bytes);
    else done(error);
  };
  if (announced > limitBytes) return end(tooLarge(limitBytes));
  payload.on("data", (chunk: Buffer) => {
    if (isDone) return;
    if (chunks.bytes.length + chunk.length > limitBytes) end(tooLarge(limitBytes));
    else chunks.add(chunk);
  });
  payload.on("end", () => {
    const isWhole = Number.isNaN(announced) || announced === chunks.bytes.length;
    end(isWhole ? null : malformed("the length of the body differs from the Content-Length header"));
  });
  payload.on("error", ({ message }) => end(malformed(message)));
}

function malformed(reason: string): ResolverError {
  return new ResolverError("ERR_REQUEST_MALFORMED", `The request is malformed: ${reason}.`);
}

function tooLarge(limitBytes: number): ResolverError {
  return new ResolverError("ERR_REQUEST_TOO_LARGE", `The body is larger than ${limitBytes} bytes.`);
}
