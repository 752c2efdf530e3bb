import { runChecks } from "../../../shared/judges.ts";
import { applyRepairs } from "./repaired.ts";
import { test } from "tap";
import { type CheckInput, type Finding, findingLine } from "../../../shared/core/check.ts";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { countOf } from "../../../shared/formats/text.ts";
import { inventoryWith, SETTINGS_BY_DEFAULT } from "../objects.ts";

type Options = Partial<Pick<CheckInput, "access" | "old" | "operation" | "requester" | "warnOnly">>;

export interface CapaInput extends Options {
  readonly objects?: readonly JsonObject[];
  readonly settings?: Partial<DecisionSettings>;
  readonly origin?: "file" | "cluster";
}

/** A check, a condition, the object that meets the condition, and patterns of the lines that `capaLines` returns. */
export type CapaCase = readonly [
  id: string, when: string, object: JsonObject, expected: readonly RegExp[], input?: CapaInput,
];

/** Defines one test for each case. */
export function testCases(cases: readonly CapaCase[]): void {
  for (const [id, when, object, expected, input] of cases) {
    test(`${id} reports ${expected.length === 0 ? "no fault" : countOf(expected.length, "fault")}: ${when}`, (t) => {
      const lines = capaLines(id, object, input);
      t.equal(lines.length, expected.length, lines.join("\n"));
      for (const [i, pattern] of expected.entries()) t.match(lines[i], pattern);
      t.end();
    });
  }
}

/** Returns `SEVERITY LINE` for each finding of the check. Default: the creation of the object in a cluster. */
export function capaLines(id: string, object: JsonObject, input: CapaInput = {}): string[] {
  const findings = findingsOf(object, input).filter(({ code }) => code === id);
  return findings.map((one) => `${one.severity} ${findingLine(one)}`);
}

/** Returns the ids of the checks that deny the change. */
export function denials(object: JsonObject, input: CapaInput = {}): string[] {
  return findingsOf(object, input).filter(({ severity }) => severity === "deny").map(({ code }) => code);
}

function findingsOf(object: JsonObject, input: CapaInput): readonly Finding[] {
  const { objects = [], settings = {}, origin = "cluster", old = null, requester = null, ...rest } = input;
  const all = { ...SETTINGS_BY_DEFAULT, ...settings };
  const inventory = inventoryWith(objects, { runtime: all.runtime, origin });
  const change = { object, old, requester, origin, inventory, ...rest };
  const result = runChecks(change, all);
  applyRepairs({ input: change, settings: all, known: objects }, result);
  return result.findings;
}
