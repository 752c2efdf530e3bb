import { test } from "tap";
import {
  labelKeyFaults, labelValueFaults, namespaceNameFaults, subdomainFaults,
} from "../../../../shared/decisions/kubernetes/names.ts";

const FORM = "letters, digits, '-', '_' and '.', starting and ending with a letter or digit";

test("label keys, after Kubernetes' qualified names", (t) => {
  const good = ["simple", "now-with-dashes", "1-starts-with-num", "1234", "simple/simple", "now-with-dashes/simple", "1234/1234", "1.2.3.4/5678", "Uppercase_Is_OK_123",
    "example.com/Uppercase_Is_OK_123", "requests.storage-foo", "a".repeat(63), `${"a".repeat(253)}/${"b".repeat(63)}`];
  for (const key of good) t.same(labelKeyFaults(key), [], key);
  const name = `the name part of a label key consists of ${FORM}`;
  const prefix = "in the prefix of a label key: a DNS name consists of lower-case letters, digits, '-' and '.', each part starting and ending with a letter or digit";
  const rows: readonly (readonly [key: string, faults: readonly string[]])[] = [
    ["nospecialchars%^=@", [name]], ["cantendwithadash-", [name]], ["-cantstartwithadash-", [name]], ["with space", [name]], ["_x", [name]], ["é", [name]], ["x\n", [name]],
    ["only/one/slash", ["a label key has at most one '/', between prefix and name"]],
    ["Example.com/abc", [prefix]], ["example_com/abc", [prefix]], ["example.com/", ["the name part of a label key is not empty"]], ["/simple", ["the prefix of a label key is not empty"]],
    ["", ["the name part of a label key is not empty"]], ["-/-", [prefix, name]],
    ["a".repeat(64), ["the name part of a label key has at most 63 characters"]],
    [`${"a".repeat(254)}/abc`, ["in the prefix of a label key: a DNS name has at most 253 characters"]],
  ];
  for (const [key, faults] of rows) t.same(labelKeyFaults(key), faults, key);
  t.end();
});

test("label values", (t) => {
  for (const value of ["", "simple", "now-with-dashes", "1-starts", "end-with-num-1", "1234", "a".repeat(63), "A_b.c-D"]) t.same(labelValueFaults(value), [], value);
  const form = `a label value is empty or consists of ${FORM}`;
  for (const value of ["nospecialchars%^=@", "Tama-nui-te-rā.is.Māori.sun", "-starts-with-dash", "ends-with-dash-", ".dot", "a/b", " ", "a\n"]) t.same(labelValueFaults(value), [form], value);
  t.same(labelValueFaults("a".repeat(64)), ["a label value has at most 63 characters"]);
  t.same(labelValueFaults("-".repeat(64)), [form, "a label value has at most 63 characters"]);
  t.end();
});

test("namespace names, after RFC 1123 labels", (t) => {
  for (const name of ["a", "ab", "a1", "a-1", "a--1--2--b", "0", "01", "1-a", "1--a--b--2", "a".repeat(63)]) t.same(namespaceNameFaults(name), [], name);
  const form = "a namespace name consists of lower-case letters, digits and '-', starting and ending with a letter or digit";
  for (const name of ["", "A", "ABC", "aBc", "-", "a-", "-a", "1-", "_", "a_b", "a.b", "a b", " a", "a@", "a:b", "a\n"]) t.same(namespaceNameFaults(name), [form], name);
  t.same(namespaceNameFaults("a".repeat(64)), ["a namespace name has at most 63 characters"]);
  t.end();
});

test("object names, after RFC 1123 subdomains", (t) => {
  for (const name of ["a", "a.a", "ab.a", "a.ab", "a1.a", "a-1.a", "0.0", "a.b.c.d.e", `${"a".repeat(126)}.${"b".repeat(126)}`]) t.same(subdomainFaults(name), [], name);
  const form = "a DNS name consists of lower-case letters, digits, '-' and '.', each part starting and ending with a letter or digit";
  for (const name of ["", "A", "a-", "-a", "a.", ".a", "a..b", "a.-b", "a-.b", "a_b", "a b", "a/b"]) t.same(subdomainFaults(name), [form], name);
  t.same(subdomainFaults("a".repeat(254)), ["a DNS name has at most 253 characters"]);
  t.end();
});
