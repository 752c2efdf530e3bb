import { type Container, decodePod, podTemplateOf } from "../core/pod.ts";
import { DEFINITIONS, type SettingName, SETTINGS } from "../core/settings.ts";
import type { Command, Definition } from "../core/setting-definition.ts";
import type { JsonObject } from "../formats/json.ts";
import { type Environment, environmentName, type Flags } from "./read-settings.ts";

/** The settings with which the webhook decides, and that a command must share so as not to contradict it. */
const SHARED = [
  "mode", "teamLevelCarm", "serviceLevelCarm", "ackSystemNamespace", "runtime", "region", "controllerAccount",
  "controllerRole", "allowedAccounts", "controllerUsers", "tenantLabels", "allowedEndpointHosts", "profile", "check",
  "extraGroups",
] as const satisfies readonly SettingName[];

/** The flags and the variables of a command line or of a container. */
export interface Given {
  readonly flags: Flags;
  readonly environment: Environment;
}

/**
 * Returns the flags and the variables of the webhook that the Deployment starts; null if it starts none. Omits a
 * variable whose value is in another object or variable.
 */
export function installedSettings(deployment: JsonObject): Given | null {
  const template = podTemplateOf(deployment);
  const containers = template === null ? [] : decodePod(template.pod).containers;
  const webhook = containers.find(({ words }) => words.includes("webhook"));
  return webhook === undefined ? null : { flags: flagsOf(webhook), environment: variablesOf(webhook) };
}

function variablesOf({ env }: Container): Environment {
  return Object.fromEntries(env.flatMap(({ name, value }) => (
    value === null || value.includes("$(") ? [] : [[name, value] as const]
  )));
}

/** Reads `--flag=value`, `--flag value` and the `--flag` of a boolean. */
function flagsOf({ words }: Container): Flags {
  const flags: Record<string, string | boolean | readonly string[]> = {};
  for (const [i, word] of words.entries()) {
    const [, flag, own] = FLAG.exec(word) ?? [];
    const [name, definition] = DEFINITIONS.find(([, one]) => one.flag === flag) ?? [];
    if (name !== undefined && definition !== undefined) {
      flags[name] = added(definition, flags[name], own ?? valueAfter(definition, words[i + 1]));
    }
  }
  return flags;
}

const FLAG = /^(--[a-z][-a-z]*)(?:=(.*))?$/s;

function valueAfter({ type }: Definition, next: string | undefined): string | boolean {
  return type === "boolean" ? true : next ?? "";
}

/** Adds the value to those of a repeatable flag. The last value of another flag counts. */
function added(
  { type }: Definition, before: Flags[string], value: string | boolean,
): string | boolean | readonly string[] {
  return type === "strings" ? [...Array.isArray(before) ? before.map(String) : [], String(value)] : value;
}

/**
 * Returns the flags and the variables of a command, completed by what the webhook was given. What the user states wins,
 * whether as a flag or as a variable. Values that a comma does not split are added as flags, the others as variables: a
 * variable without effect is no error.
 */
export function completed(command: Command, given: Given, installed: Given): Given {
  const flags: Record<string, Flags[string]> = { ...given.flags };
  const environment: Record<string, string | undefined> = { ...given.environment };
  for (const name of SHARED) {
    const definition: Definition = SETTINGS[name];
    const variable = environmentName(definition.flag);
    const isStated = given.flags[name] !== undefined || given.environment[variable] !== undefined;
    const isKnown = definition.commands.includes(command);
    const value = installed.flags[name] ?? installed.environment[variable];
    if (isKnown && !isStated && value !== undefined) {
      if (definition.allowsComma === true) flags[name] = Array.isArray(value) ? value : String(value).split(",");
      else environment[variable] = String(value);
    }
  }
  return { flags, environment };
}

/** Returns the shared settings that differ, as flags. */
export function differences(stated: object, settled: object): readonly string[] {
  const [before, after] = [new Map<string, unknown>(Object.entries(stated)), new Map(Object.entries(settled))];
  return SHARED.flatMap((name) => {
    const text = String(after.get(name));
    return String(before.get(name)) === text ? [] : [`${SETTINGS[name].flag}=${text}`];
  });
}
