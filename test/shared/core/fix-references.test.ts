import { CATALOGUE } from "../../../shared/judges.ts";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "tap";
import { COMMANDS } from "../../../shared/core/setting-definition.ts";
import { SETTINGS } from "../../../shared/core/settings.ts";

const ROOT = new URL("../../../", import.meta.url);
const FOLDERS = [
  ...["ack", "capa", "carm", "core", "diagnosis", "injection", "trust"].map((room) => `shared/${room}`),
  "cli/input",
];

/** The flags of kubectl, Helm and ACK controllers that messages name. */
const OF_OTHERS = new Set([
  "--aws-region", "--enable-carm", "--enable-cross-namespace", "--force", "--local", "--max-items",
  "--overwrite", "--patch-file", "--reuse-values", "--server-side", "--set", "--show-labels", "--type",
  "--watch-namespace",
]);
const FLAGS = new Set<string>(Object.values(SETTINGS).map(({ flag }) => flag));
const IDS = new Set(CATALOGUE.map(({ id }) => id));

/** The string literals of the sources, by file: the messages, the fixes and the examples. */
const TEXTS = FOLDERS.flatMap((folder) => (
  readdirSync(new URL(folder, ROOT)).filter((name) => name.endsWith(".ts")).map((name) => {
    const source = readFileSync(new URL(`${folder}/${name}`, ROOT), "utf8")
      .replace(/\/\*\*[^]*?\*\/|^ *\/\/.*$/gm, "").replace(/^import[^]*?;$/gm, "");
    const literals = Array.from(source.matchAll(/"[^"\n]*"|`[^`]*`|'[^'\n]*'/g), ([text]) => text);
    return [`${folder}/${name}`, literals.join("\n")];
  })
));

function namesIn(pattern: RegExp): readonly (readonly [file: string, name: string])[] {
  return TEXTS.flatMap(([file = "", text = ""]) => (
    Array.from(text.matchAll(pattern), ([all, name = all]) => [file, name] as const)
  ));
}

test("the messages of checks name only flags, commands, checks and pages that exist", (t) => {
  const flags = namesIn(/(?<![\w-])--[a-z][a-z-]+/g);
  t.ok(flags.length > 30);
  t.same(flags.filter(([, flag]) => !FLAGS.has(flag) && !OF_OTHERS.has(flag)), []);
  const commands = namesIn(/(?<=[`"])ack-role-resolver ([a-z]+)/g);
  t.ok(commands.length > 3);
  t.same(commands.filter(([, command]) => !COMMANDS.some((known) => `${known} `.startsWith(`${command} `))), []);
  const ids = namesIn(/\b(?:IRS|ACK|NS|CM|FE|POD|CI|AC|AUD|TR|META|WAIVER)-\d\d[a-z]?\b/g);
  t.ok(ids.length > 100);
  t.same(ids.filter(([, id]) => !IDS.has(id)), []);
  const pages = namesIn(/\bdocs\/[\w-]+\.md/g);
  t.same(pages.filter(([, page]) => !existsSync(new URL(page, ROOT))), []);
  t.end();
});
