import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { test } from "tap";
import { readBody } from "../../../sidecar/http/request-check.ts";

/** Reads the chunks as the body of a request that announces `length`; rejects with the error of the reader. */
function read(chunks: readonly string[], length: number | null, error: Error | null = null): Promise<string> {
  const message = new IncomingMessage(new Socket());
  if (length !== null) message.headers["content-length"] = String(length);
  const payload = new Readable({ read: () => {} });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  readBody(message, payload, 8, (fault, body) => (fault === null ? resolve(String(body)) : reject(fault)));
  for (const chunk of chunks) payload.push(chunk);
  if (error === null) payload.push(null);
  else payload.destroy(error);
  return promise;
}

test("reads a body up to the limit, whether or not the headers state its length", async (t) => {
  t.equal(await read([], 0), "");
  t.equal(await read(["abc", "d", "efgh"], 8), "abcdefgh");
  t.equal(await read("abcdefgh".split(""), null), "abcdefgh");
});

test("rejects a body over the limit when it is announced, or as soon as it arrives", async (t) => {
  const fault = { code: "ERR_REQUEST_TOO_LARGE", message: "The body is larger than 8 bytes." };
  await t.rejects(read([], 9), fault);
  await t.rejects(read(["abcdefgh", "i", "j"], null), fault);
});

test("rejects a body that differs from its length, and one whose connection ends", async (t) => {
  await t.rejects(read(["abc"], 4), {
    code: "ERR_REQUEST_MALFORMED",
    message: "The request is malformed: the length of the body differs from the Content-Length header.",
  });
  await t.rejects(read(["abc"], 4, new Error("aborted")), {
    code: "ERR_REQUEST_MALFORMED", message: "The request is malformed: aborted.",
  });
});
