import type { ErrorObject } from "ajv";
import { ResolverError } from "../formats/errors.ts";
import { INFRASTRUCTURE_GROUP } from "../contract/capa-kinds.ts";
import { closest, quote } from "../formats/text.ts";
import { REMOVED_SETTINGS, removedFrom } from "../contract/removed-settings.ts";
import { CHECK_SEVERITY, choicesOf, type Command, defaultOf, type Definition } from "../contract/setting-definition.ts";
import { DEFINITIONS, type SettingName, SETTINGS, type SettingsFor } from "../contract/settings.ts";
import { compileSchema, type NamedSchema } from "../formats/json-schema.ts";

/**
 * Maps the name of each setting to the value of its flag on the command line. The value of a repeatable flag is a list.
 */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
/** Maps the name of each environment variable to its value. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "ACK_ROLE_RESOLVER_";
/**
 * Matches suffixes of variables that Kubernetes injects if a Service is named ack-role-resolver* (enableServiceLinks).
 */
const SERVICE_LINK = /(^|_)(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT|PORT_[0-9]+_.*)$/;

/** Returns the name of a flag's environment variable, such as ACK_ROLE_RESOLVER_HEALTH_LISTEN for --health-listen. */
export function environmentName(flag: string): string {
  return PREFIX + flag.slice(2).toUpperCase().replaceAll("-", "_");
}

/**
 * Returns the validated and frozen settings of a command. Flags override environment variables. Environment variables
 * override defaults. `checkFault` returns what is wrong with the check in a value of --check, or null: this folder does
 * not know the checks.
 * @throws ResolverError ERR_CONFIG_INVALID with one line for each fault.
 */
export function readSettings<C extends Command>(
  command: C, flags: Flags, environment: Environment, checkFault: (value: string) => string | null = () => null,
): SettingsFor<C> {
  const faults = unknownVariables(environment);
  const values: Record<string, unknown> = {};
  for (const [name, definition] of DEFINITIONS) {
    if (!definition.commands.includes(command)) continue;
    const own = fromFlag(definition, flags[name]) ?? fromEnvironment(definition, environment);
    const value = withRemoved(own, definition, removedValues(name, command, { flags, environment }));
    values[name] = convert(definition, value) ?? defaultOf(definition, command);
  }
  const validate = compileSchema<SettingsFor<C>>(settingsSchema(command));
  const settings: unknown = values;
  const valid = validate(settings);
  const errors = validate.errors ?? [];
  faults.push(
    ...errors.map((error) => faultText(error, { command, flags, environment, values })),
    ...checkFaults(values["check"], { flags, environment }, checkFault),
    ...crossFieldFaults(command, values),
  );
  // Removes duplicates, because an empty value violates both minLength and the pattern, and both faults have the same
  // message.
  if (!valid || faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", [...new Set(faults)].join("\n"));
  for (const value of Object.values(values)) Object.freeze(value);
  Object.freeze(settings);
  return settings;
}

type Input = { readonly flags: Flags; readonly environment: Environment };

/** Returns a warning for each removed setting that is set, with the setting or the action that replaces it. */
export function removedWarnings(command: Command, { flags, environment }: Input): readonly string[] {
  return removedFrom(command).flatMap(({ flag, instead }) => {
    const variable = environmentName(flag);
    const sources = [flags[flag] === undefined ? [] : [flag], environment[variable] === undefined ? [] : [variable]];
    return sources.flat().map((source) => `${source} is no longer a setting: ${instead}`);
  });
}

/** Returns the values of the removed settings whose successor is the setting. */
function removedValues(name: SettingName, command: Command, { flags, environment }: Input): readonly string[] {
  return removedFrom(command).flatMap(({ flag, successor }) => {
    const value = flags[flag] ?? environment[environmentName(flag)] ?? [];
    return successor?.setting === name ? [value].flat().flatMap((text) => successor.valuesOf(String(text))) : [];
  });
}

/** Adds the values of removed settings to a list. Another setting has such a value only if it has none of its own. */
function withRemoved(own: Flags[string], { type }: Definition, removed: readonly string[]): Flags[string] {
  if (removed.length === 0) return own;
  return type === "strings" ? [own ?? [], removed].flat().map(String) : own ?? removed[0];
}

function unknownVariables(environment: Environment): string[] {
  const current = DEFINITIONS.map(([, { flag }]) => environmentName(flag));
  const known = new Set([...current, ...REMOVED_SETTINGS.map(({ flag }) => environmentName(flag))]);
  const unknown = Object.keys(environment).filter((name) =>
    name.startsWith(PREFIX) && !known.has(name) && !SERVICE_LINK.test(name.slice(PREFIX.length)));
  return unknown.toSorted().map((name) => {
    // Compares only the part after the common prefix, because the prefix would make all names similar.
    const guess = closest(name.slice(PREFIX.length), current.map((one) => one.slice(PREFIX.length)));
    const hint = guess === null ? "see --help for the names of variables" : `did you mean ${PREFIX}${guess}?`;
    return `${name}: unknown setting; ${hint}`;
  });
}

/** Splits the values of a list at commas. Empty items remain in the list, so that the validation rejects them. */
function fromFlag({ type, allowsComma }: Definition, value: Flags[string]): Flags[string] {
  if (type !== "strings" || allowsComma === true || !Array.isArray(value)) return value;
  return value.flatMap((item: string) => item.split(",").map((part) => part.trim()));
}

function fromEnvironment(
  { flag, type }: Definition, environment: Environment,
): string | readonly string[] | undefined {
  const text = environment[environmentName(flag)];
  if (text === undefined || type !== "strings") return text;
  return text.split(",").map((item) => item.trim()).filter((item) => item !== "");
}

/** Converts text to a boolean. Returns the text unchanged if it is neither true nor false; validation then fails. */
function convert({ type }: Definition, value: string | boolean | readonly string[] | undefined): unknown {
  return type === "boolean" && (value === "true" || value === "false") ? value === "true" : value;
}

/** Returns the JSON Schema of a command's converted settings. */
export function settingsSchema(command: Command): NamedSchema {
  const own = DEFINITIONS.filter(([, definition]) => definition.commands.includes(command));
  const properties = Object.fromEntries(
    own.map(([name, definition]) => [name, valueSchema(definition, command)]),
  );
  const schema = { $id: `settings of ${command}`, type: "object", properties, additionalProperties: false };
  return schema;
}

function valueSchema(definition: Definition, command: Command): object {
  const { type } = definition;
  const choices = choicesOf(definition, command);
  const { pattern } = definition;
  if (type === "boolean") return { type };
  const text = {
    minLength: 1, ...(choices && { enum: [...choices, null] }), ...(pattern && { pattern: pattern.regexp }),
  };
  return type === "strings"
    ? { type: "array", items: { type: "string", ...text } }
    : { type: ["string", "null"], ...text };
}

interface SettingSources {
  readonly command: Command;
  readonly flags: Flags;
  readonly environment: Environment;
  /** The converted settings, by name. */
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Returns `SOURCE: expected ...`. SOURCE is the flag or the environment variable that set the value. For an item of a
 * list, SOURCE includes the item.
 */
function faultText(error: ErrorObject, { command, flags, environment, values }: SettingSources): string {
  const [, setting = "", index] = error.instancePath.split("/");
  const found = DEFINITIONS.find(([name]) => name === setting);
  if (found === undefined) return `${setting}: unexpected setting`;
  const [name, definition] = found;
  const source = sourceOf(name, { flags, environment });
  const expected = `expected ${expectation(definition, command)}`;
  const list = values[name];
  if (index === undefined || !Array.isArray(list)) return `${source}: ${expected}`;
  return `${source} ${quote(String(list[Number(index)]))}: ${expected}`;
}

const WELL_FORMED_CHECK = new RegExp(CHECK_SEVERITY.regexp);

function checkFaults(values: unknown, input: Input, checkFault: (value: string) => string | null): readonly string[] {
  if (!Array.isArray(values)) return [];
  return values.map(String).flatMap((value) => {
    const fault = WELL_FORMED_CHECK.test(value) ? checkFault(value) : null;
    return fault === null ? [] : [`${sourceOf("check", input)} ${quote(value)}: ${fault}`];
  });
}

/** Returns the flag or the environment variable that set the value. */
function sourceOf(name: SettingName, { flags, environment }: Input): string {
  const { flag } = SETTINGS[name];
  const variable = environmentName(flag);
  return flags[name] === undefined && environment[variable] !== undefined ? variable : flag;
}

function expectation(definition: Definition, command: Command): string {
  const choices = choicesOf(definition, command);
  if (definition.type === "boolean") return "true or false";
  if (choices !== undefined) return `one of ${choices.join(", ")}`;
  return definition.pattern?.meaning ?? "a non-empty value";
}

const NO_MANIFESTS = "no manifests are given: pass files, folders, - for standard input, or --cluster";
const ONE_SOURCE = "--from, --cluster: exactly one is required";

/** Returns one line for each invalid combination of settings. */
function crossFieldFaults(command: Command, values: Readonly<Record<string, unknown>>): string[] {
  const set = (name: SettingName): boolean => isSet(values[name]);
  const noSource = !set("from") && !set("cluster");
  const bothSources = set("from") && set("cluster");
  const notOneSource = noSource || bothSources;
  const { url } = values;
  const rules: readonly (readonly [command: Command, violated: boolean, message: string])[] = [
    ...(["lint", "resolve", "audit", "migrate carm"] as const).flatMap((reader) => [
      [reader, noSource, NO_MANIFESTS], [reader, bothSources, ONE_SOURCE],
    ] as const),
    ["resolve", set("label") && !set("kind"), "--label: requires --kind"],
    [
      "resolve", set("explain") && values["mode"] === "carm",
      "--explain: not supported with --mode carm; use -o json, where a message explains the role of each resource",
    ],
    ["impact", notOneSource, `${ONE_SOURCE}; the manifests are applied to the state in this source`],
    ["webhook", notOneSource, ONE_SOURCE],
    ["sidecar", notOneSource, ONE_SOURCE],
    ...SETTINGS.url.commands.map((one) => (
      [one, typeof url === "string" && !URL.canParse(url), "--url: expected https://HOST:PORT"] as const
    )),
    [
      "webhook", !set("tlsDir"),
      "--tls-dir: required; create the folder with `ack-role-resolver certs make --dir DIR --host NAME`",
    ],
    ["webhook", set("namespace") && !set("cluster"), "--namespace: requires --cluster"],
    ["webhook", set("autoControllerIdentity") && !set("namespace"), "--auto-controller-identity: requires --namespace"],
    ...(["sidecarEnv", "sidecarCaConfigMap"] as const).map((name) => [
      "webhook", set(name) && !set("sidecarImage"), `${SETTINGS[name].flag}: requires --sidecar-image`,
    ] as const),
    ["webhook", set("clientCaFile") !== set("clientName"), "--client-ca-file, --client-name: set both or neither"],
    ["sidecar", !set("group"), "--group: required; the API group of the controller, such as s3.services.k8s.aws"],
    ...identityRules(values, set),
    ["certs make", !set("dir"), "--dir: required; the folder to write the certificates to"],
    [
      "certs make", !set("host"),
      "--host: required; the name that clients connect to, such as ack-role-resolver-webhook.ack-role-resolver.svc",
    ],
    [
      "sidecar", !set("tokenFile"),
      "--token-file: required; the file that clients read too, such as token; the sidecar creates a missing file",
    ],
    ...credentialProcessRules(values, set),
  ];
  return rules.flatMap(([of, violated, message]) => (of === command && violated ? [message] : []));
}

type Rules<C extends Command> = readonly (readonly [C, violated: boolean, message: string])[];
type IsSet = (name: SettingName) => boolean;

function identityRules({ group }: Readonly<Record<string, unknown>>, set: IsSet): Rules<"sidecar"> {
  if (!set("identitySecretNamespace")) return [];
  const servesIdentities = Array.isArray(group) && group.includes(INFRASTRUCTURE_GROUP);
  const flag = "--identity-secret-namespace";
  return [
    ["sidecar", !set("cluster"), `${flag}: requires --cluster, because manifests contain no Secrets`],
    [
      "sidecar", !servesIdentities,
      `${flag}: requires --group ${INFRASTRUCTURE_GROUP}, the API group of the identities`,
    ],
  ];
}

function credentialProcessRules(
  values: Readonly<Record<string, unknown>>, set: IsSet,
): Rules<"credential-process"> {
  const { kind } = values;
  const oneKind = Array.isArray(kind) && kind.length === 1;
  const command = "credential-process";
  return [
    [command, !set("endpoint"), "--endpoint: required; the URL of the sidecar, such as http://127.0.0.1:9780"],
    [command, !set("tokenFile"), "--token-file: required; the token file of the sidecar"],
    [command, set("selector") === set("namespace"), "--selector, --namespace: exactly one is required"],
    [
      command, set("namespace") && !oneKind,
      "--kind: exactly one is required with --namespace, such as Bucket.s3.services.k8s.aws",
    ],
    [command, set("selector") && (set("kind") || set("label")), "--kind, --label: allowed only with --namespace"],
  ];
}

function isSet(value: unknown): boolean {
  const isEmptyList = Array.isArray(value) && value.length === 0;
  return value !== null && value !== undefined && value !== false && !isEmptyList;
}
