import { type SDK, SDKS } from "./client.ts";

/** A count, or the least and the most. */
export type Count = number | readonly [least: number, most: number];

/** What becomes of a client. */
export type Outcome =
  | { readonly does: "succeeds"; readonly requests: Count }
  /** `shows` is in its standard error; without, what its SDK shows of the sidecar's refusal. */
  | { readonly does: "fails"; readonly requests: Count; readonly shows?: RegExp }
  /** It has no timeout of its own, and is still there after 4 s. */
  | { readonly does: "waits"; readonly requests: Count };

/** A client that has none is not run. */
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

export function everybody(outcome: Outcome): Outcomes {
  return Object.fromEntries(SDKS.map((sdk) => [sdk, outcome]));
}

export function isWithin(count: number, expected: Count): boolean {
  const [least, most] = typeof expected === "number" ? [expected, expected] : expected;
  return least <= count && count <= most;
}
