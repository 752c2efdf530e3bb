import type { Argument, Help } from "commander";

/** The widest column of flags, commands and arguments. The description of a longer item starts on the next line. */
const MAX_TERM_WIDTH = 26;
const INDENT = "  ";
/** The narrowest column of descriptions. Commander would not wrap those of a terminal with 60 columns. */
const MIN_DESCRIPTION_WIDTH = 20;

/**
 * The layout of the help: a column of flags, and a column of descriptions that are wrapped to the width of the
 * terminal. The help of Python and Git has this layout too.
 */
export const HELP_LAYOUT: Partial<Help> = {
  minWidthToWrap: MIN_DESCRIPTION_WIDTH,

  padWidth(command, helper) {
    const longest = Math.max(
      helper.longestArgumentTermLength(command, helper), helper.longestOptionTermLength(command, helper),
      helper.longestSubcommandTermLength(command, helper),
    );
    return Math.min(longest, MAX_TERM_WIDTH);
  },

  subcommandTerm(command) {
    return [command.name(), ...command.registeredArguments.map(argumentText)].join(" ");
  },

  formatItem(term, termWidth, description, helper) {
    if (description === "") return INDENT + term;
    const start = " ".repeat(INDENT.length * 2 + termWidth);
    const lines = helper.boxWrap(description, (helper.helpWidth ?? 80) - start.length).split("\n");
    const isLong = term.length > termWidth;
    const first = isLong ? `${INDENT}${term}\n${start}` : `${INDENT}${term.padEnd(termWidth)}${INDENT}`;
    return first + lines.join(`\n${start}`);
  },
};

function argumentText(argument: Argument): string {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? `<${name}>` : `[${name}]`;
}
