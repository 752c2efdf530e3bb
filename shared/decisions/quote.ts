const LENGTH = 200;

/** Control characters (Unicode's Cc, which Go's unicode.IsControl tells too), line separators, and marks that turn the direction of text. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A user's value inside a message: in double quotes, control characters escaped, cut where it is too long to read. */
export function quote(value: string): string {
  const cut = value.length > LENGTH ? value.slice(0, LENGTH) : value;
  const quoted = printable(JSON.stringify(cut));
  return cut === value ? quoted : `${quoted}… (${value.length} characters)`;
}

/** The same text where nothing in it can write to a terminal or break a line, for values that stand without quotes. */
export function printable(text: string): string {
  return text.toWellFormed().replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
