import { readFileSync } from "node:fs";
import { test } from "tap";

/** Returns the versions that have a section in a page. */
function versionsIn(page: string): string[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/^## (Unreleased|\d+\.\d+\.\d+)/gm)].map(([, version = ""]) => version);
}

test("each version of the changelog has notes on how to upgrade to it", (t) => {
  t.same(versionsIn("docs/upgrading.md"), versionsIn("CHANGELOG.md"));
  t.ok(versionsIn("CHANGELOG.md").length > 0);
  t.end();
});
