import { ROLE } from "../objects.ts";
import { specLines } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const linesOf = (names: unknown): string[] =>
  specLines(["IRS-08", "IRS-09"], { arn: ROLE, namespaceSelector: { names } });
const irs08 = (index: number, message: string): string => `deny IRS-08 spec.namespaceSelector.names[${index}]: `
  + `${message}.`;
const EMPTY = "the namespace name is empty. Write the name of a namespace";
const REPEATED = '"a" is already listed. Remove this entry';

testRows("IRS-08: denies an empty namespace name and each repeated namespace name", linesOf, [
  ["an empty name", ["a", ""], irs08(1, EMPTY)],
  ["a repeated name", ["a", "b", "a", "a"], irs08(2, REPEATED), irs08(3, REPEATED)],
  ["two empty names", ["", ""], irs08(0, EMPTY), irs08(1, EMPTY)],
  ["no name", []],
  ["null", null],
]);

const FORM = "consist of lower-case letters, digits and '-', and start and end with a letter or digit";
const FIX = "Use the exact name of a namespace, or select namespaces by label with labelSelector";
const irs09 = (name: string, form = FORM, fix = FIX): string => `deny IRS-09 spec.namespaceSelector.names[1]: `
  + `"${name}" is not a valid namespace name: a namespace name must ${form}. ${fix}.`;
const MALFORMED = ["team-*", "*", "-a", "a-", "a.b", "a/b", "é", "__proto__"];
const NEAR = [["Team", "team"], ["team_a", "team-a"], [" a", "a"]] as const;

testRows("IRS-09: denies a name that is not a valid namespace name", linesOf, [
  ...MALFORMED.map((name) => [name, ["ok", name], irs09(name)] as const),
  ...NEAR.map(([name, meant]) => [name, ["ok", name], irs09(name, FORM, `Write "${meant}"`)] as const),
  ["a listed namespace", ["ok", "OK"], irs09("OK", FORM, "Remove this entry")],
  ["64 characters", ["ok", "a".repeat(64)], irs09("a".repeat(64), "have at most 63 characters")],
  ["valid names", ["a".repeat(63), "0", "a-b", "a--b", "7", "constructor"]],
]);
