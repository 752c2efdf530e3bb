import { type SDK, SDKS } from "../client.ts";

/** An expected number, or the minimum and maximum of the number. */
type Count = number | readonly [min: number, max: number];

/** The expected result of a client. */
export type Outcome =
  | { readonly does: "succeeds"; readonly requests: Count }
  /** Standard error must match `shows`. The default is the part of the sidecar's error that the SDK shows. */
  | { readonly does: "fails"; readonly requests: Count; readonly shows?: RegExp }
  /** The client has no timeout, and is still waiting after 4 s. */
  | { readonly does: "waits"; readonly requests: Count };

/** The expected outcome of each client. A case does not run clients that have no expected outcome. */
export type Outcomes = Readonly<Partial<Record<SDK, Outcome>>>;

export function succeeds(requests: Count): Outcome {
  return { does: "succeeds", requests };
}

export function fails(requests: Count, shows?: RegExp): Outcome {
  return shows === undefined ? { does: "fails", requests } : { does: "fails", requests, shows };
}

export function waits(requests: Count): Outcome {
  return { does: "waits", requests };
}

export function allSDKs(outcome: Outcome): Outcomes {
  return Object.fromEntries(SDKS.map((sdk) => [sdk, outcome]));
}

export function isWithin(count: number, expected: Count): boolean {
  const [min, max] = typeof expected === "number" ? [expected, expected] : expected;
  return min <= count && count <= max;
}
