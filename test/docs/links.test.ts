import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";

const ROOT = path.join(import.meta.dirname, "../..");
const PAGES = globSync("{*.md,docs/**/*.md,manifests/**/*.md}", { cwd: ROOT });

/** Returns the anchors of a page: those of its headings, as GitHub derives them, and those of its `<a id>`. */
function anchorsOf(page: string): ReadonlySet<string> {
  const marked = Array.from(page.matchAll(/<a id="([^"]+)">/g), ([, id = ""]) => id);
  const headings = page.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm);
  const derived = Array.from(headings, ([, heading = ""]) => (
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
  ));
  return new Set([...marked, ...derived]);
}

test("every relative link in the documentation leads to a file, and to a heading of the file", (t) => {
  t.ok(PAGES.length > 20, `${PAGES.length} pages`);
  for (const name of PAGES) {
    const page = readFileSync(path.join(ROOT, name), "utf8");
    const text = page.replaceAll(/^```[^]*?^```$/gm, "");
    for (const [, target = ""] of text.matchAll(/\]\(((?!https?:)[^)\s]+)\)/g)) {
      const [file = "", anchor] = target.split("#");
      const at = file === "" ? path.join(ROOT, name) : path.join(ROOT, path.dirname(name), file);
      t.ok(existsSync(at), `${name}: ${target}`);
      if (anchor !== undefined && existsSync(at)) {
        t.ok(anchorsOf(readFileSync(at, "utf8")).has(anchor), `${name}: heading of ${target}`);
      }
    }
  }
  t.end();
});

test("every source file that the documentation names exists", (t) => {
  for (const name of PAGES) {
    const page = readFileSync(path.join(ROOT, name), "utf8");
    for (const [, file = ""] of page.matchAll(/`([a-z]+(?:\/[A-Za-z0-9_.-]+)+\.ts)`/g)) {
      t.ok(existsSync(path.join(ROOT, file)), `${name}: ${file}`);
    }
  }
  t.end();
});
