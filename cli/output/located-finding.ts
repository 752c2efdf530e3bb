import type { Finding } from "../../shared/core/check.ts";
import type { Severity } from "../../shared/core/context.ts";
import { type FieldPath, formatFieldPath, type JsonObject } from "../../shared/formats/json.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { printable } from "../../shared/formats/text.ts";
import type { StateObject } from "../input/state.ts";
import { Texts } from "../input/texts.ts";
import { type RenderedRepair, RepairRenderer } from "./repairs.ts";
import { type SarifFix, sarifFix } from "./sarif-fixes.ts";
import type { Paint } from "./terminal.ts";

/** A finding and its place in the input, in the format of `lint -o json`. */
export interface LocatedFinding {
  readonly file: string | null;
  readonly line: number | null;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | null;
  readonly path: string;
  readonly code: string;
  readonly severity: Severity;
  readonly wouldDeny?: true;
  readonly message: string;
  readonly fix: string;
  readonly waivable: boolean;
  readonly waived: boolean;
  /** The ways to correct the finding, the most likely first, for `-o json`. */
  readonly repairs?: readonly RenderedRepair[];
  /** Those that can be written into the files, for `-o sarif`. */
  readonly fixes?: readonly SarifFix[];
  /** The root, if the input has several: null if the finding is the same in each root. */
  readonly root?: string | null;
}

/**
 * Returns a function that returns a finding with the file, line and name of its object, and its repairs if the output
 * has them. `objects` are those of the input.
 */
export function locator(
  output: string, objects: readonly StateObject[], texts = new Texts(),
): (finding: Finding, found: StateObject) => LocatedFinding {
  const renderer = new RepairRenderer(objects, texts);
  return (finding, found) => {
    const { code, severity, path, message, fix, waivable, waived, wouldDeny } = finding;
    return {
      ...placeAndName(found, path), path: formatFieldPath(path), code, severity, message, fix, waivable, waived,
      ...(wouldDeny === true && { wouldDeny }),
      ...(output === "json" && { repairs: renderer.render(finding, found) }),
      ...(output === "sarif" && { fixes: renderer.inFiles(finding, found).map(sarifFix) }),
    };
  };
}

/** Returns the name of the object, and the place of its field. */
export function placeAndName(
  found: StateObject, path: FieldPath = [],
): Pick<LocatedFinding, "file" | "line" | "kind" | "name" | "namespace"> {
  return { ...placeOf(found, path), ...nameOf(found.object) };
}

function nameOf(object: JsonObject): Pick<LocatedFinding, "kind" | "name" | "namespace"> {
  const { kind, name, namespace } = objectReference(object);
  return { kind, name, namespace: namespace === "" ? null : namespace };
}

/** Returns the line of the field. If the field is missing, returns the line of its closest parent. */
function placeOf({ file, lineOf }: StateObject, path: FieldPath): Pick<LocatedFinding, "file" | "line"> {
  for (let depth = path.length; depth >= 0; depth--) {
    const line = lineOf(path.slice(0, depth));
    if (line !== null) return { file, line };
  }
  return { file, line: null };
}

/** Returns whether the findings set the exit status to 1. */
export function isFailing(
  findings: readonly Pick<LocatedFinding, "severity" | "waived">[], failOn: readonly string[],
): boolean {
  return findings.some(({ severity, waived }) => severity === "deny" || (failOn.includes("warn") && !waived));
}

/** Returns the number of findings by severity. */
export function countBySeverity(findings: readonly LocatedFinding[]): { denied: number; warned: number } {
  const denied = findings.filter(({ severity }) => severity === "deny").length;
  return { denied, warned: findings.length - denied };
}

/** Returns the three lines of a finding: place and check, message, and fix. */
export function findingLines(finding: LocatedFinding, paint: Paint): string[] {
  return [headOf(finding, paint), `    ${finding.message}`, fixLine(finding, paint)];
}

/** Returns the place, the severity, the check, the object and the field. */
function headOf(finding: LocatedFinding, paint: Paint): string {
  const { file, line, kind, name, namespace, path, code, severity, wouldDeny = false, waived, root = null } = finding;
  const place = file === null ? "" : printable(`${file}:${line}: `);
  const color = severity === "deny" ? "red" : "yellow";
  const fullName = namespace === null ? name : `${namespace}/${name}`;
  // An object can lack a name. A finding about the deletion of an object has no path.
  const ofRoot = root === null ? "" : printable(`(root ${root})`);
  const parts = [code, printable(kind), printable(fullName), path, ofRoot].filter((part) => part !== "");
  return `${place}${paint(color, wouldDeny ? "would deny" : severity)}${waived ? " (waived)" : ""} ${parts.join(" ")}`;
}

function fixLine({ fix }: LocatedFinding, paint: Paint): string {
  return `    ${paint("dim", `fix: ${fix}`)}`;
}

/** A finding, and those that differ from it only in their objects. */
interface Fact {
  readonly first: LocatedFinding;
  readonly others: readonly LocatedFinding[];
}

function factsOf(findings: readonly LocatedFinding[]): Fact[] {
  const facts = Map.groupBy(findings, ({ code, severity, wouldDeny, waived, message, fix }) => (
    JSON.stringify([code, severity, wouldDeny, waived, message, fix])
  ));
  return [...facts.values()].flatMap(([first, ...others]) => (first === undefined ? [] : [{ first, others }]));
}

/** The number of facts that are listed even if some are of one check. */
const MAX_FACTS = 10;

/**
 * Returns two lines for each finding. Findings that differ only in their objects are listed once, at the first place,
 * with the number of the others. If there are many, so are findings of one check. `isComplete` lists each.
 */
export function foldedLines(findings: readonly LocatedFinding[], isComplete: boolean, paint: Paint): string[] {
  if (isComplete) return findings.flatMap((first) => textOf({ first, others: [] }, paint));
  const facts = factsOf(findings);
  if (facts.length <= MAX_FACTS) return facts.flatMap((fact) => textOf(fact, paint));
  const byCheck = Map.groupBy(facts, ({ first: { code, severity, waived } }) => `${code} ${severity} ${waived}`);
  return [...byCheck.values()].flatMap((own) => checkLines(own, paint));
}

/** Returns the lines of the first fact of a check, and the numbers of the other findings. */
function checkLines([fact, ...facts]: readonly Fact[], paint: Paint): string[] {
  if (fact === undefined) return [];
  const { first, others } = fact;
  const more = facts.reduce((sum, one) => sum + 1 + one.others.length, 0);
  const counts = [
    ...(others.length === 0 ? [] : [`${others.length} more`]), ...(more === 0 ? [] : [`${more} with other messages`]),
  ];
  const [head = "", fix = ""] = textOf({ first, others: [] }, paint);
  return [counts.length === 0 ? head : `${head} (and ${counts.join(", ")}: -v lists all)`, fix];
}

function textOf({ first, others }: Fact, paint: Paint): string[] {
  const more = others.length === 0 ? "" : ` (and ${others.length} more: ${placesOf(others)})`;
  return [`${headOf(first, paint)}: ${first.message}${more}`, fixLine(first, paint)];
}

/** Returns the three lines of each different finding. */
export function factLines(findings: readonly LocatedFinding[], paint: Paint): string[][] {
  return factsOf(findings).map(({ first, others }) => {
    const [place = "", ...text] = findingLines(first, paint);
    return others.length === 0
      ? [place, ...text]
      : [`${place} and ${others.length} more: ${placesOf(others)}`, ...text];
  });
}

/** The number of places that a line lists. */
const MAX_PLACES = 3;

function placesOf(findings: readonly LocatedFinding[]): string {
  const places = [...new Set(findings.map(shortPlace))];
  return [...places.slice(0, MAX_PLACES), ...(places.length > MAX_PLACES ? ["..."] : [])].join(", ");
}

function shortPlace({ file, line, kind, namespace, name }: LocatedFinding): string {
  if (file !== null) return printable(`${file}:${line}`);
  return printable(`${kind} ${[namespace, name].filter((part) => part !== null).join("/")}`);
}
