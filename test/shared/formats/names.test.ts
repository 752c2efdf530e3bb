import { test } from "tap";
import {
  labelKeyFaults, labelValueFaults, namespaceNameFaults, subdomainFaults,
} from "../../../shared/formats/names.ts";

const FORM = "letters, digits, '-', '_' and '.', and start and end with a letter or digit";

test("validates label keys as qualified names", (t) => {
  const good = [
    "simple",
    "now-with-dashes",
    "1-starts-with-num",
    "1234",
    "simple/simple",
    "now-with-dashes/simple",
    "1234/1234",
    "1.2.3.4/5678",
    "Uppercase_Is_OK_123",
    "example.com/Uppercase_Is_OK_123",
    "requests.storage-foo",
    "a".repeat(63),
    `${"a".repeat(253)}/${"b".repeat(63)}`,
  ];
  for (const key of good) t.same(labelKeyFaults(key), [], key);
  const name = `the name part of a label key must consist of ${FORM}`;
  const prefix =
    "in the prefix of a label key: a DNS name must consist of lower-case letters, digits, '-' and '.', and each part "
      + "must start and end with a letter or digit";
  const rows: readonly (readonly [key: string, faults: readonly string[]])[] = [
    ["nospecialchars%^=@", [name]],
    ["cantendwithadash-", [name]],
    ["-cantstartwithadash-", [name]],
    ["with space", [name]],
    ["_x", [name]],
    ["é", [name]],
    ["x\n", [name]],
    ["only/one/slash", ["a label key must have at most one '/', between prefix and name"]],
    ["Example.com/abc", [prefix]],
    ["example_com/abc", [prefix]],
    ["example.com/", ["the name part of a label key must not be empty"]],
    ["/simple", ["the prefix of a label key must not be empty"]],
    ["", ["the name part of a label key must not be empty"]],
    ["-/-", [prefix, name]],
    ["a".repeat(64), ["the name part of a label key must have at most 63 characters"]],
    [`${"a".repeat(254)}/abc`, ["in the prefix of a label key: a DNS name must have at most 253 characters"]],
  ];
  for (const [key, faults] of rows) t.same(labelKeyFaults(key), faults, key);
  t.end();
});

test("validates label values", (t) => {
  for (const value of [
    "",
    "simple",
    "now-with-dashes",
    "1-starts",
    "end-with-num-1",
    "1234",
    "a".repeat(63),
    "A_b.c-D",
  ])
    t.same(labelValueFaults(value), [], value);
  const form = `a label value must be empty or consist of ${FORM}`;
  for (const value of [
    "nospecialchars%^=@",
    "Tama-nui-te-rā.is.Māori.sun",
    "-starts-with-dash",
    "ends-with-dash-",
    ".dot",
    "a/b",
    " ",
    "a\n",
  ])
    t.same(labelValueFaults(value), [form], value);
  t.same(labelValueFaults("a".repeat(64)), ["a label value must have at most 63 characters"]);
  t.same(labelValueFaults("-".repeat(64)), [form, "a label value must have at most 63 characters"]);
  t.end();
});

test("validates namespace names as RFC 1123 labels", (t) => {
  for (const name of ["a", "ab", "a1", "a-1", "a--1--2--b", "0", "01", "1-a", "1--a--b--2", "a".repeat(63)])
    t.same(namespaceNameFaults(name), [], name);
  const form =
    "a namespace name must consist of lower-case letters, digits and '-', and start and end with a letter or digit";
  for (const name of ["", "A", "ABC", "aBc", "-", "a-", "-a", "1-", "_", "a_b", "a.b", "a b", " a", "a@", "a:b", "a\n"])
    t.same(namespaceNameFaults(name), [form], name);
  t.same(namespaceNameFaults("a".repeat(64)), ["a namespace name must have at most 63 characters"]);
  t.end();
});

test("validates object names as RFC 1123 subdomains", (t) => {
  for (const name of [
    "a",
    "a.a",
    "ab.a",
    "a.ab",
    "a1.a",
    "a-1.a",
    "0.0",
    "a.b.c.d.e",
    `${"a".repeat(126)}.${"b".repeat(126)}`,
  ])
    t.same(subdomainFaults(name), [], name);
  const form =
    "a DNS name must consist of lower-case letters, digits, '-' and '.', and each part must start and end with a "
      + "letter or digit";
  for (const name of ["", "A", "a-", "-a", "a.", ".a", "a..b", "a.-b", "a-.b", "a_b", "a b", "a/b"])
    t.same(subdomainFaults(name), [form], name);
  t.same(subdomainFaults("a".repeat(254)), ["a DNS name must have at most 253 characters"]);
  t.end();
});
