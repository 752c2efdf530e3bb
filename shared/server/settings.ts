import type { ErrorObject } from "ajv";
import { ResolverError } from "../decisions/errors.ts";
import { compileSchema, type NamedSchema } from "../decisions/kubernetes/json-schema.ts";
import { closest } from "../decisions/kubernetes/text.ts";
import {
  choicesOf, type Command, defaultOf, type Definition, DEFINITIONS, type SettingName, type SettingsFor,
} from "../decisions/settings.ts";

/** The flags that were given, by setting, as the command line has them; repeatable ones as lists. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
/** The environment, as a plain record. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "ACK_ROLE_RESOLVER_";
/** What Kubernetes injects for a Service called ack-role-resolver or ack-role-resolver-* (enableServiceLinks). */
const SERVICE_LINK = /(^|_)(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT|PORT_[0-9]+_.*)$/;
const DURATION_UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `--health-listen` is ACK_ROLE_RESOLVER_HEALTH_LISTEN in the environment. */
export function environmentName(flag: string): string {
  return PREFIX + flag.slice(2).toUpperCase().replaceAll("-", "_");
}

/**
 * Reads a command's settings: flags over environment over defaults, checked against the command's schema and frozen.
 * @throws ResolverError ERR_CONFIG_INVALID whose message lists every fault, a line each.
 */
export function readSettings<C extends Command>(command: C, flags: Flags, environment: Environment): SettingsFor<C> {
  const faults = unknownVariables(environment);
  const values: Record<string, unknown> = {};
  for (const [name, definition] of DEFINITIONS) {
    if (!definition.commands.includes(command)) continue;
    values[name] = convert(definition, flags[name] ?? fromEnvironment(definition, environment)) ?? defaultOf(definition, command);
  }
  const validate = compileSchema<SettingsFor<C>>(settingsSchema(command));
  const settings: unknown = values;
  const valid = validate(settings);
  const given: Given = (name, { flag }) => (flags[name] === undefined && environment[environmentName(flag)] !== undefined ? environmentName(flag) : flag);
  faults.push(...(validate.errors ?? []).map((error) => describe(error, command, given)), ...crossFieldFaults(command, values));
  // An empty text breaks its least length and its pattern: one line says both.
  if (!valid || faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", [...new Set(faults)].join("\n"));
  for (const value of Object.values(values)) Object.freeze(value);
  Object.freeze(settings);
  return settings;
}

function unknownVariables(environment: Environment): string[] {
  const known = DEFINITIONS.map(([, { flag }]) => environmentName(flag));
  const unknown = Object.keys(environment).filter((name) => name.startsWith(PREFIX) && !known.includes(name) && !SERVICE_LINK.test(name.slice(PREFIX.length)));
  return unknown.toSorted().map((name) => {
    // Without what they all start with, which would make any two look alike.
    const guess = closest(name.slice(PREFIX.length), known.map((one) => one.slice(PREFIX.length)));
    return `${name}: there is no such setting; ${guess === null ? "see --help for the flags that variables are named after" : `did you mean ${PREFIX}${guess}?`}`;
  });
}

function fromEnvironment(definition: Definition, environment: Environment): string | readonly string[] | undefined {
  const text = environment[environmentName(definition.flag)];
  return text === undefined || definition.type !== "strings" ? text : text.split(",").map((item) => item.trim()).filter((item) => item !== "");
}

/** The one place where text becomes a boolean or a number; what does not convert stays text, and the schema says so. */
function convert({ type }: Definition, value: string | boolean | readonly string[] | undefined): unknown {
  if (typeof value !== "string") return value;
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  if (type !== "duration") return value;
  const [, amount, unit = ""] = /^([0-9]+)(ms|s|m|h)$/.exec(value) ?? [];
  return amount === undefined ? value : Number(amount) * (DURATION_UNITS_MS[unit] ?? 1);
}

/** What a command's settings must be, read and converted. */
export function settingsSchema(command: Command): NamedSchema {
  const own = DEFINITIONS.filter(([, definition]) => definition.commands.includes(command));
  const properties = Object.fromEntries(own.map(([name, definition]) => [name, valueSchema(definition, command)]));
  const schema = { $id: `settings of ${command}`, type: "object", properties, additionalProperties: false };
  return schema;
}

function valueSchema(definition: Definition, command: Command): object {
  const { type, pattern } = definition;
  const choices = choicesOf(definition, command);
  if (type === "boolean") return { type };
  if (type === "duration") return { type: "integer", minimum: 1 };
  const text = { minLength: 1, ...(choices && { enum: [...choices, null] }), ...(pattern && { pattern: pattern.regexp }) };
  return type === "strings" ? { type: "array", items: { type: "string", ...text } } : { type: ["string", "null"], ...text };
}

/** What a setting was given by: its flag, or its variable. */
type Given = (name: string, definition: Definition) => string;

function describe(error: ErrorObject, command: Command, given: Given): string {
  const [, name = "", index] = error.instancePath.split("/");
  const definition = DEFINITIONS.find(([setting]) => setting === name)?.[1];
  const where = index === undefined ? "" : ` (value ${Number(index) + 1})`;
  return `${definition === undefined ? name : given(name, definition)}${where}: expected ${expectation(definition, command)}`;
}

function expectation(definition: Definition | undefined, command: Command): string {
  const choices = definition === undefined ? undefined : choicesOf(definition, command);
  if (definition?.type === "boolean") return "true or false";
  if (definition?.type === "duration") return "a duration of 1ms or more, such as 5m, 30s or 500ms";
  if (choices !== undefined) return `one of ${choices.join(", ")}`;
  return definition?.pattern?.meaning ?? "a text that is not empty";
}

const ONE_SOURCE = "--from, --cluster: give exactly one of them";

/** What no single setting can say of itself. */
function crossFieldFaults(command: Command, values: Readonly<Record<string, unknown>>): string[] {
  const given = (name: SettingName): boolean => values[name] !== null && values[name] !== undefined && values[name] !== false && !isEmptyList(values[name]);
  const noManifests = "no manifests: name files or folders, --from PATH, - for standard input, or --cluster";
  const bothSources = given("from") && given("cluster");
  const anySource = given("from") || given("cluster");
  const rules: readonly (readonly [command: Command, broken: boolean, message: string])[] = [
    ...(["lint", "resolve", "audit", "migrate carm"] as const).flatMap((reader) => [[reader, !anySource, noManifests], [reader, bothSources, ONE_SOURCE]] as const),
    ["resolve", given("label") && !given("kind"), "--label: labels are those of a resource that is asked for; name its kind too, with --kind"],
    ["resolve", given("explain") && values["mode"] === "carm", "--explain: selectors decide nothing with --mode carm; the message of each resource says what the maps say"],
    ["impact", given("from") === given("cluster"), `${ONE_SOURCE}: the state that the manifests are applied to`],
    ["webhook", given("from") === given("cluster"), ONE_SOURCE],
    ["sidecar", given("from") === given("cluster"), ONE_SOURCE],
    ["webhook", !given("tlsDir"), "--tls-dir: required; `ack-role-resolver certs make --dir DIR --host NAME` makes one"],
    ["sidecar", !given("group"), "--group: required; the API group of the controller, such as s3.services.k8s.aws"],
    ["certs make", !given("dir"), "--dir: required; the folder to write the certificates to"],
    ["certs make", !given("host"), "--host: required; the name that clients call, such as ack-role-resolver-webhook.ack-role-resolver.svc"],
    ["credential-process", !given("endpoint"), "--endpoint: required; the sidecar's address, such as http://127.0.0.1:9780"],
    ["credential-process", !given("tokenFile"), "--token-file: required; the file that the sidecar was given with its own --token-file"],
    ["credential-process", given("selector") === given("namespace"), "--selector, --namespace: give exactly one of them"],
    ["credential-process", given("namespace") && countOf(values["kind"]) !== 1, "--kind: give exactly one with --namespace, such as Bucket.s3.services.k8s.aws"],
    ["credential-process", given("selector") && (given("kind") || given("label")), "--kind, --label: they go with --namespace; a selector has one role whatever the resource"],
    ["sidecar", given("token") === given("tokenFile"), "--token, --token-file: give exactly one of them"],
  ];
  return rules.flatMap(([of, broken, message]) => (of === command && broken ? [message] : []));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
