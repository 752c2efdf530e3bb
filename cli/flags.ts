import { type Command as Commander, Option } from "commander";
import { choicesOf, type Command, defaultOf, type Definition, DEFINITIONS } from "../shared/decisions/settings.ts";
import type { Flags } from "../shared/server/settings.ts";

/** Adds a command with every flag that the settings have for it. */
export function addCommand(parent: Commander, command: Command, description: string): Commander {
  const created = parent.command(command.split(" ").at(-1) ?? command).description(description);
  for (const [, definition] of DEFINITIONS) {
    if (definition.commands.includes(command)) created.addOption(optionOf(definition, command));
  }
  return created;
}

/** Values stay text here: the schema of the settings judges flags and environment alike. */
function optionOf(definition: Definition, command: Command): Option {
  const { flag, short, type } = definition;
  const help = definition.helpFor?.[command] ?? definition.help;
  const choices = choicesOf(definition, command);
  const value = type === "boolean" ? "" : ` <${definition.value ?? choices?.join("|") ?? "VALUE"}>`;
  const option = new Option(`${short === undefined ? "" : `${short}, `}${flag}${value}`, help + hint(definition, command));
  return type === "strings" ? option.argParser((item: string, before: string[] | undefined) => [...(before ?? []), item]) : option;
}

function hint(definition: Definition, command: Command): string {
  const standard = defaultOf(definition, command);
  const shown = definition.type === "duration" && typeof standard === "number" ? `${standard / 1000}s` : String(standard);
  const remarks = [
    definition.type === "strings" ? "repeatable" : "",
    standard === null || standard === false || shown === "" ? "" : `default: ${shown}`,
  ].filter((remark) => remark !== "");
  return remarks.length === 0 ? "" : ` (${remarks.join("; ")})`;
}

/** Plain arguments that mean the same as a flag. */
export function withPaths(options: Flags, named: readonly string[]): Flags {
  const from = [options["from"] ?? [], named].flat().map(String);
  return from.length === 0 ? options : { ...options, from };
}
