import { UNPRINTABLE } from "./text.ts";

const PLAIN = /^[\w@%+=:,./-]+$/;

/** Returns a word as one argument in a POSIX shell. */
export function shellWord(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns the command with a text as its standard input. */
export function withInput(command: string, text: string): string {
  return `${command} <<'EOF'\n${text}${text.endsWith("\n") ? "" : "\n"}EOF`;
}

/**
 * Whether a user can paste the command into a shell, and sees all that it does. A tab or another control character has
 * a meaning to a terminal, and an invisible character hides text.
 */
export function isPastable(command: string): boolean {
  const [first = "", ...input] = command.split("\n");
  const end = input.indexOf("EOF");
  return [first, ...input].every((line) => line.search(UNPRINTABLE) === -1)
    && (input.length === 0 || end === input.length - 1);
}
