import { readFileSync } from "node:fs";
import { test } from "tap";
import { withCoverageTable } from "../../docs/policies.ts";

const PAGE = readFileSync(new URL("../../docs/policies.md", import.meta.url), "utf8");

test("replaces the table of the page, and nothing else", (t) => {
  const stale = PAGE.replaceAll(/^\| (?:iamroleselectors|waivers) \|.*\n/gm, "");
  t.not(stale, PAGE);
  t.equal(withCoverageTable(stale), PAGE);
  t.end();
});

test("lists what a policy leaves out of a check beside the check", (t) => {
  const row = PAGE.split("\n").find((line) => line.startsWith("| namespaces |"));
  t.match(row, /\bNS-07 \(only the form of the region\)/);
  t.end();
});
