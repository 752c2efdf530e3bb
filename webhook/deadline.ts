/** What the API server uses when a webhook configuration says nothing; it always sends its own. */
const DEFAULT_MS = 10_000;
/** An answer must have crossed the network by the deadline. */
const MARGIN_MS = 100;

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/**
 * The time, in ms, that a review may take in all: `?timeout=10s` (a Go duration) less a margin. The API server sends the
 * time that is left of the request, rounded up to a second.
 */
export function budgetMs(query: unknown): number {
  const timeout = typeof query === "object" && query !== null && "timeout" in query ? query.timeout : undefined;
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(h|ms|m|s)$/.exec(typeof timeout === "string" ? timeout : "") ?? [];
  const ms = amount === undefined || unit === undefined ? DEFAULT_MS : Number(amount) * (UNIT_MS[unit] ?? 0);
  return Math.max(0, ms - MARGIN_MS);
}
