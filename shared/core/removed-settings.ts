import type { Runtime } from "./context.ts";
import { removedCheckNotices } from "./removed-codes.ts";
import type { Command } from "./setting-definition.ts";
import { DECIDERS, OFFLINE, type SettingName } from "./settings.ts";

/** The notice for `--runtime extended`. */
export const EXTENDED_NOTICE = "--runtime extended: shipped ACK controllers do not support the additional selector "
  + "features, and can use other roles than this program; "
  + "set --runtime ack unless every controller supports these features";

export interface NoticedSettings {
  readonly runtime: Runtime;
  /** The values of `--check`; undefined if the command has no such flag. */
  readonly check?: readonly string[];
}

/** Returns the warnings that a program prints once at its start. */
export function startNotices({ runtime, check = [] }: NoticedSettings): readonly string[] {
  return [...(runtime === "extended" ? [EXTENDED_NOTICE] : []), ...removedCheckNotices(check)];
}

/** A setting that this release no longer has. Setting it causes a warning, and becomes an error in the next release. */
export interface RemovedSetting {
  readonly flag: `--${string}`;
  readonly short?: `-${string}`;
  readonly commands: readonly Command[];
  /** Whether the flag had no value. */
  readonly isBoolean?: true;
  /** The setting that takes over the value, and its values for a text. Without it, the value has no effect. */
  readonly successor?: { readonly setting: SettingName; readonly valuesOf: (text: string) => readonly string[] };
  /** What replaces the setting. Begins the warning after the name of the setting. */
  readonly instead: string;
  /** The value of the chart, if it was not in `settings`. */
  readonly chartValue?: string;
}

/** Returns the namespace of NAMESPACE/NAME. */
function namespaceIn(text: string): readonly string[] {
  return text.split("/", 1);
}

/** Returns the items of a comma-separated list. */
function listOf(text: string): readonly string[] {
  return text.split(",").map((item) => item.trim());
}

/** The commands that had the flags: `why` is newer. */
const READERS_THEN = OFFLINE.filter((one) => one !== "why");
const DECIDERS_THEN = DECIDERS.filter((one) => one !== "why");

export const REMOVED_SETTINGS: readonly RemovedSetting[] = [
  {
    flag: "--policy-reports", commands: ["webhook", "manifests"], isBoolean: true, chartValue: "policyReports",
    instead: "the webhook no longer writes reports of OpenReports; read its Events, or run `audit`",
  },
  ...(["--watch-namespace", "--watch-selectors"] as const).map((flag) => ({
    flag, commands: DECIDERS_THEN, instead: "no decision depends on what controllers watch",
  })),
  { flag: "--token", commands: ["sidecar"], instead: "write the token to the file of --token-file" },
  {
    flag: "--max-staleness", commands: ["webhook", "sidecar"],
    instead: "a server is unready if its inventory is older than 5 minutes",
  },
  { flag: "--refresh-qps", commands: ["webhook"], instead: "the webhook updates 5 objects per second" },
  ...(["--webhook", "--webhook-health", "--sidecar", "--sidecar-health", "--sts"] as const).map((server) => ({
    flag: `${server}-listen` as const, commands: ["local"] as const,
    instead: "set --listen to the first of five addresses on consecutive ports",
  })),
  {
    flag: "--lease", commands: ["webhook"], instead: "set --namespace to the namespace of the installation",
    successor: { setting: "namespace", valuesOf: namespaceIn },
  },
  {
    flag: "--pending-writes", commands: ["webhook"],
    instead: "replicas share their changes in the namespace of their Pod, or in --namespace",
    successor: { setting: "namespace", valuesOf: namespaceIn },
  },
  {
    flag: "--tls-host", commands: ["webhook", "certs manage"],
    instead: "set --url to the URL that the API server calls",
    successor: { setting: "url", valuesOf: (host) => [`https://${host.includes(":") ? `[${host}]` : host}`] },
  },
  { flag: "--on-internal-error", commands: ["webhook", "local"], instead: "--profile observe admits, others deny" },
  {
    flag: "--verbose", short: "-v", commands: READERS_THEN, isBoolean: true, instead: "use --log-level debug",
    successor: { setting: "logLevel", valuesOf: (text) => (text === "false" ? [] : ["debug"]) },
  },
  {
    flag: "--controller-service-accounts", commands: [...DECIDERS_THEN, "manifests"],
    instead: "list NS/NAME in --controller-users", successor: { setting: "controllerUsers", valuesOf: listOf },
  },
  {
    flag: "--controller-identity-namespaces", commands: ["webhook", "manifests"],
    instead: "list the namespaces in --auto-controller-identity",
    successor: { setting: "autoControllerIdentity", valuesOf: listOf },
  },
  {
    flag: "--own-crd", commands: ["manifests"], isBoolean: true, instead: "`manifests crds` prints the CRD",
  },
  {
    flag: "--access-reviews", commands: ["manifests"], isBoolean: true,
    instead: "`manifests` grants the right if --check enables ACK-09, NS-02 or AC-05",
  },
  { flag: "--image", commands: ["manifests"], instead: "set image.repository and image.tag of the Helm chart" },
  { flag: "--certificates", commands: ["manifests"], instead: "set certificates.mode of the Helm chart" },
  {
    flag: "--inject", commands: ["manifests"], isBoolean: true, instead: "set injection.enabled of the Helm chart",
  },
  {
    flag: "--force", commands: ["certs make"], isBoolean: true,
    instead: "existing certificates are never replaced; delete the files first",
  },
];

/** The values of the chart that set a removed setting: a value of its own, or a key of `settings`. */
export const REMOVED_VALUES = REMOVED_SETTINGS.filter(({ commands }) => commands.includes("webhook"))
  .map(({ flag, chartValue, instead }) => (
    { key: chartValue ?? camelCase(flag), isSetting: chartValue === undefined, instead }
  ));

function camelCase(flag: string): string {
  return flag.slice(2).replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the removed settings of a command. */
export function removedFrom(command: Command): readonly RemovedSetting[] {
  return REMOVED_SETTINGS.filter(({ commands }) => commands.includes(command));
}
