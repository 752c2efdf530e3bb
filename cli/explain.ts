import type { CheckEntry } from "../shared/core/check.ts";
import { decisionSettings } from "../shared/core/context.ts";
import { Inventory } from "../shared/core/inventory.ts";
import { describeRepairs } from "../shared/core/repair.ts";
import type { ErrorEntry } from "../shared/formats/error-entry.ts";
import { ERRORS, ResolverError } from "../shared/formats/errors.ts";
import { formatFieldPath } from "../shared/formats/json.ts";
import { NameIndex } from "../shared/formats/nearest.ts";
import { listOf, quote } from "../shared/formats/text.ts";
import { CATALOGUE, runChecks } from "../shared/judges.ts";
import { INVENTORY_KINDS } from "../shared/kinds.ts";
import { readSettings } from "../shared/server/read-settings.ts";
import { exampleOf } from "./example-objects.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";

/** The explanation of each check and error. */
const EXPLANATIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ...CATALOGUE.map((check) => [check.id, checkLines(check)] as const),
  ...Object.entries(ERRORS).map(([code, error]) => [code, errorLines(code, error)] as const),
]);

/**
 * Prints why a check or an error exists, with an example and the fix.
 * @throws ResolverError ERR_CONFIG_INVALID if the code does not exist.
 */
export function runExplain(code: string, io: IO): ExitStatus {
  const known = [...EXPLANATIONS.keys()].find((one) => one.toUpperCase() === code.toUpperCase());
  if (known === undefined) throw new ResolverError("ERR_CONFIG_INVALID", unknownCode(code));
  writeLines(io.stdout, EXPLANATIONS.get(known) ?? []);
  return EXIT.fine;
}

function checkLines(check: CheckEntry): readonly string[] {
  const heading = `${check.id}: ${severityOf(check)}${check.waivable === true ? ", waivable" : ""}`;
  const inCARM = check.fixInCARM === undefined ? [] : [`With --mode carm: ${check.fixInCARM}.`];
  const fixes = [`Fix: ${check.fix}.`, ...inCARM, ...repairLines(check)];
  return explanation(heading, { why: check.reason, example: check.example, fixes });
}

interface Explanation {
  readonly why: string;
  readonly example: string;
  readonly fixes: readonly string[];
}

function explanation(heading: string, { why, example, fixes }: Explanation): readonly string[] {
  const lines = example.split("\n").map((line) => (line === "" ? "" : `  ${line}`));
  return [heading, "", `Why: ${why}`, "", "Example:", ...lines, "", ...fixes];
}

/** Returns how `lint` repairs the example; empty if the example is a sentence, or alone has no fault. */
function repairLines({ id, example }: CheckEntry): readonly string[] {
  const object = exampleOf(id, example);
  if (object === null) return [];
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  inventory.apply([{ type: "put", object }]);
  const settings = decisionSettings(readSettings("lint", { cluster: true }, {}));
  const { findings } = runChecks({ object, old: null, requester: null, origin: "file", inventory }, settings);
  const found = findings.find(({ code, repairs = [] }) => code === id && repairs.length > 0);
  if (found?.repairs === undefined) return [];
  const { path, repairs } = found;
  const where = path.length === 0 ? "" : `${formatFieldPath(path)}: `;
  const note = repairs.some(({ isSafe }) => isSafe) ? " (`lint --fix` does it)" : "";
  return [`Repair of the example: ${where}${describeRepairs(repairs, path)}${note}.`];
}

/** Returns the severity of a check and what changes it, such as ``warn, deny in `audit` ``. */
export function severityOf({ severity, deniesInCARM, inAudit, fixed }: CheckEntry): string {
  const carm = deniesInCARM === true ? " with `--mode carm`, otherwise warn" : "";
  const audit = inAudit?.severity === undefined ? "" : `, ${inAudit.severity} in \`audit\``;
  return `${severity}${carm}${audit}${fixed === true ? ", fixed" : ""}`;
}

function errorLines(code: string, { status, retry, meaning, example, fix }: ErrorEntry): readonly string[] {
  const heading = `${code}: HTTP status ${status}; a retry ${retry ? "may help" : "does not help"}`;
  return explanation(heading, { why: meaning, example, fixes: [`Fix: ${fix}.`] });
}

function unknownCode(code: string): string {
  const similar = new NameIndex(EXPLANATIONS.keys()).guesses(code);
  const hint = similar.length === 0
    ? "docs/checks.md and docs/errors.md list the codes, such as IRS-30"
    : `similar codes: ${listOf(similar)}`;
  return `no check and no error has the code ${quote(code)}; ${hint}`;
}
