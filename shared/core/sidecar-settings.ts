import type { JsonObject } from "../formats/json.ts";
import { type Closures, closuresOf } from "./closures.ts";
import { defaultOf } from "./setting-definition.ts";
import { SETTINGS, type SettingsFor } from "./settings.ts";

/** The settings of the injection of sidecars. */
export interface InjectionSettings {
  /** The image of the sidecar. If null, the webhook injects no sidecar. */
  readonly image: string | null;
  /** The flags of each injected sidecar, in addition to those that depend on the Pod. */
  readonly args: readonly string[];
  /** The variables of each injected sidecar, in addition to those that depend on the Pod. */
  readonly env: readonly JsonObject[];
  /** The ConfigMap, in the namespace of the Pod, with further CAs that the sidecar trusts; null for none. */
  readonly caConfigMap: string | null;
  /** The user ID of the sidecar; null leaves it to the cluster, or else to the image. */
  readonly runAsUser: number | null;
  /** Whether kubelets reach the sidecar by IPv6, as they reach the webhook. */
  readonly isDualStack: boolean;
  /** ACK groups that this release does not know. */
  readonly extraGroups: readonly string[];
  /** What the sidecars of this installation close, also those that have been injected with other flags. */
  readonly closures: Closures;
}

/** The settings of the webhook that decide which roles a sidecar grants. */
const SHARED = [
  "mode", "teamLevelCarm", "serviceLevelCarm", "ackSystemNamespace", "runtime", "controllerAccount", "controllerRole",
  "allowedAccounts", "profile",
] as const;

type SidecarSetting =
  | "healthListen" | "sidecarImage" | "sidecarArgs" | "sidecarEnv" | "sidecarCaConfigMap" | "sidecarRunAsUser"
  | "extraGroups";

type Input =
  & Pick<SettingsFor<"webhook">, (typeof SHARED)[number]>
  & Partial<Pick<SettingsFor<"webhook">, SidecarSetting>>;

/**
 * Returns the settings of the injection. The injected sidecars decide with the settings of the webhook, unless
 * `--sidecar-args` sets the same flag.
 */
export function injectionSettings(settings: Input): InjectionSettings {
  const { sidecarImage: image = null, sidecarArgs: args = [], sidecarEnv = [], extraGroups = [] } = settings;
  const { sidecarCaConfigMap: caConfigMap = null } = settings;
  const { sidecarRunAsUser: user = SETTINGS.sidecarRunAsUser.default } = settings;
  const isDualStack = settings.healthListen?.startsWith("[::]:") === true;
  const own = new Set(args.map(flagOf));
  const shared = SHARED.flatMap((name) => argumentsOf(name, settings)).filter((one) => !own.has(flagOf(one)));
  const all = [...shared, ...args];
  return {
    image, args: all, env: sidecarEnv.map(variableOf), caConfigMap, runAsUser: user === "none" ? null : Number(user),
    isDualStack, extraGroups, closures: closuresIn(all),
  };
}

/** Returns what a sidecar with these arguments closes. */
function closuresIn(args: readonly string[]): Closures {
  const valueOf = (name: "profile" | keyof Closures): string | undefined => {
    const { flag } = SETTINGS[name];
    return args.findLast((one) => flagOf(one) === flag)?.slice(flag.length + 1);
  };
  return closuresOf({
    profile: valueOf("profile") ?? SETTINGS.profile.default, base: valueOf("base"), unmatched: valueOf("unmatched"),
    sessionScope: valueOf("sessionScope"),
  });
}

/** Returns the variable that an item such as `HTTPS_PROXY=http://proxy:3128` sets. */
function variableOf(item: string): JsonObject {
  const [name = ""] = item.split("=", 1);
  return { name, value: item.slice(name.length + 1) };
}

/** Returns the arguments that set a setting to its value; none if the value is the default of the sidecar. */
function argumentsOf(name: (typeof SHARED)[number], settings: Input): string[] {
  const { flag } = SETTINGS[name];
  const value = settings[name];
  if (typeof value === "boolean") return value ? [flag] : [];
  if (value === null || value === defaultOf(SETTINGS[name], "sidecar")) return [];
  return [value].flat().map((one) => `${flag}=${one}`);
}

/** Returns the flag of an argument such as `--mode=carm`. */
export function flagOf(argument: string): string {
  return argument.replace(/=.*$/s, "");
}
