import { ResolverError } from "../formats/errors.ts";
import { INFRASTRUCTURE_GROUP } from "../core/capa-kinds.ts";
import { closest } from "../formats/nearest.ts";
import { quote } from "../formats/text.ts";
import { OF_SELECTORS } from "../core/trust-settings.ts";
import {
  CHECK_SEVERITY, choicesOf, type Command, defaultOf, type Definition, withValue,
} from "../core/setting-definition.ts";
import { DEFINITIONS, type SettingName, SETTINGS, type SettingsFor } from "../core/settings.ts";
import { PROFILE_NAMES, PROFILES } from "../core/profiles.ts";
import { sessionDefaultFaults } from "../core/session-defaults.ts";

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
 * Returns the validated and frozen settings of a command. Flags override environment variables, which override the
 * profile, which overrides defaults. `checkFault` returns what is wrong with the check in a value of --check, or null:
 * this folder does not know the checks.
 * @throws ResolverError ERR_CONFIG_INVALID with one line for each fault.
 */
export function readSettings<C extends Command>(
  command: C, flags: Flags, environment: Environment, checkFault: (value: string) => string | null = () => null,
): SettingsFor<C> {
  const values = valuesOf(command, { flags, environment });
  const faults = [
    ...unknownVariables(environment), ...valueFaults({ command, flags, environment, values }),
    ...checkFaults(values["check"], { flags, environment }, checkFault),
    ...crossFieldFaults(command, values), ...uselessFlags(command, flags, values),
  ];
  // Removes duplicates, because a list can contain the same wrong item twice.
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", [...new Set(faults)].join("\n"));
  for (const value of Object.values(values)) Object.freeze(value);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `valueFaults` has checked each value
  return Object.freeze(values) as SettingsFor<C>;
}

function definitionsOf(command: Command): readonly (typeof DEFINITIONS)[number][] {
  return DEFINITIONS.filter(([, { commands }]) => commands.includes(command));
}

/** Returns the converted value of each setting of the command, by name. */
function valuesOf(command: Command, { flags, environment }: Input): Record<string, unknown> {
  const valueOf = (name: SettingName): unknown => {
    const definition: Definition = SETTINGS[name];
    return convert(definition, fromFlag(definition, flags[name]) ?? fromEnvironment(definition, environment));
  };
  const profile = PROFILE_NAMES.find((one) => one === valueOf("profile")) ?? SETTINGS.profile.default;
  return Object.fromEntries(definitionsOf(command).map(([name, definition]) => {
    const byProfile = name === "base" || name === "unmatched" ? PROFILES[name][profile] : null;
    return [name, valueOf(name) ?? byProfile ?? defaultOf(definition, command)];
  }));
}

type Input = { readonly flags: Flags; readonly environment: Environment };

function unknownVariables(environment: Environment): string[] {
  const current = DEFINITIONS.map(([, { flag }]) => environmentName(flag));
  const unknown = Object.keys(environment).filter((name) =>
    name.startsWith(PREFIX) && !current.includes(name) && !SERVICE_LINK.test(name.slice(PREFIX.length)));
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

interface SettingSources {
  readonly command: Command;
  readonly flags: Flags;
  readonly environment: Environment;
  /** The converted settings, by name. */
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Returns `SOURCE: expected ...` for each invalid value. SOURCE is the flag or the environment variable that set the
 * value. For an item of a list, SOURCE includes the item.
 */
function valueFaults({ command, flags, environment, values }: SettingSources): string[] {
  return definitionsOf(command).flatMap(([name, definition]) => {
    const value = values[name];
    const isList = definition.type === "strings";
    if (value === null && !isList) return [];
    const source = sourceOf(name, { flags, environment });
    const expected = `expected ${expectation(definition, command)}`;
    if (Array.isArray(value) !== isList) return [`${source}: ${expected}`];
    const invalid = [value].flat().filter((item: unknown) => !isValid(item, definition, command));
    return invalid.map((item) => `${source}${isList ? ` ${quote(String(item))}` : ""}: ${expected}`);
  });
}

/** Returns whether a value, or an item of a list, is as `expectation` says. */
function isValid(value: unknown, definition: Definition, command: Command): boolean {
  const { type, pattern } = definition;
  if (type === "boolean") return typeof value === "boolean";
  return typeof value === "string" && value !== "" && choicesOf(definition, command)?.includes(value) !== false
    && (pattern === undefined || new RegExp(pattern.regexp, "u").test(value));
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

/** What each command requires, with a hint. */
const REQUIRED: Partial<Record<Command, Partial<Record<SettingName, string>>>> = {
  webhook: { tlsDir: "create the folder with `ack-role-resolver certs make --dir DIR --host NAME`" },
  sidecar: {
    group: "the API group of the controller, such as s3.services.k8s.aws",
    tokenFile: "the file that clients read too, such as token; the sidecar creates a missing file",
  },
  map: { html: "the page to write, such as role-map.html, or - for standard output" },
  "certs make": {
    dir: "the folder to write the certificates to",
    host: "the name that clients connect to, such as ack-role-resolver-webhook.ack-role-resolver.svc",
  },
  "credential-process": {
    endpoint: "the URL of the sidecar, such as http://127.0.0.1:9780", tokenFile: "the token file of the sidecar",
  },
};

const NO_MANIFESTS = "no manifests are given: pass files, folders, - for standard input, or --cluster";
const ONE_SOURCE = "--from, --cluster: exactly one is required";
const OF_IDENTITIES = "--identity-secret-namespace";

/** Returns one line for each missing setting and each invalid combination of settings. */
function crossFieldFaults(command: Command, values: Readonly<Record<string, unknown>>): string[] {
  const has = (name: SettingName): boolean => isSet(values[name]);
  const required = Object.entries(REQUIRED[command] ?? {})
    .flatMap(([name, hint]) => (isSet(values[name]) ? [] : [`${flagOf(name)}: required; ${hint}`]));
  const combinations = Object.entries(COMBINATIONS[command]?.(has, values) ?? {})
    .flatMap(([message, isViolated]) => (isViolated ? [message] : []));
  const { url } = values;
  const isNoURL = typeof url === "string" && !URL.canParse(url);
  return [
    ...sourceFaults(command, has), ...required, ...combinations, ...(isNoURL ? ["--url: expected https://HOST:PORT"] : []),
  ];
}

/** Returns the faults of flags without an effect. A variable is no fault, because other commands may need it. */
function uselessFlags(command: Command, flags: Flags, values: Readonly<Record<string, unknown>>): string[] {
  return DEFINITIONS.flatMap(([name, { flag, onlyWith: condition }]) => {
    if (flags[name] === undefined || condition?.commands.includes(command) !== true) return [];
    const other = DEFINITIONS.find(([, definition]) => definition.flag === condition.flag)?.[0] ?? "";
    const { is } = condition;
    const holds = typeof is === "string" ? values[other] === is : isSet(values[other]) === is;
    if (holds) return [];
    return [is === false
      ? `${flag}: has no effect with ${condition.flag}; remove one of them`
      : `${flag}: has no effect without ${withValue(condition)}; add it, or remove ${flag}`];
  });
}

function flagOf(name: string): string {
  return DEFINITIONS.find(([one]) => one === name)?.[1].flag ?? name;
}

/** Returns the fault of a command that needs exactly one source. */
function sourceFaults(command: Command, has: Has): readonly string[] {
  if (!SETTINGS.cluster.commands.some((one) => one === command) || has("from") !== has("cluster")) return [];
  if (OF_SELECTORS.some((one) => one === command) && !has("from")) return [];
  if (command === "impact") return [`${ONE_SOURCE}; the manifests are applied to the state in this source`];
  return [has("from") || command === "webhook" || command === "sidecar" ? ONE_SOURCE : NO_MANIFESTS];
}

type Has = (name: SettingName) => boolean;
/** Returns, by message, whether the settings violate a rule. */
type Combinations = (has: Has, values: Readonly<Record<string, unknown>>) => Readonly<Record<string, boolean>>;

const COMBINATIONS: Partial<Record<Command, Combinations>> = {
  resolve: (has, { mode }) => ({
    "--explain: not supported with --mode carm; use -o json, where a message explains the role of each resource":
      has("explain") && mode === "carm",
  }),
  impact: (_, { html }) => ({
    "--html -: standard output has the report; pass a file": html === "-",
  }),
  webhook: (has, { sidecarRunAsUser: user }) => ({
    "--namespace: requires --cluster": has("namespace") && !has("cluster"),
    "--auto-controller-identity: requires --namespace": has("autoControllerIdentity") && !has("namespace"),
    "--auto-controller-identity: has no effect with --no-capa; remove one of them":
      has("autoControllerIdentity") && has("noCapa"),
    [`${OF_IDENTITIES}: has no effect with --no-capa; remove one of them`]:
      has("identitySecretNamespace") && has("noCapa"),
    "--sidecar-env: requires --sidecar-image": has("sidecarEnv") && !has("sidecarImage"),
    "--sidecar-ca-config-map: requires --sidecar-image": has("sidecarCaConfigMap") && !has("sidecarImage"),
    "--sidecar-run-as-user: requires --sidecar-image":
      user !== SETTINGS.sidecarRunAsUser.default && !has("sidecarImage"),
    "--client-ca-file, --client-name: set both or neither": has("clientCaFile") !== has("clientName"),
  }),
  sidecar: (has, { group, ...others }) => ({
    ...sessionDefaultRules(others),
    "--profile-namespace: requires --cluster": has("profileNamespace") && !has("cluster"),
    [`${OF_IDENTITIES}: requires --cluster, because manifests contain no Secrets`]:
      has("identitySecretNamespace") && !has("cluster"),
    [`${OF_IDENTITIES}: requires --group ${INFRASTRUCTURE_GROUP}, the API group of the identities`]:
      has("identitySecretNamespace") && !(Array.isArray(group) && group.includes(INFRASTRUCTURE_GROUP)),
  }),
  "credential-process": (has, { kind }) => ({
    "--selector, --namespace: exactly one is required": has("selector") === has("namespace"),
    "--kind, --identity: exactly one is required with --namespace, such as --kind Bucket.s3.services.k8s.aws":
      has("namespace") && (Array.isArray(kind) ? kind.length : 0) + (has("identity") ? 1 : 0) !== 1,
    "--kind, --label, --identity: allowed only with --namespace":
      has("selector") && (has("kind") || has("label") || has("identity")),
    "--label: allowed only with --kind": has("identity") && has("label"),
  }),
};

function isSet(value: unknown): boolean {
  const isEmptyList = Array.isArray(value) && value.length === 0;
  return value !== null && value !== undefined && value !== false && !isEmptyList;
}

type Values = Readonly<Record<string, unknown>>;

/** Returns each fault of the session defaults in the settings of the sidecar, by message, as a violated rule. */
function sessionDefaultRules(values: Values): Readonly<Record<string, boolean>> {
  const { defaultExternalId, defaultSourceIdentity, defaultSessionTags, mode } = values;
  const settings = {
    defaultExternalId: textOrNull(defaultExternalId), defaultSourceIdentity: textOrNull(defaultSourceIdentity),
    defaultSessionTags: Array.isArray(defaultSessionTags) ? defaultSessionTags.map(String).filter(isFilled) : [],
  };
  const hasDefaults = Object.values(settings).flat().some((value) => value !== null);
  const faults = sessionDefaultFaults(settings).map((fault) => [fault, true]);
  return { ...Object.fromEntries(faults), [WITH_CARM]: hasDefaults && mode === "carm" };
}

const WITH_CARM = "--default-external-id, --default-source-identity, --default-session-tags: not supported with --mode "
  + "carm, because they apply to the roles of IAMRoleSelectors; remove them";

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && isFilled(value) ? value : null;
}

/** The schema of the settings rejects an empty text. */
function isFilled(text: string): boolean {
  return text !== "";
}
