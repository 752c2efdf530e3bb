import { Option } from "commander";
import { choicesOf, type Command, defaultOf, type Definition } from "../shared/core/setting-definition.ts";
import { OFFLINE, type SettingName } from "../shared/core/settings.ts";
import { flagGroup, flagHelp } from "./help.ts";

/** Whether the value of the flag is split at commas. */
export function isSplit({ type, allowsComma }: Definition): boolean {
  return type === "strings" && allowsComma !== true;
}

/** Returns an option whose value remains text. `readSettings` validates the values of flags and variables. */
export function optionOf(name: SettingName, definition: Definition, command: Command): Option {
  const { flag, short, type } = definition;
  const flags = `${short === undefined ? "" : `${short}, `}${flag}${valueText(definition, command)}`;
  const option = new Option(flags, flagHelp(name, command) + hint(definition, command));
  // Declares --no-X as a separate flag: by default, commander reads --no-X as the negation of a flag --X.
  option.attributeName = () => name;
  option.negate = false;
  option.helpGroup(`${flagGroup(name, command)}:`);
  // withBareValues adds the value of a boolean.
  if (definition.bare !== undefined && type !== "boolean") option.preset(definition.bare);
  if (type !== "strings") return option;
  return option.argParser((item: string, before: string[] | undefined) => [...(before ?? []), item]);
}

/** The short forms of `--log-level`, for the commands whose log is what they say on standard error. */
const LOG_LEVELS = [
  ["-v, --verbose", "debug", "also list what was skipped or not judged"],
  ["--quiet", "error", "print only results, findings and errors"],
] as const;

/** Returns the options of a command that stand for a value of another one. */
export function shorthandsOf(command: Command): Option[] {
  if (!OFFLINE.some((one) => one === command)) return [];
  return LOG_LEVELS.map(([flags, level, help]) => {
    const option = new Option(flags, help).preset(level).helpGroup(`${flagGroup("logLevel", command)}:`);
    option.attributeName = () => "logLevel" satisfies SettingName;
    return option;
  });
}

/** Returns the placeholder of a flag's value, such as ` <NAME,...>`; "" if the flag has none. */
function valueText(definition: Definition, command: Command): string {
  const { type, bare, value = choicesOf(definition, command)?.join("|") ?? "VALUE" } = definition;
  if (type === "boolean") return bare === undefined ? "" : " [=true|false]";
  const list = `${value}${isSplit(definition) ? ",..." : ""}`;
  return bare === undefined ? ` <${list}>` : ` [${list}]`;
}

function hint(definition: Definition, command: Command): string {
  const value = defaultOf(definition, command);
  // A long list does not fit the terminal.
  const text = Array.isArray(value) && value.length > 1 ? `${value.length} values in docs/settings.md` : String(value);
  const remarks = [
    definition.allowsComma === true ? "repeatable" : "",
    value === null || value === false || text === "" ? "" : `default: ${text}`,
  ].filter((remark) => remark !== "");
  return remarks.length === 0 ? "" : ` (${remarks.join("; ")})`;
}
