import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { field, parseJSON, stringAt } from "../../shared/formats/json.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const ROOMS = readdirSync(path.join(ROOT, "shared"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory()).map(({ name }) => name);

/** The rooms that each room imports, by the table of docs/architecture.md. */
const TABLE = new Map<string, readonly string[]>();
for (const [, names = "", imports = ""] of readFileSync(path.join(ROOT, "docs/architecture.md"), "utf8")
  .matchAll(/^\| ((?:`[a-z]+`(?:, )?)+) \| .* \| ((?:`[a-z]+`(?:, )?)*|all above) ?\|$/gm)) {
  const above = [...TABLE.keys()];
  const found = imports === "all above" ? above : wordsIn(imports);
  for (const name of wordsIn(names)) TABLE.set(name, found);
}

function wordsIn(text: string): string[] {
  return Array.from(text.matchAll(/`([a-z]+)`/g), ([, word = ""]) => word);
}

/** Returns what a room may import: the rooms of its row, `core` and `formats`. */
function allowedIn(room: string): ReadonlySet<string> {
  const below = room === "formats" ? [] : room === "core" ? ["formats"] : ["core", "formats"];
  return new Set([room, ...below, ...TABLE.get(room) ?? []]);
}

/** Returns the patterns of imports that lint rejects in the files of a room. */
function rejectedIn(room: string): RegExp[] {
  const overrides = field(parseJSON(readFileSync(path.join(ROOT, ".oxlintrc.json"), "utf8")), "overrides");
  const all: unknown[] = Array.isArray(overrides) ? overrides : [];
  return all.filter((one) => JSON.stringify(field(one, "files")) === JSON.stringify([`shared/${room}/**/*.ts`]))
    .flatMap((one) => {
      const rule = field(field(one, "rules"), "no-restricted-imports");
      const patterns = field(Array.isArray(rule) ? rule[1] : null, "patterns");
      return Array.isArray(patterns) ? patterns.map((pattern) => new RegExp(stringAt(pattern, "regex") ?? "$.")) : [];
    });
}

test("lint lets each room of shared/ import what docs/architecture.md allows, and nothing else", (t) => {
  t.same([...TABLE.keys()].toSorted(), ROOMS.toSorted(), "each room has a row in docs/architecture.md");
  for (const room of ROOMS) {
    const patterns = rejectedIn(room);
    t.not(patterns.length, 0, `.oxlintrc.json has an override for shared/${room}/**/*.ts`);
    const allowed = allowedIn(room);
    const accepted = ROOMS.filter((other) => !patterns.some((pattern) => pattern.test(`../${other}/a.ts`)));
    t.same(accepted.toSorted(), [...allowed].toSorted(), `imports of ${room}`);
  }
  t.end();
});
