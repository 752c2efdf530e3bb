import { readFile } from "node:fs/promises";
import { test } from "tap";
import { chartFiles } from "../../../manifests/chart-files.ts";
import { valuesSchema } from "../../../manifests/values-schema.ts";
import { field } from "../../../shared/decisions/kubernetes/json.ts";
import { REMOVED_SETTINGS, REMOVED_VALUES } from "../../../shared/decisions/removed-settings.ts";
import { DEFINITIONS, SETTINGS } from "../../../shared/decisions/settings.ts";
import { environmentName, removedWarnings } from "../../../shared/server/settings.ts";
import { runCommand } from "../../cli/run-command.ts";
import { faultsOf } from "./settings-faults.ts";

const CHANGELOG = await readFile(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");

for (const { flag, commands, isBoolean = false, instead, successor } of REMOVED_SETTINGS) {
  test(`${flag} and its variable only cause a warning, and the changelog says why`, async (t) => {
    t.notOk(DEFINITIONS.some(([, one]) => one.flag === flag), "no setting has the flag");
    t.match(CHANGELOG, `\`${flag}\``);
    for (const command of commands) {
      const variable = { [environmentName(flag)]: "a/b" };
      t.same(removedWarnings(command, { flags: {}, environment: variable }), [
        `${environmentName(flag)} is no longer a setting: ${instead}`,
      ]);
      t.same(removedWarnings(command, { flags: { [flag]: ["a/b"] }, environment: {} }).length, 1);
      t.same(removedWarnings(command, { flags: {}, environment: {} }), []);
      const help = await runCommand([...command.split(" "), "--help"]);
      t.notMatch(help.stdout, new RegExp(`${flag}[ ,\\n]`), "the help does not list it");
      const value = isBoolean ? [] : ["a/b"];
      // The unknown variable ends the command before it does anything.
      const { stderr } = await runCommand([...command.split(" "), flag, ...value], {
        environment: { ACK_ROLE_RESOLVER_UNKNOWN: "1" },
      });
      t.match(stderr, "ACK_ROLE_RESOLVER_UNKNOWN: unknown setting");
      t.match(stderr, `warning: ${flag} is no longer a setting: ${instead}\n`);
      if (successor !== undefined) t.ok(commandsOf(successor.setting).includes(command), successor.setting);
    }
    t.same(removedWarnings("certs make", { flags: { [flag]: ["x"] }, environment: {} }).length,
      Number(commands.includes("certs make")));
  });
}

function commandsOf(name: keyof typeof SETTINGS): readonly string[] {
  return SETTINGS[name].commands;
}

test("an unknown variable is not similar to a removed one", (t) => {
  for (const { flag } of REMOVED_SETTINGS) {
    const unknown = `${environmentName(flag)}X`;
    const fault = faultsOf("lint", { from: ["x"] }, { [unknown]: "1" }).join();
    t.match(fault, `${unknown}: unknown setting; `);
    t.notMatch(fault, new RegExp(`${environmentName(flag)}[?]`));
  }
  t.end();
});

test("the chart accepts each removed value, and warns in its notes", async (t) => {
  const properties = field(valuesSchema(), "properties");
  const removed = chartFiles()["templates/_removed.tpl"] ?? "";
  for (const { key, isSetting, instead } of REMOVED_VALUES) {
    const of = isSetting ? field(field(properties, "settings"), "properties") : properties;
    t.same(field(of, key), {}, key);
    t.match(removed, `${isSetting ? "settings." : ""}${key} is no longer a value: ${instead}\n`);
  }
  const notes = await readFile(new URL("../../../manifests/chart/templates/NOTES.txt", import.meta.url), "utf8");
  t.match(notes, 'include "ack-role-resolver.removed"');
});
