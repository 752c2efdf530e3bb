import { CATALOGUE } from "../shared/judges.ts";
import type { CheckEntry } from "../shared/core/check.ts";
import { ERRORS, ResolverError } from "../shared/formats/errors.ts";
import { NameIndex } from "../shared/formats/nearest.ts";
import { listOf, quote } from "../shared/formats/text.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";

type ErrorEntry = (typeof ERRORS)[keyof typeof ERRORS];

/** The explanation of each check and error. */
const EXPLANATIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ...CATALOGUE.map((check) => [check.id, checkLines(check)] as const),
  ...Object.entries(ERRORS).map(([code, error]) => [code, errorLines(code, error)] as const),
]);

/**
 * Prints why a check exists, with an example and the fix, or what an error means.
 * @throws ResolverError ERR_CONFIG_INVALID if the code does not exist.
 */
export function runExplain(code: string, io: IO): ExitStatus {
  const known = [...EXPLANATIONS.keys()].find((one) => one.toUpperCase() === code.toUpperCase());
  if (known === undefined) throw new ResolverError("ERR_CONFIG_INVALID", unknownCode(code));
  writeLines(io.stdout, EXPLANATIONS.get(known) ?? []);
  return EXIT.fine;
}

function checkLines(check: CheckEntry): readonly string[] {
  const example = check.example.split("\n").map((line) => (line === "" ? "" : `  ${line}`));
  const heading = `${check.id}: ${severityOf(check)}${check.waivable === true ? ", waivable" : ""}`;
  const inCARM = check.fixInCARM === undefined ? [] : [`With --mode carm: ${check.fixInCARM}.`];
  return [heading, "", `Why: ${check.reason}`, "", "Example:", ...example, "", `Fix: ${check.fix}.`, ...inCARM];
}

/** Returns the severity of a check and what changes it, such as ``warn, deny in `audit` ``. */
export function severityOf({ severity, deniesInCARM, inAudit, fixed }: CheckEntry): string {
  const carm = deniesInCARM === true ? " with `--mode carm`, otherwise warn" : "";
  const audit = inAudit?.severity === undefined ? "" : `, ${inAudit.severity} in \`audit\``;
  return `${severity}${carm}${audit}${fixed === true ? ", fixed" : ""}`;
}

function errorLines(code: string, { status, retry, meaning }: ErrorEntry): readonly string[] {
  return [`${code}: HTTP status ${status}; a retry ${retry ? "may help" : "does not help"}`, "", meaning];
}

function unknownCode(code: string): string {
  const similar = new NameIndex(EXPLANATIONS.keys()).guesses(code);
  const hint = similar.length === 0
    ? "docs/checks.md and docs/errors.md list the codes, such as IRS-30"
    : `similar codes: ${listOf(similar)}`;
  return `no check and no error has the code ${quote(code)}; ${hint}`;
}
