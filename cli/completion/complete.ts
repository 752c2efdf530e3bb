import type { Command as Commander, Option } from "commander";
import { type Clock, systemClock } from "../../shared/core/clock.ts";
import { DEFINITIONS } from "../../shared/core/settings.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "../io.ts";
import { ClusterNames } from "./cluster-names.ts";
import { Cursor, splitFlag } from "./cursor.ts";
import { argumentValues, flagValues, type Values } from "./values.ts";

/** What the shell does besides offering the candidates: the numbers are those of cobra, which kubectl understands. */
const DIRECTIVE = { files: 0, noSpace: 2, noFiles: 4 } as const;

/**
 * What a shell reads as one word. A cluster or a kubeconfig chooses names, and shells insert a candidate as it is: it
 * must not become a command, or control the terminal.
 */
const PLAIN = /^[\w./:=@,%+-]+$/;

/**
 * Prints the candidates for the last word, a line each with a tab before its description, and `:DIRECTIVE`. Prints
 * no candidate instead of an error: a shell shows what is printed between what the user types.
 */
export async function runComplete(
  words: readonly string[], program: Commander, io: IO, clock: Clock = systemClock,
): Promise<ExitStatus> {
  const cursor = new Cursor(words, program);
  const { current } = cursor;
  const names = new ClusterNames(cursor, io.isPlugin === true, clock);
  const { candidates, isOpen = false, areFiles = false } = await valuesAt(cursor, names);
  const matching = candidates.filter(([value]) => value.startsWith(current) && PLAIN.test(value));
  const directive = areFiles ? DIRECTIVE.files : DIRECTIVE.noFiles + (isOpen ? DIRECTIVE.noSpace : 0);
  const lines = matching.map(([value, description = ""]) => (description === "" ? value : `${value}\t${description}`));
  writeLines(io.stdout, [...lines, `:${directive}`]);
  return EXIT.fine;
}

async function valuesAt(cursor: Cursor, names: ClusterNames): Promise<Values> {
  const { current, positionals, program, option } = cursor;
  if (option !== null) return await listValues(option, current, cursor, names);
  if (current.startsWith("-") && current.includes("=")) {
    const [flag, value] = splitFlag(current);
    const found = program.options.find(({ long }) => long === flag);
    if (found === undefined) return { candidates: [] };
    return prefixed(`${flag}=`, await listValues(found, value, cursor, names));
  }
  if (current.startsWith("-")) return { candidates: program.options.flatMap(flagCandidates) };
  if (program.commands.length === 0 || positionals.length > 0) return await argumentValues(cursor, names);
  return { candidates: program.commands.map((one) => [one.name(), one.description()]) };
}

function flagCandidates({ long, description, hidden }: Option): (readonly [string, string])[] {
  const isRemoved = hidden && !DEFINITIONS.some(([, { flag }]) => flag === long);
  return long === undefined || isRemoved ? [] : [[long, description]];
}

/** Returns the values of a flag. After a comma, they start with the items before it. */
async function listValues(option: Option, current: string, cursor: Cursor, names: ClusterNames): Promise<Values> {
  const name = option.attributeName();
  const definition = DEFINITIONS.find(([one]) => one === name);
  if (definition === undefined) return { candidates: [] };
  const isList = definition[1].type === "strings" && definition[1].allowsComma !== true;
  const before = isList ? current.slice(0, current.lastIndexOf(",") + 1) : "";
  const { command, positionals } = cursor;
  const at = { command, positionals, current: current.slice(before.length) };
  return prefixed(before, await flagValues(definition, at, names));
}

function prefixed(prefix: string, values: Values): Values {
  return { ...values, candidates: values.candidates.map(([value, ...rest]) => [prefix + value, ...rest]) };
}
