import { readFile } from "node:fs/promises";
import { test } from "tap";
import { chartFiles } from "../../../manifests/chart-files.ts";
import { valuesSchema } from "../../../manifests/values-schema.ts";
import { field } from "../../../shared/formats/json.ts";
import { REMOVED_SETTINGS, REMOVED_VALUES, removedFrom } from "../../../shared/core/removed-settings.ts";
import { COMMANDS } from "../../../shared/core/setting-definition.ts";
import { DEFINITIONS, SETTINGS } from "../../../shared/core/settings.ts";
import { environmentName, removedWarnings } from "../../../shared/server/read-settings.ts";
import { runCommand } from "../../cli/run-command.ts";
import { faultsOf } from "./settings-faults.ts";

const CHANGELOG = await readFile(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");

for (const { flag, commands, instead, successor } of REMOVED_SETTINGS) {
  test(`${flag} and its variable only cause a warning, and the changelog says why`, (t) => {
    t.notOk(DEFINITIONS.some(([, one]) => one.flag === flag), "no setting has the flag");
    t.match(CHANGELOG, `\`${flag}\``);
    const variable = environmentName(flag);
    const warnings = COMMANDS.flatMap((command) => (
      removedWarnings(command, { flags: { [flag]: ["a/b"] }, environment: { [variable]: "a/b" } })
    ));
    const expected = [flag, variable].map((source) => `${source} is no longer a setting: ${instead}`);
    t.same(warnings, commands.flatMap(() => expected));
    const accepting: readonly string[] = successor === undefined ? commands : SETTINGS[successor.setting].commands;
    t.same(commands.filter((command) => !accepting.includes(command)), [], "each command has the successor");
    t.end();
  });
}

/** All commands but `explain` and `completion`, which have no setting, and `why`, which never had others. */
const WITH_SETTINGS = COMMANDS.filter((command) => (
  command !== "why" && DEFINITIONS.some(([, { commands }]) => commands.includes(command))
));
for (const command of WITH_SETTINGS) {
  test(`${command} accepts its removed flags with a warning, and its help does not list them`, async (t) => {
    const removed = removedFrom(command);
    const words = command.split(" ");
    const help = (await runCommand([...words, "--help"])).stdout;
    const flags = removed.flatMap(({ flag, isBoolean }) => (isBoolean === true ? [flag] : [flag, "a/b"]));
    // The unknown variable ends the command before it does anything.
    const { stderr } = await runCommand([...words, ...flags], { environment: { ACK_ROLE_RESOLVER_UNKNOWN: "1" } });
    t.match(stderr, "ACK_ROLE_RESOLVER_UNKNOWN: unknown setting");
    for (const { flag, instead } of removed) {
      t.notMatch(help, new RegExp(`${flag}[ ,\\n]`));
      t.match(stderr, `warning: ${flag} is no longer a setting: ${instead}\n`);
    }
  });
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

test("the value of a removed flag becomes a value of its successor", (t) => {
  const valuesOf = (flag: string, ...values: readonly string[]): unknown => {
    const removed = REMOVED_SETTINGS.find((one) => one.flag === flag);
    return values.map((value) => removed?.successor?.valuesOf(value));
  };
  t.same(valuesOf("--tls-host", "a.example.com", "2001:db8::1"), [["https://a.example.com"], ["https://[2001:db8::1]"]]);
  t.same(valuesOf("--verbose", "true", "false"), [["debug"], []]);
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
