const LENGTH = 200;

/** What cannot be seen, breaks a line or turns the direction of text: control and format characters, lone surrogates, line and paragraph separators. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** A user's value inside a message: in double quotes, control characters escaped, cut where it is too long to read. */
export function quote(value: string): string {
  const cut = value.length > LENGTH ? value.slice(0, LENGTH) : value;
  const quoted = printable(JSON.stringify(cut));
  return cut === value ? quoted : `${quoted}… (${value.length} characters)`;
}

/** The same text where nothing in it can write to a terminal or hide, for values that stand without quotes. */
export function printable(text: string): string {
  return text.toWellFormed().replace(UNPRINTABLE, (characters) => characters.split("").map(escaped).join(""));
}

/** Of one UTF-16 code unit, as JSON writes it. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
