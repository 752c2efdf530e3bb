// oxlint-disable no-restricted-globals -- `Date` only converts here, and reads no clock
/** At least 5 digits, because 4 digits are a year. */
const SECONDS = /^\d{5,11}$/;
/** The forms of W3C date-time with a date, and with a zone if there is a time: https://www.w3.org/TR/NOTE-datetime */
const DATE =
  /^(\d{4}-\d{2}-\d{2})(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

/** Returns the seconds since 1970 of a date or of a number of seconds, or null for another text. */
export function secondsOf(text: string): number | null {
  if (SECONDS.test(text)) return Number(text);
  const day = DATE.exec(text)?.[1];
  const midnight = day === undefined ? Number.NaN : Date.parse(`${day}T00:00Z`);
  // V8 reads 2026-02-29 as the day after 2026-02-28.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return null;
  return Math.floor(Date.parse(text) / 1000);
}

/** Returns seconds since 1970 as `aws:CurrentTime` has them, such as 2026-11-24T00:00:00Z. */
export function formatSeconds(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, "2026-11-24T00:00:00".length)}Z`;
}
