import { STDIN } from "../../shared/files/listing.ts";
import { formatInputFault, type InputFault } from "../../shared/files/manifest-reader.ts";
import { countOf, printable } from "../../shared/formats/text.ts";
import type { StateObject } from "../input/state.ts";
import { findingLines, isFailing, type LocatedFinding, placeAndName } from "./located-finding.ts";
import { painter } from "./terminal.ts";

interface JUnitInput {
  readonly command: "lint" | "audit";
  readonly judged: readonly StateObject[];
  readonly findings: readonly LocatedFinding[];
  /** What could not be read, and so was not judged. */
  readonly inputErrors: readonly InputFault[];
  readonly failOn: readonly string[];
}

/** A file, standard input or the cluster. */
interface Suite {
  readonly name: string;
  readonly cases: readonly Case[];
}

interface Case {
  /** The file; null for an object of the cluster. */
  readonly file: string | null;
  readonly classname: string;
  readonly name: string;
  readonly result: "passed" | "failure" | "error";
  readonly lines: readonly string[];
}

/**
 * Returns a test report in the JUnit format that CI systems read: a suite for each file and a case for each judged
 * object, which fails if its findings set the exit status to 1. Has only what the schema of Jenkins' xUnit plugin
 * allows, in which a case has no file and no line: junit-10.xsd of https://github.com/jenkinsci/xunit-plugin
 */
export function junitReport({ command, judged, findings, inputErrors, failOn }: JUnitInput): string {
  const objects = new Map(judged.map((found) => placeAndName(found)).map((one) => [keyOf(one), one]));
  const byObject = Map.groupBy(findings, keyOf);
  for (const [key, [first]] of byObject) if (first !== undefined && !objects.has(key)) objects.set(key, first);
  const cases = [
    ...inputErrors.map(errorCase),
    ...Array.from(objects, ([key, object]) => objectCase(object, byObject.get(key) ?? [], failOn)),
  ];
  const suites = [...Map.groupBy(cases, ({ file }) => file)];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${suiteAttributes({ name: `ack-role-resolver ${command}`, cases })}>`,
    ...suites.flatMap(([file, own]) => suiteLines(file, own)),
    "</testsuites>",
    "",
  ].join("\n");
}

type JudgedObject = ReturnType<typeof placeAndName>;

function keyOf({ file, kind, namespace, name }: JudgedObject): string {
  return JSON.stringify([file, kind, namespace, name]);
}

function objectCase(object: JudgedObject, findings: readonly LocatedFinding[], failOn: readonly string[]): Case {
  const { file, kind, namespace, name } = object;
  const { failing = [], others = [] } = Object.groupBy(findings, (finding) => (
    isFailing([finding], failOn) ? "failing" : "others"
  ));
  const [first] = failing;
  return {
    file, classname: kind === "" ? "(no kind)" : kind,
    name: [namespace, name === "" ? "(no name)" : name].filter((part) => part !== null).join("/"),
    result: first === undefined ? "passed" : "failure",
    lines: [...(first === undefined ? [] : [failureOf(first, failing)]), ...outputOf(others)],
  };
}

/** Returns one element for all failures: GitLab and Jenkins read only the first one of a case. */
function failureOf({ code, path, message }: LocatedFinding, failing: readonly LocatedFinding[]): string {
  const more = failing.length === 1 ? "" : ` (and ${countOf(failing.length - 1, "more finding")})`;
  const summary = `${path === "" ? code : `${code} ${path}`}: ${message}${more}`;
  return `<failure type="${xml(code)}" message="${xml(summary)}">${textOf(failing)}</failure>`;
}

function outputOf(findings: readonly LocatedFinding[]): string[] {
  return findings.length === 0 ? [] : [`<system-out>${textOf(findings)}</system-out>`];
}

function textOf(findings: readonly LocatedFinding[]): string {
  const paint = painter({}, {});
  return findings.flatMap((finding) => findingLines(finding, paint)).map(xml).join("\n");
}

function errorCase(fault: InputFault): Case {
  const text = xml(formatInputFault(fault));
  return {
    file: fault.file, classname: "input", name: fault.line === null ? fault.file : `${fault.file}:${fault.line}`,
    result: "error",
    lines: [`<error type="ERR_INPUT_UNREADABLE" message="${text}">${text}</error>`],
  };
}

function suiteAttributes({ name, cases }: Suite): string {
  const count = (result: Case["result"]): number => cases.filter((one) => one.result === result).length;
  return `name="${xml(name)}" tests="${cases.length}" failures="${count("failure")}" errors="${count("error")}"`;
}

function suiteLines(file: string | null, cases: readonly Case[]): string[] {
  const place = file === null || file === STDIN ? "" : ` file="${xml(file)}"`;
  return [
    `  <testsuite ${suiteAttributes({ name: file ?? "cluster", cases })} skipped="0"${place}>`,
    ...cases.flatMap(({ classname, name, lines }) => [
      `    <testcase classname="${xml(classname)}" name="${xml(name)}">`,
      ...lines.map((line) => `      ${line}`),
      "    </testcase>",
    ]),
    "  </testsuite>",
  ];
}

const REFERENCES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"], ["<", "&lt;"], [">", "&gt;"], ['"', "&quot;"],
  // Not even a reference to these characters is well-formed: https://www.w3.org/TR/xml/#charsets
  ["\uFFFE", "\uFFFD"], ["\uFFFF", "\uFFFD"],
]);

/** Returns a line as XML text or attribute value. XML has no escape for control characters, so they are printable. */
function xml(line: string): string {
  return printable(line).replace(/[&<>"\uFFFE\uFFFF]/g, (character) => REFERENCES.get(character) ?? "");
}
