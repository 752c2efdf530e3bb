/**
 * Each command in the documentation starts with this text, because readers run the command in a checkout. Without
 * --no-install, npx would download a package.
 */
const NPX = "npx --no-install ack-role-resolver ";

/** A command that a page shows after a prompt, and the text that the page shows below the command. */
interface DocumentedCommand {
  readonly command: string;
  readonly output: string;
}

/**
 * Returns the language and the content of each code block of a page. If `language` is set, returns only the blocks in
 * this language.
 */
export function codeBlocks(page: string, language?: string): readonly (readonly [language: string, block: string])[] {
  return [...page.matchAll(/^```(\w*)\n([^]*?)^```$/gm)]
    .map(([, name = "", block = ""]) => [name, block] as const)
    .filter(([name]) => language === undefined || name === language);
}

/** Returns each command with a prompt (`$ `) in the code blocks of a page. A command can continue after `\`. */
export function documentedCommands(page: string): readonly DocumentedCommand[] {
  return codeBlocks(page, "")
    .flatMap(([, block]) => [...block.matchAll(COMMAND)])
    .map(([, command = "", output = ""]) => ({ command, output }));
}

const COMMAND = /^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)/gm;

/** Returns the arguments of a command that starts with `NPX`. */
export function argumentsOf(command: string): string[] {
  if (!command.startsWith(NPX)) throw new Error(`${command} does not start with ${NPX}`);
  return command.slice(NPX.length).split(" ");
}
