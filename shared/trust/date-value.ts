/** At least 5 digits, because 4 digits are a year. */
const SECONDS = /^\d{5,11}$/;
/** The forms of W3C date-time with a date, and with a zone if there is a time: https://www.w3.org/TR/NOTE-datetime */
const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Returns the seconds since 1970 of a date or of a number of seconds, or null for another text. */
export function secondsOf(text: string): number | null {
  if (SECONDS.test(text)) return Number(text);
  const found = DATE.exec(text);
  if (found === null) return null;
  const [year, month, day, ...time] = found.slice(1, 7).map((part) => Number(part ?? 0));
  const days = daysOf([year, month, day]);
  const seconds = secondsOfDay(time);
  return days === null || seconds === null ? null : days * 86_400 + seconds - offsetOf(found[7] ?? "Z");
}

type Parts = readonly (number | undefined)[];

function daysOf([year = 0, month = 0, day = 0]: Parts): number | null {
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  return daysSinceEpoch(year, month, day);
}

function secondsOfDay([hour = 0, minute = 0, second = 0]: Parts): number | null {
  return hour < 24 && minute < 60 && second < 60 ? hour * 3_600 + minute * 60 + second : null;
}

function offsetOf(zone: string): number {
  if (zone === "Z") return 0;
  const seconds = Number(zone.slice(1, 3)) * 3_600 + Number(zone.slice(4)) * 60;
  return zone.startsWith("-") ? -seconds : seconds;
}

function daysIn(year: number, month: number): number {
  return daysSinceEpoch(year, month + 1, 1) - daysSinceEpoch(year, month, 1);
}

/** Counts the days in a year that starts on 1 March, so that a leap day is the last day. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1;
  const months = month > 2 ? month - 3 : month + 9;
  const leapDays = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400);
  return shifted * 365 + leapDays + Math.floor((153 * months + 2) / 5) + day - 1 - 719_468;
}

/** Returns seconds since 1970 as `aws:CurrentTime` has them, such as 2026-11-24T00:00:00Z. */
export function formatSeconds(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  let year = 1970 + Math.floor(days / 366);
  while (daysSinceEpoch(year + 1, 1, 1) <= days) year++;
  let month = 1;
  while (month < 12 && daysSinceEpoch(year, month + 1, 1) <= days) month++;
  const rest = seconds - days * 86_400;
  const date = [year, month, days - daysSinceEpoch(year, month, 1) + 1];
  const time = [Math.floor(rest / 3_600), Math.floor(rest / 60) % 60, Math.floor(rest) % 60];
  return `${date.map(pad).join("-")}T${time.map(pad).join(":")}Z`;
}

function pad(part: number): string {
  return String(part).padStart(2, "0");
}
