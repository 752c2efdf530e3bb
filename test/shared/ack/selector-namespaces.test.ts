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

const irs09 = (name: string, form = "consist of lower-case letters, digits and '-', and start and end with a letter or "
  + "digit"): string => `deny IRS-09 spec.namespaceSelector.names[1]: "${name}" is not a valid namespace name: a `
  + `namespace name must ${form}. Use the exact name of a namespace, or select namespaces by label with labelSelector.`;
const MALFORMED = ["team-*", "*", "Team", "team_a", "-a", "a-", "a.b", "a/b", " a", "é", "__proto__"];

testRows("IRS-09: denies a name that is not a valid namespace name", linesOf, [
  ...MALFORMED.map((name) => [name, ["ok", name], irs09(name)] as const),
  ["64 characters", ["ok", "a".repeat(64)], irs09("a".repeat(64), "have at most 63 characters")],
  ["valid names", ["a".repeat(63), "0", "a-b", "a--b", "7", "constructor"]],
]);
