import { test } from "tap";
import { ROLE } from "../../objects.ts";
import { specLines } from "../findings.ts";

const linesOf = (id: string, names: unknown): string[] => specLines(id, { arn: ROLE, namespaceSelector: { names } });

test("IRS-08: denies an empty namespace name and each repeated namespace name", (t) => {
  const fix = "List each namespace once, or remove the field names to select every namespace.";
  t.same(linesOf("IRS-08", ["a", ""]), [`IRS-08 spec.namespaceSelector.names[1]: the namespace name is empty. ${fix}`]);
  t.same(linesOf("IRS-08", ["a", "b", "a", "a"]), [
    `IRS-08 spec.namespaceSelector.names[2]: "a" is already listed. ${fix}`,
    `IRS-08 spec.namespaceSelector.names[3]: "a" is already listed. ${fix}`,
  ]);
  t.same(linesOf("IRS-08", ["", ""]), [
    `IRS-08 spec.namespaceSelector.names[0]: the namespace name is empty. ${fix}`,
    `IRS-08 spec.namespaceSelector.names[1]: the namespace name is empty. ${fix}`,
  ]);
  for (const names of [["a", "b", "A"], ["constructor", "__proto__"], [], null]) t.same(linesOf("IRS-08", names), []);
  t.same(specLines("IRS-08", { arn: ROLE, namespaceSelector: null }), []);
  t.end();
});

test("IRS-09: denies a name that is not a valid namespace name", (t) => {
  const form =
    "a namespace name must consist of lower-case letters, digits and '-', and start and end with a letter or digit";
  const fix = "Use the exact name of a namespace, or select namespaces by label with labelSelector.";
  for (const name of ["team-*", "*", "Team", "team_a", "-a", "a-", "a.b", "a/b", " a", "é"]) {
    t.same(linesOf("IRS-09", ["ok", name]), [
      `IRS-09 spec.namespaceSelector.names[1]: "${name}" is not a valid namespace name: ${form}. ${fix}`,
    ]);
  }
  t.same(linesOf("IRS-09", ["a".repeat(64)]), [
    `IRS-09 spec.namespaceSelector.names[0]: "${"a".repeat(64)}" is not a valid namespace name: a namespace name `
      + `must have at most 63 characters. ${fix}`,
  ]);
  t.same(linesOf("IRS-09", ["a".repeat(63), "0", "a-b", "a--b", "7"]), []);
  t.same(linesOf("IRS-09", [""]), [], "IRS-08 reports the empty name");
  t.end();
});
