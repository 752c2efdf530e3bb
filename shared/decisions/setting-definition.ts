import type { Pattern } from "./setting-patterns.ts";

export const COMMANDS = [
  "local", "webhook", "sidecar", "lint", "resolve", "audit", "impact", "migrate carm", "credential-process",
  "certs make", "certs manage", "manifests",
] as const;
export type Command = (typeof COMMANDS)[number];

export type Default = string | boolean | null | readonly string[];

/** A row of the settings table. */
export interface Definition {
  readonly flag: `--${string}`;
  /** The one-letter form of the flag. */
  readonly short?: `-${string}`;
  /**
   * The type of the value. A flag of type `strings` is repeatable, and each value is a comma-separated list.
   */
  readonly type: "string" | "boolean" | "strings";
  /** Whether a value can contain a comma. If so, the value of the flag is not split at commas. */
  readonly allowsComma?: true;
  /** The value of a flag that is given without one. */
  readonly bare?: string;
  /** The placeholder for the value in the help. */
  readonly value?: string;
  readonly choices?: readonly string[];
  /** For some commands, the choices that replace `choices`. */
  readonly choicesFor?: Partial<Readonly<Record<Command, readonly string[]>>>;
  /** The pattern that every value must match, and a description of the pattern for error messages. */
  readonly pattern?: Pattern;
  readonly default: Default;
  /** For some commands, the default that replaces `default`. */
  readonly defaults?: Partial<Readonly<Record<Command, Default>>>;
  readonly commands: readonly Command[];
}

/** Returns the choices of a setting for a command, or undefined if any value is allowed. */
export function choicesOf(definition: Definition, command: Command): readonly string[] | undefined {
  return definition.choicesFor?.[command] ?? definition.choices;
}

/** Returns the default of a setting for a command. */
export function defaultOf(definition: Definition, command: Command): Default {
  const own = definition.defaults?.[command];
  return own === undefined ? definition.default : own;
}
