import { test } from "tap";
import { ROLE } from "../../objects.ts";
import { specLines } from "../findings.ts";

const named = (id: string, names: unknown): string[] => specLines(id, { arn: ROLE, namespaceSelector: { names } });

test("IRS-08: an empty name and each repetition are caught", (t) => {
  const fix = "List each namespace once, or leave names out to select every namespace.";
  t.same(named("IRS-08", ["a", ""]), [`IRS-08 spec.namespaceSelector.names[1]: the namespace name is empty. ${fix}`]);
  t.same(named("IRS-08", ["a", "b", "a", "a"]), [
    `IRS-08 spec.namespaceSelector.names[2]: "a" is listed already. ${fix}`,
    `IRS-08 spec.namespaceSelector.names[3]: "a" is listed already. ${fix}`,
  ]);
  t.same(named("IRS-08", ["", ""]), [
    `IRS-08 spec.namespaceSelector.names[0]: the namespace name is empty. ${fix}`,
    `IRS-08 spec.namespaceSelector.names[1]: the namespace name is empty. ${fix}`,
  ]);
  for (const names of [["a", "b", "A"], ["constructor", "__proto__"], [], null]) t.same(named("IRS-08", names), []);
  t.same(specLines("IRS-08", { arn: ROLE, namespaceSelector: null }), []);
  t.end();
});

test("IRS-09: a name that no namespace can have is caught", (t) => {
  const form = "a namespace name consists of lower-case letters, digits and '-', starting and ending with a letter or digit";
  const fix = "Write the exact name of a namespace, or select namespaces by label with labelSelector.";
  for (const name of ["team-*", "*", "Team", "team_a", "-a", "a-", "a.b", "a/b", " a", "é"]) {
    t.same(named("IRS-09", ["ok", name]), [`IRS-09 spec.namespaceSelector.names[1]: "${name}" is not the name of a namespace: ${form}. ${fix}`]);
  }
  t.same(named("IRS-09", ["a".repeat(64)]), [
    `IRS-09 spec.namespaceSelector.names[0]: "${"a".repeat(64)}" is not the name of a namespace: a namespace name has at most 63 characters. ${fix}`,
  ]);
  t.same(named("IRS-09", ["a".repeat(63), "0", "a-b", "a--b", "7"]), []);
  t.same(named("IRS-09", [""]), [], "IRS-08 speaks of the empty name");
  t.end();
});
