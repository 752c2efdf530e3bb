import { STS_AUDIENCE } from "./session.ts";
import {
  ACCOUNT, ADDRESS, AUDIENCE, CHECK_SEVERITY, type Command, COUNT, type Definition, GROUP, HTTPS_URL,
  IDENTITY_NAMESPACE, IDENTITY_REFERENCE, IMAGE, LOOPBACK_URL, NAMESPACE, OBJECT_NAME, REGION, ROLE, SERVICE_ACCOUNT,
  SIDECAR_ARGUMENT, SIDECAR_VARIABLE, USER_ID, USER_PATTERN, VERSION,
} from "./setting-definition.ts";
import { LIMITS } from "./limits.ts";
import { PROFILE_NAMES } from "./profiles.ts";
import { SESSION_SETTINGS } from "./session-settings.ts";
import { OF_SELECTORS, TRUST_SETTINGS } from "./trust-settings.ts";

export const JUDGES = ["lint", "resolve", "audit", "map", "impact"] as const;
export const OFFLINE = ["lint", "resolve", "why", "audit", "map", "impact", "migrate carm"] as const;
const SERVERS = ["webhook", "sidecar"] as const;
const BY_MODE = [...JUDGES, "why", ...SERVERS, "local"] as const;
const READERS = [...OFFLINE, ...SERVERS] as const;
/** The commands that read manifests or a cluster and exit. */
const STATE_READERS = [...OFFLINE, ...OF_SELECTORS] as const;
const CONNECTORS = [...READERS, ...OF_SELECTORS, "certs manage"] as const;
export const DECIDERS = [...READERS, "local"] as const;

/** The conditions of flags. Those of servers have none, because the webhook passes its own flags to sidecars. */
const OF_FILES = {
  flag: "--cluster", is: false, commands: ["lint", "resolve", "why", "audit", "map", "migrate carm", ...OF_SELECTORS],
} as const;
const OF_CLUSTERS = { flag: "--cluster", is: true, commands: STATE_READERS } as const;
/** Of the commands, only `resolve` runs no check that reads CARM maps in each mode. */
const OF_CARM = { flag: "--mode", is: "carm", commands: ["resolve"] } as const;

const BOOL = { type: "boolean", default: false } as const;
const ONE_NAMESPACE = { type: "string", value: "NS", pattern: NAMESPACE, default: null } as const;

/** The minimum length of the token that clients of the sidecar send. */
export const MIN_TOKEN_LENGTH = 16;

/** The settings table: the source of flags, environment variables and docs/settings.md. */
export const SETTINGS = {
  from: {
    flag: "--from", type: "strings", allowsComma: true, value: "PATH", default: [],
    defaults: { local: ["manifests/examples"] }, commands: [...DECIDERS, ...OF_SELECTORS],
  },
  ignore: {
    flag: "--ignore", type: "strings", allowsComma: true, value: "GLOB", default: [], commands: STATE_READERS,
    onlyWith: OF_FILES,
  },
  root: {
    flag: "--root", type: "strings", allowsComma: true, value: "GLOB", default: [], commands: JUDGES,
    onlyWith: OF_FILES,
  },
  skipUnreadable: { flag: "--skip-unreadable", ...BOOL, commands: STATE_READERS, onlyWith: OF_FILES },
  allowEmpty: { flag: "--allow-empty", ...BOOL, commands: OFFLINE, onlyWith: OF_FILES },
  maxDocuments: {
    flag: "--max-documents", type: "string", value: "N", pattern: COUNT,
    default: String(LIMITS.manifestDocuments.value), commands: OFFLINE, onlyWith: OF_FILES,
  },
  capaVersion: {
    flag: "--capa-version", type: "string", value: "VERSION", pattern: VERSION, default: null,
    commands: [...JUDGES, "why"], onlyWith: OF_FILES,
  },
  cluster: { flag: "--cluster", ...BOOL, commands: [...READERS, ...OF_SELECTORS] },
  kubeconfig: {
    flag: "--kubeconfig", type: "string", value: "FILE", default: null, commands: CONNECTORS, onlyWith: OF_CLUSTERS,
  },
  context: {
    flag: "--context", type: "string", value: "NAME", default: null, commands: CONNECTORS, onlyWith: OF_CLUSTERS,
  },
  mode: {
    flag: "--mode", type: "string", choices: ["selectors", "carm"], default: "selectors",
    defaults: { audit: null, why: null }, commands: BY_MODE,
  },
  teamLevelCarm: {
    flag: "--team-level-carm", type: "boolean", bare: "true", default: false,
    defaults: { audit: null, why: null, "migrate carm": null }, commands: DECIDERS, onlyWith: OF_CARM,
  },
  serviceLevelCarm: {
    flag: "--service-level-carm", type: "boolean", bare: "true", default: false,
    defaults: { audit: null, why: null, "migrate carm": null }, commands: DECIDERS, onlyWith: OF_CARM,
  },
  ackSystemNamespace: {
    flag: "--ack-system-namespace", type: "string", value: "NS", pattern: NAMESPACE, default: "ack-system",
    commands: [...DECIDERS, ...OF_SELECTORS, "manifests"],
  },
  runtime: {
    flag: "--runtime", type: "string", choices: ["ack", "extended"], default: "ack",
    commands: [...DECIDERS, ...OF_SELECTORS, "manifests"],
  },
  region: {
    flag: "--region", type: "string", value: "REGION", pattern: REGION, default: null,
    defaults: { local: "eu-west-1" }, commands: DECIDERS,
  },
  controllerAccount: {
    flag: "--controller-account", type: "string", value: "ID", pattern: ACCOUNT, default: null, commands: DECIDERS,
  },
  controllerRole: {
    flag: "--controller-role", type: "string", value: "ARN", pattern: ROLE, default: null,
    commands: [...DECIDERS, "manifests"],
  },
  allowedAccounts: {
    flag: "--allowed-accounts", type: "strings", value: "ID", pattern: ACCOUNT, default: [],
    commands: [...DECIDERS, "manifests"],
  },
  controllerUsers: {
    flag: "--controller-users", type: "strings", allowsComma: true, value: "USER", pattern: USER_PATTERN, default: [],
    commands: [...DECIDERS, "manifests"],
  },
  capaServiceAccounts: {
    flag: "--capa-service-accounts", type: "strings", value: "NS/NAME", pattern: SERVICE_ACCOUNT,
    default: ["capa-system/capa-controller-manager"], commands: ["webhook", "local", "manifests"],
  },
  clusterApiServiceAccounts: {
    flag: "--cluster-api-service-accounts", type: "strings", value: "NS/NAME", pattern: SERVICE_ACCOUNT,
    default: ["capi-system/capi-manager", "capi-kubeadm-control-plane-system/capi-kubeadm-control-plane-manager"],
    commands: ["webhook", "local"],
  },
  tenantLabels: { flag: "--tenant-labels", type: "strings", value: "KEY", default: [], commands: DECIDERS },
  allowedEndpointHosts: {
    flag: "--allowed-endpoint-hosts", type: "strings", value: "HOST", default: [], commands: [...DECIDERS, "manifests"],
  },
  profile: {
    flag: "--profile", type: "string", choices: PROFILE_NAMES, default: "enforce", commands: [...DECIDERS, "manifests"],
  },
  check: {
    flag: "--check", type: "strings", value: "ID=deny|warn|off", pattern: CHECK_SEVERITY, default: [],
    commands: [...DECIDERS, "manifests"],
  },
  waiverUsers: {
    flag: "--waiver-users", type: "strings", allowsComma: true, value: "USER", default: [],
    commands: ["webhook", "local", "manifests"],
  },
  waiverGroups: {
    flag: "--waiver-groups", type: "strings", allowsComma: true, value: "GROUP", default: ["system:masters"],
    commands: ["webhook", "local", "manifests"],
  },
  output: {
    flag: "--output", short: "-o", type: "string", choices: ["text", "json"],
    choicesFor: {
      lint: ["text", "json", "sarif", "junit"], resolve: ["text", "wide", "json"],
      audit: ["text", "json", "sarif", "junit"], impact: ["text", "wide", "json", "markdown"],
      "trust policy": ["json", "terraform", "cloudformation"],
    },
    default: "text", defaults: { "trust policy": "json" },
    commands: ["lint", "resolve", "why", "audit", "impact", "migrate carm", "trust check", ...OF_SELECTORS, "version"],
  },
  html: { flag: "--html", type: "string", value: "FILE", default: null, commands: ["map", "impact"] },
  failOn: {
    flag: "--fail-on", type: "strings", choices: ["deny", "warn", "unjudged"], default: ["deny"],
    choicesFor: { resolve: ["unjudged"], impact: ["unjudged"] }, defaults: { resolve: [], impact: [] },
    commands: JUDGES,
  },
  only: { flag: "--only", type: "strings", value: "FIELD=VALUE", default: [], commands: JUDGES },
  complete: { flag: "--complete", ...BOOL, commands: ["lint", "audit", "map", "impact"] },
  noWebhook: { flag: "--no-webhook", ...BOOL, commands: ["lint"] },
  namespace: {
    flag: "--namespace", short: "-n", type: "string", value: "NS", pattern: NAMESPACE, default: null,
    defaults: { manifests: "ack-role-resolver", "certs manage": "ack-role-resolver" },
    commands: [...OFFLINE, "webhook", "manifests", "certs manage", "credential-process"],
    onlyWith: { flag: "--cluster", is: false, commands: ["migrate carm"] },
  },
  label: {
    flag: "--label", short: "-l", type: "strings", value: "KEY=VALUE", default: [],
    commands: ["resolve", "credential-process"],
    onlyWith: { flag: "--kind", is: true, commands: ["resolve"] },
  },
  explain: { flag: "--explain", ...BOOL, commands: ["resolve"] },
  fix: { flag: "--fix", ...BOOL, commands: ["lint"], onlyWith: OF_FILES },
  dryRun: { flag: "--dry-run", ...BOOL, commands: ["lint"], onlyWith: { flag: "--fix", is: true, commands: ["lint"] } },
  delete: { flag: "--delete", ...BOOL, commands: ["impact"] },
  tlsDir: { flag: "--tls-dir", type: "string", value: "DIR", default: null, commands: ["webhook"] },
  clientCaFile: { flag: "--client-ca-file", type: "string", value: "FILE", default: null, commands: ["webhook"] },
  clientName: { flag: "--client-name", type: "string", value: "NAME", default: null, commands: ["webhook"] },
  autoControllerIdentity: {
    flag: "--auto-controller-identity", type: "strings", value: "NS", bare: "none", pattern: IDENTITY_NAMESPACE,
    default: [], commands: ["webhook", "manifests"],
  },
  noCapa: { flag: "--no-capa", ...BOOL, commands: ["webhook"] },
  listen: {
    flag: "--listen", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: null,
    defaults: { webhook: "0.0.0.0:9443", sidecar: "127.0.0.1:9780", local: "127.0.0.1:9780" },
    commands: [...SERVERS, "local"],
  },
  healthListen: {
    flag: "--health-listen", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: null,
    defaults: { webhook: "0.0.0.0:9444", sidecar: "0.0.0.0:9781", "certs manage": "0.0.0.0:9444" },
    commands: [...SERVERS, "certs manage"],
  },
  ui: { flag: "--ui", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: null, commands: ["webhook"] },
  group: {
    flag: "--group", type: "strings", value: "GROUP", pattern: GROUP, default: [],
    commands: ["sidecar", "trust policy"],
  },
  kind: {
    flag: "--kind", type: "strings", value: "KIND", default: [],
    commands: ["sidecar", "resolve", "credential-process"],
  },
  scopeNamespace: { flag: "--scope-namespace", ...ONE_NAMESPACE, commands: ["sidecar"] },
  identitySecretNamespace: {
    flag: "--identity-secret-namespace", type: "string", value: "NS", pattern: NAMESPACE, default: null,
    commands: ["lint", "audit", "map", "impact", "webhook", "sidecar", "manifests"],
  },
  allowedAudiences: {
    flag: "--allowed-audiences", type: "strings", value: "AUDIENCE", pattern: AUDIENCE, default: [STS_AUDIENCE],
    commands: ["sidecar"],
  },
  tokenFile: {
    flag: "--token-file", type: "string", value: "FILE", default: null,
    commands: ["sidecar", "local", "credential-process"],
  },
  endpoint: {
    flag: "--endpoint", type: "string", value: "URL", pattern: LOOPBACK_URL, default: null,
    commands: ["credential-process"],
  },
  selector: {
    flag: "--selector", type: "string", value: "NAME", pattern: OBJECT_NAME, default: null,
    commands: ["credential-process"],
  },
  identity: {
    flag: "--identity", type: "string", value: "KIND/NAME", pattern: IDENTITY_REFERENCE, default: null,
    commands: ["credential-process"],
  },
  stateDir: { flag: "--state-dir", type: "string", value: "DIR", default: null, commands: ["sidecar"] },
  stsEndpoint: { flag: "--sts-endpoint", type: "string", value: "URL", default: null, commands: ["sidecar"] },
  profileNamespace: { flag: "--profile-namespace", ...ONE_NAMESPACE, commands: ["sidecar"] },
  unmatched: { flag: "--unmatched", type: "string", choices: ["base", "deny"], default: null, commands: ["sidecar"] },
  base: { flag: "--base", type: "string", choices: ["vend", "identity-only"], default: null, commands: ["sidecar"] },
  ...SESSION_SETTINGS,
  logLevel: {
    flag: "--log-level", type: "string", choices: ["debug", "info", "warn", "error"], default: "info",
    defaults: { local: "warn" },
    commands: [...OFFLINE, ...SERVERS, "local", "certs manage"],
  },
  dir: { flag: "--dir", type: "string", value: "DIR", default: null, commands: ["certs make"] },
  host: { flag: "--host", type: "strings", value: "NAME", default: [], commands: ["certs make"] },
  url: {
    flag: "--url", type: "string", value: "URL", pattern: HTTPS_URL, default: null,
    commands: ["manifests", "webhook", "certs manage"],
  },
  caFile: { flag: "--ca-file", type: "string", value: "FILE", default: null, commands: ["manifests"] },
  sidecarImage: {
    flag: "--sidecar-image", type: "string", value: "IMAGE", pattern: IMAGE, default: null, commands: ["webhook"],
  },
  sidecarArgs: {
    flag: "--sidecar-args", type: "strings", allowsComma: true, value: "FLAG", pattern: SIDECAR_ARGUMENT, default: [],
    commands: ["webhook"],
  },
  sidecarEnv: {
    flag: "--sidecar-env", type: "strings", allowsComma: true, value: "NAME=VALUE", pattern: SIDECAR_VARIABLE,
    default: [], commands: ["webhook"],
  },
  sidecarCaConfigMap: {
    flag: "--sidecar-ca-config-map", type: "string", value: "NAME", pattern: OBJECT_NAME, default: null,
    commands: ["webhook"],
  },
  sidecarRunAsUser: {
    flag: "--sidecar-run-as-user", type: "string", value: "UID", pattern: USER_ID, default: "65532",
    commands: ["webhook"],
  },
  ...TRUST_SETTINGS,
  extraGroups: {
    flag: "--extra-groups", type: "strings", value: "GROUP", pattern: GROUP, default: [],
    commands: ["manifests", "webhook", ...OFFLINE],
    onlyWith: { flag: "--cluster", is: true, commands: ["resolve"] },
  },
} as const satisfies Record<string, Definition>;

export type SettingName = keyof typeof SETTINGS;

/** The rows of the settings table, for code that loops over all settings. */
export const DEFINITIONS: readonly (readonly [name: SettingName, definition: Definition])[] = Object.keys(SETTINGS)
  .filter(isSettingName)
  .map((name) => [name, SETTINGS[name]]);

function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

type ValueOf<D extends Definition, C extends Command> = D["type"] extends "boolean" ? boolean | NullDefault<D, C>
  : D["type"] extends "strings" ? readonly string[]
  : D extends { readonly choicesFor: { readonly [K in C]: readonly (infer Choice)[] } } ? Choice | NullDefault<D, C>
  : D extends { readonly choices: readonly (infer Choice)[] } ? Choice | NullDefault<D, C>
  : string | NullDefault<D, C>;

/** The type `null` if the default of the setting is null for the command, otherwise `never`. */
type NullDefault<D extends Definition, C extends Command> = C extends keyof D["defaults"]
  ? Extract<D["defaults"][C], null>
  : Extract<D["default"], null>;

type NamesFor<C extends Command> = {
  [N in SettingName]: C extends (typeof SETTINGS)[N]["commands"][number] ? N : never;
}[SettingName];

/** The validated and frozen settings of a command. */
export type SettingsFor<C extends Command> = {
  readonly [N in NamesFor<C>]: ValueOf<(typeof SETTINGS)[N], C>;
};
