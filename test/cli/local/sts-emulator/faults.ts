import type { ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { setInterval as every } from "node:timers/promises";
import {
  startSTSEmulator as start, type STSCall, type STSEmulator, type STSEmulatorOptions,
} from "../../../../cli/local/sts-emulator/emulator.ts";
import { STSErrorResponse } from "../../../../sidecar/sts/query-protocol.ts";

/** A fault that the emulator produces in place of a correct response. */
export type Fault =
  /** Returns an STS error. */
  | { readonly do: "reject"; readonly code: string; readonly status: number; readonly message: string }
  /** Reads the request and never responds. */
  | { readonly do: "hang" }
  /** Closes the connection without a response. */
  | { readonly do: "reset" }
  /** Returns 200 with half of the document. */
  | { readonly do: "truncate" }
  /** Returns a correct response, one character each 20 ms. A document takes about 30 s. */
  | { readonly do: "drip" }
  /** Returns 200 with 16 MiB of spaces before the document. */
  | { readonly do: "flood" }
  /** Redirects to another address, which STS never does. */
  | { readonly do: "redirect"; readonly location: string };

/** Returns the error that STS returns if the trust policy of the role does not allow the caller. */
export function accessDenied(roleARN: string): Fault {
  const message = `User is not authorized to perform: sts:AssumeRole on resource: ${roleARN}`;
  return { do: "reject", code: "AccessDenied", status: 403, message };
}

/** The throttling error of STS, whose status is 400 and not 429. */
export const THROTTLED: Fault = { do: "reject", code: "Throttling", status: 400, message: "Rate exceeded" };

/** Returns the response body for a fault that changes only the body. */
function faultyBody(fault: Fault, document: string): Iterable<string> | AsyncIterable<string> {
  if (fault.do === "truncate") return [document.slice(0, document.length / 2)];
  if (fault.do === "drip") return dripping(document);
  return fault.do === "flood" ? flooding(document) : [document];
}

async function* dripping(document: string): AsyncGenerator<string> {
  let sent = 0;
  for await (const character of every(20, document, { ref: false })) {
    yield character.charAt(sent);
    sent += 1;
    if (sent === document.length) return;
  }
}

function* flooding(document: string): Generator<string> {
  const blanks = " ".repeat(64 * 1024);
  for (let written = 0; written < 256; written++) yield blanks;
  yield document;
}

/**
 * Returns the fault to inject, or null for a correct response. If the function returns a promise, the response is
 * delayed until the promise settles. `authorization` is the header of the request: it contains the access key ID.
 */
export type Faults = (call: STSCall, authorization: string) => Fault | null | Promise<Fault | null>;

export interface FaultySTSOptions extends Omit<STSEmulatorOptions, "intercept"> {
  readonly faults?: Faults;
}

/** Starts an STS emulator that produces faults. */
export function startSTSEmulator({ faults = () => null, ...options }: FaultySTSOptions): Promise<STSEmulator> {
  return start({
    ...options,
    async intercept(call, { headers }) {
      const fault = await faults(call, headers.authorization ?? "");
      if (fault?.do === "reject") throw new STSErrorResponse(fault.code, fault.status, fault.message);
      return fault === null ? null : (response, document) => respond(response, document, fault);
    },
  });
}

function respond(response: ServerResponse, document: string, fault: Fault): void {
  if (fault.do === "hang") return;
  if (fault.do === "reset") return void response.socket?.destroy();
  if (fault.do === "redirect") return void response.writeHead(307, { Location: fault.location }).end();
  response.writeHead(200, { "Content-Type": "text/xml" });
  // The callback ignores errors: a client that disconnects early needs no response.
  pipeline(Readable.from(faultyBody(fault, document)), response, () => {});
}
