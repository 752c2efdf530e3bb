import { CHECK_IDS } from "./checks/catalogue.ts";
import { LABEL_SELECTOR_TEXT } from "./kubernetes/label-selector.ts";

export const COMMANDS = ["local", "webhook", "sidecar", "lint", "resolve", "audit", "impact", "migrate carm", "credential-process", "certs make", "manifests"] as const;
export type Command = (typeof COMMANDS)[number];

type Default = string | boolean | number | null | readonly string[];

/** A row of the table. */
export interface Definition {
  readonly flag: `--${string}`;
  /** A one-letter form of the flag. */
  readonly short?: `-${string}`;
  /** `strings` may be repeated; `duration` is written as 5m, 30s or 500ms and read as milliseconds. */
  readonly type: "string" | "boolean" | "duration" | "strings";
  /** What stands for the value in the help. */
  readonly value?: string;
  readonly choices?: readonly string[];
  /** Where a command takes others. */
  readonly choicesFor?: Partial<Readonly<Record<Command, readonly string[]>>>;
  /** What every value matches, and how to say so. */
  readonly pattern?: { readonly regexp: string; readonly meaning: string };
  readonly default: Default;
  /** Where a command has a default of its own. */
  readonly defaults?: Partial<Readonly<Record<Command, Default>>>;
  readonly commands: readonly Command[];
  readonly help: string;
  /** Where it means something else to a command. */
  readonly helpFor?: Partial<Readonly<Record<Command, string>>>;
}

const SERVERS = ["webhook", "sidecar"] as const;
const BY_MODE = ["lint", "resolve", "audit", "impact", ...SERVERS, "local"] as const;
const READERS = ["lint", "resolve", "audit", "impact", "migrate carm", ...SERVERS] as const;
const DECIDERS = [...READERS, "local"] as const;
const ACCOUNT = { regexp: "^[0-9]{12}$", meaning: "an account id of 12 digits" };
const ADDRESS = { regexp: "^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):[0-9]{1,5}$", meaning: "HOST:PORT, such as 127.0.0.1:9780 or [::1]:9780" };
const NAMESPACE = { regexp: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", meaning: "a namespace's name: up to 63 lower-case letters, digits and '-', such as team-a" };
const OBJECT_NAME = { regexp: "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$", meaning: "an object's name: up to 253 lower-case letters, digits, '-' and '.', such as team-a" };
const LOOPBACK_URL = { regexp: "^https?://(127(\\.[0-9]{1,3}){3}|localhost|\\[::1\\])(:[0-9]{1,5})?/?$", meaning: "http://HOST:PORT of this machine, such as http://127.0.0.1:9780, http://localhost:9780 or http://[::1]:9780" };
const GROUP = { regexp: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$", meaning: "an API group, such as s3.services.k8s.aws" };

/** Every setting: the one table that flags, environment, help and docs/settings.md are made from. */
export const SETTINGS = {
  from: { flag: "--from", type: "strings", value: "PATH", default: [], defaults: { local: ["manifests/examples"] }, commands: DECIDERS, help: "read manifests from a file, a folder or - (standard input)", helpFor: { impact: "read the manifests that there are from a file, a folder or - (standard input)" } },
  cluster: { flag: "--cluster", type: "boolean", default: false, commands: READERS, help: "read a live cluster instead of manifests" },
  kubeconfig: { flag: "--kubeconfig", type: "string", value: "FILE", default: null, commands: READERS, help: "the kubeconfig of --cluster (default: KUBECONFIG, ~/.kube/config, the Pod's own account)" },
  context: { flag: "--context", type: "string", value: "NAME", default: null, commands: READERS, help: "the kubeconfig's context to use" },
  mode: { flag: "--mode", type: "string", choices: ["selectors", "carm"], default: "selectors", commands: BY_MODE, help: "what decides the role of a resource: IAMRoleSelectors, or the legacy maps of CARM" },
  teamLevelCarm: { flag: "--team-level-carm", type: "boolean", default: false, commands: DECIDERS, help: "with --mode carm: the controllers' feature gate TeamLevelCARM is on" },
  serviceLevelCarm: { flag: "--service-level-carm", type: "boolean", default: false, commands: DECIDERS, help: "with --mode carm: the controllers' feature gate ServiceLevelCARM is on" },
  ackSystemNamespace: { flag: "--ack-system-namespace", type: "string", value: "NS", pattern: NAMESPACE, default: "ack-system", commands: [...DECIDERS, "manifests"], help: "the namespace of the CARM maps, which is that of the controllers" },
  runtime: { flag: "--runtime", type: "string", choices: ["ack", "extended"], default: "ack", commands: [...DECIDERS, "manifests"], help: "what selectors may say: what shipped controllers understand, or all of it (which shipped controllers do not follow)" },
  region: { flag: "--region", type: "string", value: "REGION", pattern: { regexp: "^[a-z]{2,}(-[a-z]+)+-[0-9]+$", meaning: "a region, such as eu-west-1" }, default: null, defaults: { local: "eu-west-1" }, commands: DECIDERS, help: "the controllers' region, and that of STS" },
  controllerAccount: { flag: "--controller-account", type: "string", value: "ID", pattern: ACCOUNT, default: null, commands: DECIDERS, help: "the account of the controllers' own role" },
  controllerRole: { flag: "--controller-role", type: "string", value: "ARN", pattern: { regexp: "^arn:aws[-a-z0-9]*:iam::[0-9]{12}:role/[!-~]+$", meaning: "a role's ARN, such as arn:aws:iam::111122223333:role/ack" }, default: null, commands: DECIDERS, help: "the controllers' own role" },
  allowedAccounts: { flag: "--allowed-accounts", type: "strings", value: "ID", pattern: ACCOUNT, default: [], commands: DECIDERS, help: "the only accounts that roles may be in" },
  controllerServiceAccounts: { flag: "--controller-service-accounts", type: "strings", value: "NS/NAME", pattern: { regexp: "^[^/\\s]+/[^/\\s]+$", meaning: "NAMESPACE/NAME" }, default: [], commands: DECIDERS, help: "the service accounts of the ACK controllers" },
  tenantLabels: { flag: "--tenant-labels", type: "strings", value: "KEY", default: [], commands: DECIDERS, help: "keys of namespace labels that tenants may set" },
  allowedEndpointHosts: { flag: "--allowed-endpoint-hosts", type: "strings", value: "HOST", default: [], commands: DECIDERS, help: "the only hosts that a namespace's endpoint-url may name" },
  watchNamespace: { flag: "--watch-namespace", type: "strings", value: "NS", pattern: NAMESPACE, default: [], commands: DECIDERS, help: "the only namespaces that the controllers watch" },
  watchSelectors: { flag: "--watch-selectors", type: "string", value: "SELECTOR", pattern: { regexp: LABEL_SELECTOR_TEXT, meaning: "a label selector, such as team=a,tier in (gold,silver)" }, default: null, commands: DECIDERS, help: "the only resources that the controllers watch, by label" },
  check: { flag: "--check", type: "strings", value: "ID=deny|warn|off", pattern: { regexp: `^(${[...CHECK_IDS].join("|")})=(deny|warn|off)$`, meaning: `ID=deny, ID=warn or ID=off with one of ${[...CHECK_IDS].join(", ")}` }, default: [], commands: DECIDERS, help: "change the severity of a check", helpFor: { sidecar: "IRS-27=warn: try each role that is granted, and warn of those that STS refuses; no other check changes what is granted" } },
  waiverUsers: { flag: "--waiver-users", type: "strings", value: "USER", default: [], commands: ["webhook", "local"], help: "who may waive checks by annotation" },
  waiverGroups: { flag: "--waiver-groups", type: "strings", value: "GROUP", default: ["system:masters"], commands: ["webhook", "local"], help: "whose members may waive checks by annotation" },
  output: { flag: "--output", short: "-o", type: "string", choices: ["text", "json"], choicesFor: { lint: ["text", "json", "sarif"] }, default: "text", commands: ["lint", "resolve", "audit", "impact", "migrate carm"], help: "for people, or stable JSON", helpFor: { lint: "for people, stable JSON, or SARIF 2.1.0 for code scanners" } },
  failOn: { flag: "--fail-on", type: "string", choices: ["deny", "warn"], default: "deny", commands: ["lint", "audit"], help: "the least severity that makes the exit status 1" },
  namespace: { flag: "--namespace", short: "-n", type: "string", value: "NS", pattern: NAMESPACE, default: "default", defaults: { manifests: "ack-role-resolver", "credential-process": null }, commands: ["resolve", "manifests", "credential-process"], help: "the namespace of resources that name none, and of --kind", helpFor: { manifests: "the namespace to install into", "credential-process": "the namespace of the resource whose role is wanted, with --kind" } },
  label: { flag: "--label", short: "-l", type: "strings", value: "KEY=VALUE", default: [], commands: ["resolve", "credential-process"], help: "with --kind: a label that the resource is to carry" },
  explain: { flag: "--explain", type: "boolean", default: false, commands: ["resolve"], help: "say of every selector why it does or does not select" },
  delete: { flag: "--delete", type: "boolean", default: false, commands: ["impact"], help: "the manifests are to be deleted instead of applied" },
  tlsDir: { flag: "--tls-dir", type: "string", value: "DIR", default: null, commands: ["webhook"], help: "the folder of tls.crt and tls.key; they are reloaded when they change" },
  listen: { flag: "--listen", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: null, defaults: { webhook: "0.0.0.0:9443", sidecar: "127.0.0.1:9780" }, commands: [...SERVERS], help: "where to serve", helpFor: { sidecar: "where to serve, on loopback alone" } },
  healthListen: { flag: "--health-listen", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: null, defaults: { webhook: "0.0.0.0:9444", sidecar: "0.0.0.0:9781" }, commands: [...SERVERS], help: "where to serve /healthz, /readyz and /metrics" },
  group: { flag: "--group", type: "strings", value: "GROUP", pattern: GROUP, default: [], commands: ["sidecar"], help: "the API groups of the controller beside this sidecar, such as s3.services.k8s.aws" },
  kind: { flag: "--kind", type: "strings", value: "KIND", default: [], commands: ["sidecar", "resolve", "credential-process"], help: "the kind to ask for, such as Bucket.s3.services.k8s.aws, which need not be there yet", helpFor: { sidecar: "the only kinds that the controller manages, such as Bucket.s3.services.k8s.aws" } },
  scopeNamespace: { flag: "--scope-namespace", type: "string", value: "NS", pattern: NAMESPACE, default: null, commands: ["sidecar"], help: "grant only what resolves in this namespace" },
  token: { flag: "--token", type: "string", value: "TOKEN", default: null, commands: ["sidecar"], help: "the clients' token, for local use" },
  tokenFile: { flag: "--token-file", type: "string", value: "FILE", default: null, commands: ["sidecar", "local", "credential-process"], help: "the file of the clients' token; the sidecar makes it when absent or empty, and re-reads it when it changes", helpFor: { "credential-process": "the file that the sidecar was given with its own --token-file" } },
  endpoint: { flag: "--endpoint", type: "string", value: "URL", pattern: LOOPBACK_URL, default: null, commands: ["credential-process"], help: "the address of a running sidecar, such as http://127.0.0.1:9780" },
  selector: { flag: "--selector", type: "string", value: "NAME", pattern: OBJECT_NAME, default: null, commands: ["credential-process"], help: "the IAMRoleSelector whose role is wanted" },
  stateDir: { flag: "--state-dir", type: "string", value: "DIR", default: null, commands: ["sidecar"], help: "a folder in memory, for the sidecar alone, where what it has vended stays verifiable across a restart" },
  stsEndpoint: { flag: "--sts-endpoint", type: "string", value: "URL", default: null, commands: ["sidecar"], help: "STS at another address than the region's: https, or loopback" },
  unmatched: { flag: "--unmatched", type: "string", choices: ["base", "deny"], default: null, commands: ["sidecar"], help: "what a resource gets that no selector selects (default: base, with --scope-namespace deny)" },
  base: { flag: "--base", type: "string", choices: ["vend", "identity-only"], default: null, commands: ["sidecar"], help: "whether the sidecar's own session is vended (default: vend, when it has a session token)" },
  sessionName: { flag: "--session-name", type: "string", value: "NAME", pattern: { regexp: "^[A-Za-z0-9_+=,.@-]{2,64}$", meaning: "2 to 64 letters, digits or _+=,.@-" }, default: "ack-role-resolver", commands: ["sidecar"], help: "the name of the sessions at STS" },
  maxStaleness: { flag: "--max-staleness", type: "duration", value: "DURATION", default: 300_000, commands: [...SERVERS], help: "the age from which a view of the cluster is not ready" },
  logLevel: { flag: "--log-level", type: "string", choices: ["debug", "info", "warn", "error"], default: "info", defaults: { local: "warn" }, commands: [...SERVERS, "local"], help: "the least level that is logged, as JSON lines on standard error" },
  webhookListen: { flag: "--webhook-listen", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: "127.0.0.1:9443", commands: ["local"], help: "where the webhook serves" },
  webhookHealthListen: { flag: "--webhook-health-listen", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: "127.0.0.1:9444", commands: ["local"], help: "where the webhook serves health and metrics" },
  sidecarListen: { flag: "--sidecar-listen", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: "127.0.0.1:9780", commands: ["local"], help: "where the sidecar serves" },
  sidecarHealthListen: { flag: "--sidecar-health-listen", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: "127.0.0.1:9781", commands: ["local"], help: "where the sidecar serves health and metrics" },
  stsListen: { flag: "--sts-listen", type: "string", value: "HOST:PORT", pattern: ADDRESS, default: "127.0.0.1:9782", commands: ["local"], help: "where the embedded STS emulator serves" },
  dir: { flag: "--dir", type: "string", value: "DIR", default: null, commands: ["certs make"], help: "the folder to write ca.crt, tls.crt and tls.key to" },
  host: { flag: "--host", type: "strings", value: "NAME", default: [], commands: ["certs make"], help: "a DNS name or IP address that the certificate is for" },
  force: { flag: "--force", type: "boolean", default: false, commands: ["certs make"], help: "replace certificates that are there" },
  url: { flag: "--url", type: "string", value: "URL", pattern: { regexp: "^https://[^/?#@\\s]+/?$", meaning: "https://HOST:PORT" }, default: null, commands: ["manifests"], help: "the address of a webhook outside the cluster, instead of a Service" },
  caFile: { flag: "--ca-file", type: "string", value: "FILE", default: null, commands: ["manifests"], help: "the CA that the webhook's certificate is signed by" },
  accessReviews: { flag: "--access-reviews", type: "boolean", default: false, commands: ["manifests"], help: "let the webhook ask who may use a selector, which --check ACK-09=deny needs" },
  extraGroups: { flag: "--extra-groups", type: "strings", value: "GROUP", pattern: GROUP, default: [], commands: ["manifests", "webhook", "lint", "resolve", "audit", "impact", "migrate carm"], help: "ACK API groups that this release does not know" },
} as const satisfies Record<string, Definition>;

export type SettingName = keyof typeof SETTINGS;

/** The table again, for code that goes over all of it. */
export const DEFINITIONS: readonly (readonly [name: string, definition: Definition])[] = Object.entries(SETTINGS);

type ValueOf<D extends Definition, C extends Command> = D["type"] extends "boolean" ? boolean
  : D["type"] extends "duration" ? number
  : D["type"] extends "strings" ? readonly string[]
  : D extends { readonly choicesFor: { readonly [K in C]: readonly (infer Choice)[] } } ? Choice | Absence<D, C>
  : D extends { readonly choices: readonly (infer Choice)[] } ? Choice | Absence<D, C> : string | Absence<D, C>;

/** Null where neither the setting nor the command has a default. */
type Absence<D extends Definition, C extends Command> = C extends keyof D["defaults"] ? Extract<D["defaults"][C], null> : Extract<D["default"], null>;

/** The settings of a command, read, complete and frozen. */
export type SettingsFor<C extends Command> = {
  readonly [N in SettingName as C extends (typeof SETTINGS)[N]["commands"][number] ? N : never]: ValueOf<(typeof SETTINGS)[N], C>;
};

export function choicesOf(definition: Definition, command: Command): readonly string[] | undefined {
  return definition.choicesFor?.[command] ?? definition.choices;
}

export function defaultOf(definition: Definition, command: Command): Default {
  const own = definition.defaults?.[command];
  return own === undefined ? definition.default : own;
}
