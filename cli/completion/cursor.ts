import type { Command as Commander, Option } from "commander";
import { type Command, COMMANDS } from "../../shared/core/setting-definition.ts";

/** Splits `--flag=value`. */
export function splitFlag(word: string): readonly [flag: string, value: string] {
  const at = word.indexOf("=");
  return at < 0 ? [word, ""] : [word.slice(0, at), word.slice(at + 1)];
}

/** A command line up to the cursor. */
export class Cursor {
  /** The command or the group of commands. */
  program: Commander;
  /** The flag whose value the cursor is at; null if it is at a flag or an argument. */
  option: Option | null = null;
  /** The word up to the cursor. */
  readonly current: string;
  /** The arguments before the cursor that are no flags. */
  readonly positionals: string[] = [];
  /** The values of the flags before the cursor, by name of the setting. A flag without a value has the value "". */
  readonly flags = new Map<string, string>();
  readonly #path: string[] = [];

  constructor(words: readonly string[], program: Commander) {
    this.program = program;
    this.current = words.at(-1) ?? "";
    for (const word of words.slice(0, -1)) this.#read(word);
  }

  /** The name of the command; "" for a group of commands. */
  get command(): Command | "" {
    const path = this.#path.join(" ");
    return COMMANDS.find((one) => one === path) ?? "";
  }

  #read(word: string): void {
    if (this.option !== null) {
      this.flags.set(this.option.attributeName(), word);
      this.option = null;
    } else if (word.startsWith("-")) this.#readFlag(word);
    else this.#readArgument(word);
  }

  #readFlag(word: string): void {
    const [flag, value] = splitFlag(word);
    const option = this.program.options.find(({ long, short }) => long === flag || short === flag);
    if (option === undefined) return;
    if (option.required && !word.includes("=")) this.option = option;
    else this.flags.set(option.attributeName(), value);
  }

  #readArgument(word: string): void {
    const command = this.positionals.length === 0
      ? this.program.commands.find((one) => one.name() === word) : undefined;
    if (command === undefined) this.positionals.push(word);
    else {
      this.program = command;
      this.#path.push(word);
    }
  }
}
