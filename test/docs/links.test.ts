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

test("each attack in the threat model names its tests, and each name is one test", (t) => {
  const page = readFileSync(path.join(ROOT, "docs/threat-model.md"), "utf8");
  const [, section = ""] = /^## Attacks\n([^]*?)^## /m.exec(page) ?? [];
  const attacks = section.split(/^- /m).slice(1).map((text) => (text.split(/^### /m)[0] ?? "").trim());
  t.ok(attacks.length > 50);
  for (const attack of attacks) {
    const [, list = ""] = /\(([^()]*)\)$/.exec(attack) ?? [];
    const names = Array.from(list.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);
    for (const name of names) t.equal(globSync(`test/**/${name}.test.ts`, { cwd: ROOT }).length, 1, name);
    if (names.length === 0) t.match(attack, "trust policies", "only AWS can prove it");
  }
  t.end();
});
