import { setInterval as every } from "node:timers/promises";

/** What to do instead of answering rightly. */
export type Fault =
  | { readonly do: "refuse"; readonly code: string; readonly status: number; readonly message: string }
  /** Takes the request and never answers. */
  | { readonly do: "hang" }
  /** Closes the connection without a byte. */
  | { readonly do: "reset" }
  /** Answers 200 with half of the document. */
  | { readonly do: "truncate" }
  /** Answers rightly, a character each 20 ms: a document takes about half a minute. */
  | { readonly do: "drip" }
  /** Answers 200 with 16 MiB of blanks before the document. */
  | { readonly do: "flood" }
  /** Points to another address, as STS never does. */
  | { readonly do: "redirect"; readonly location: string };

/** STS said no, for a fault hook: the role's trust policy does not name the caller. */
export function accessDenied(roleARN: string): Fault {
  return { do: "refuse", code: "AccessDenied", status: 403, message: `User is not authorized to perform: sts:AssumeRole on resource: ${roleARN}` };
}

/** STS throttles with 400, not 429. */
export const THROTTLED: Fault = { do: "refuse", code: "Throttling", status: 400, message: "Rate exceeded" };

/** The body of an answer whose head is right. */
export function faultyBody(fault: Fault, document: string): Iterable<string> | AsyncIterable<string> {
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
