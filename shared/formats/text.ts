/** The maximum number of characters of a user's value that a message quotes. */
const MAX_QUOTED_LENGTH = 200;

/**
 * Matches characters that are invisible, break a line or change the direction of text: control and format characters,
 * lone surrogates, line and paragraph separators.
 */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/**
 * Returns a user's value in double quotes, for a message. Escapes unprintable characters and truncates the value after
 * 200 characters.
 */
export function quote(value: string): string {
  const cut = value.length > MAX_QUOTED_LENGTH ? value.slice(0, MAX_QUOTED_LENGTH) : value;
  const quoted = printable(JSON.stringify(cut));
  return cut === value ? quoted : `${quoted}… (${value.length} characters)`;
}

/** Matches a text that needs no escapes. Most texts match, and this pattern is faster than `UNPRINTABLE`. */
const PRINTABLE_ASCII = /^[ -~]*$/;

/** Escapes unprintable characters, so that an unquoted value cannot control a terminal or hide text. */
export function printable(text: string): string {
  if (PRINTABLE_ASCII.test(text)) return text;
  return text.toWellFormed().replace(UNPRINTABLE, (characters) => characters.split("").map(escapeUnit).join(""));
}

/** Escapes one UTF-16 code unit as JSON does. */
function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * Matches the start of a command to a CI runner anywhere in a line: `##[error]` and `##vso[task.setvariable]` of GitHub
 * and Azure Pipelines, `##teamcity[...]`, and `::error::`, with parameters or without. Sources: ActionCommand.cs of
 * actions/runner, Command.cs of microsoft/azure-pipelines-agent.
 */
const RUNNER_COMMAND = /##(?=[a-z]*\[)|::(?=[a-z][\w-]*(?: [^\r\n]*?)?::)/gi;

/**
 * Escapes each command to a CI runner in an output, which reads the names and texts of other people in it. The escape
 * leaves the value of a JSON text, and of a quoted string in YAML and HCL, as it is.
 */
export function withoutCommands(output: string): string {
  return output.replace(RUNNER_COMMAND, ([first = "", second = ""]) => first + escapeUnit(second));
}

/** Returns the first `length` characters. Copies them, because a part of a text keeps the whole text in memory. */
export function startOfText(text: string, length: number): string {
  return text.length <= length ? text : Buffer.from(text.slice(0, length), "utf16le").toString("utf16le");
}

/** Compares texts by UTF-16 code unit, so that the sort order does not depend on the locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The maximum number of names that a message lists. The command `impact` lists all names. */
export const MAX_NAMES = 3;

/** Returns `1 identity` or `7 identities`; `at least 20 identities` if the count stopped at `limit`. */
export function countOf(number: number, noun: string, limit = Infinity): string {
  const plural = /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return number >= limit ? `at least ${limit} ${plural}` : `${number} ${number === 1 ? noun : plural}`;
}

/**
 * Returns names in the given order, such as `a`, `a and b`, or `a, b, c and 4 more`. Returns `a, b, c and others` if
 * the count stopped at `limit`. `number` is the number of all names; `names` may contain only the first names.
 */
export function listOf(names: readonly string[], number = names.length, limit = Infinity): string {
  const shown = names.slice(0, MAX_NAMES);
  const more = number - shown.length;
  const rest = number >= limit ? "others" : `${more} more`;
  const parts = more > 0 ? [...shown, rest] : shown;
  return printable([parts.slice(0, -1).join(", "), ...parts.slice(-1)].filter((part) => part !== "").join(" and "));
}

/**
 * Returns names like `listOf`, but sorted. Sorts only the names that the result lists, because `names` may be all
 * namespaces of a cluster.
 */
export function sortedListOf(names: Iterable<string>): string {
  const { first, number } = firstNames(names, MAX_NAMES);
  return listOf(first, number);
}

/** Returns the `limit` names that sort first, and the number of all names. */
export function firstNames(
  names: Iterable<string>, limit: number,
): { readonly first: readonly string[]; readonly number: number } {
  let first: string[] = [];
  let number = 0;
  /** The last name of the result so far, in sort order. */
  let last: string | undefined;
  for (const name of names) {
    number++;
    if (last !== undefined && compareText(name, last) >= 0) continue;
    first.push(name);
    if (first.length < 2 * limit) continue;
    first = first.toSorted(compareText).slice(0, limit);
    last = first.at(-1);
  }
  return { first: first.toSorted(compareText).slice(0, limit), number };
}
