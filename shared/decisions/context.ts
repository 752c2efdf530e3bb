import { type LabelSelector, parseLabelSelector } from "./kubernetes/label-selector.ts";
import type { SettingsFor } from "./settings.ts";

/** What the shipped controllers understand, or all that is documented. */
export type Runtime = "ack" | "extended";

export type Operation = "CREATE" | "UPDATE" | "DELETE";

/** Who sent the request: the review's userInfo. */
export interface Requester {
  readonly username: string;
  readonly groups: readonly string[];
}

/** What an access review said of the verb `use` on an IAMRoleSelector; unknown where it could not be asked. */
export type Access = "allowed" | "denied" | "unknown";

/** What the requester may use, by the selector's name. */
export type AccessAnswers = ReadonlyMap<string, Access>;

export type Severity = "deny" | "warn";

/** Where an object was read: from a manifest, where `apiVersion` still is to be rewritten, or as a cluster stores it. */
export type Origin = "file" | "cluster";

/** What every decision takes beside the inventory. Read once, frozen. */
export interface DecisionSettings {
  readonly mode: "selectors" | "carm";
  readonly runtime: Runtime;
  /** The controllers' feature gates, which only mode `carm` looks at. */
  readonly teamLevelCARM: boolean;
  readonly serviceLevelCARM: boolean;
  readonly ackSystemNamespace: string;
  /** The controllers' region, or null when not said. */
  readonly region: string | null;
  readonly controllerAccount: string | null;
  readonly controllerRole: string | null;
  /** Empty where any account may be used, as the lists below are where nothing is said. */
  readonly allowedAccounts: readonly string[];
  /** `NAMESPACE/NAME` of each ACK controller's service account. */
  readonly controllerServiceAccounts: readonly string[];
  readonly tenantLabels: readonly string[];
  readonly allowedEndpointHosts: readonly string[];
  readonly watchNamespaces: readonly string[];
  /** Null where resources are watched whatever their labels. */
  readonly watchSelector: LabelSelector | null;
  readonly checkSeverities: ReadonlyMap<string, Severity | "off">;
  readonly waiverUsers: readonly string[];
  readonly waiverGroups: readonly string[];
}

type DecisionInput = Omit<SettingsFor<"lint">, "from" | "cluster" | "kubeconfig" | "context" | "extraGroups" | "output" | "failOn"> & Partial<Pick<SettingsFor<"webhook">, "waiverUsers" | "waiverGroups">>;

/** The part of a command's settings that decisions take. Offline nobody's waiver is looked at, so none may waive. */
export function decisionSettings(settings: DecisionInput): DecisionSettings {
  const { mode, runtime, region, controllerAccount, controllerRole, ackSystemNamespace, waiverUsers = [], waiverGroups = [] } = settings;
  const { allowedAccounts, controllerServiceAccounts, tenantLabels, allowedEndpointHosts } = settings;
  const checkSeverities = new Map(settings.check.map((one): [string, Severity | "off"] => {
    const [id = "", severity] = one.split("=");
    return [id, severity === "deny" || severity === "warn" ? severity : "off"];
  }));
  return {
    mode, runtime, region, controllerAccount, controllerRole, ackSystemNamespace, checkSeverities, waiverUsers, waiverGroups,
    allowedAccounts, controllerServiceAccounts, tenantLabels, allowedEndpointHosts, watchNamespaces: settings.watchNamespace,
    watchSelector: settings.watchSelectors === null ? null : parseLabelSelector(settings.watchSelectors),
    teamLevelCARM: settings.teamLevelCarm, serviceLevelCARM: settings.serviceLevelCarm,
  };
}
