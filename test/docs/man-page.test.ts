import { test } from "tap";
import { manPage } from "../../docs/man-page.ts";
import { COMMANDS } from "../../shared/core/setting-definition.ts";
import { shorthandsOf } from "../../cli/command-options.ts";
import { DEFINITIONS } from "../../shared/core/settings.ts";

test("the man page has every command with every flag, and no removed flag", (t) => {
  const [, ...sections] = manPage().replaceAll("\\-", "-").split("\n.SS ");
  t.equal(sections.length, COMMANDS.length);
  for (const [i, command] of COMMANDS.entries()) {
    const section = sections[i] ?? "";
    t.match(section.split("\n")[0], new RegExp(`^"${command}( |"$)`));
    const own = DEFINITIONS.filter(([, { commands }]) => commands.includes(command)).map(([, { flag }]) => flag);
    const flags = [...own, ...shorthandsOf(command).flatMap(({ long }) => long ?? [])];
    const listed = [...section.matchAll(/^\.B (?:-\w, )?(--[a-z-]+)/gm)].map(([, flag = ""]) => flag);
    t.same(listed.toSorted(), flags.toSorted(), command);
  }
  t.end();
});
