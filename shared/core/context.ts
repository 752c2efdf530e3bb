import { type Profile, PROFILES } from "./profiles.ts";
import type { FieldPath, JsonObject } from "../formats/json.ts";
import { injectionSettings, type InjectionSettings } from "./sidecar-settings.ts";
import { SETTINGS, type SettingsFor } from "./settings.ts";
import { controllersOf } from "../formats/names.ts";

/** `ack` is the behavior of the shipped controllers. `extended` adds features of the proposals (docs/proposals.md). */
export type Runtime = "ack" | "extended";

/** What an installation can leave out, with all its kinds. `capa` is Cluster API Provider AWS. */
export type Feature = "capa";

/** The notice for `--runtime extended`. */
export const EXTENDED_NOTICE = "--runtime extended: shipped ACK controllers do not support the additional selector "
  + "features, and can use other roles than this program; "
  + "set --runtime ack unless every controller supports these features";

/** Returns the warnings about the settings that a program prints once at its start. */
export function startNotices({ runtime }: Pick<DecisionSettings, "runtime">): readonly string[] {
  return runtime === "extended" ? [EXTENDED_NOTICE] : [];
}

export type Operation = "CREATE" | "UPDATE" | "DELETE";

/** When a check runs: at a change, or when `audit` checks a stored object. */
export type Occasion = Operation | "AUDIT";

/** The user that sent a request: `userInfo` of the AdmissionReview. */
export interface Requester {
  readonly username: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  /** What the authenticator of the API server adds, such as the scopes of a token. */
  readonly extra?: JsonObject;
}

/** The result of a SubjectAccessReview for the verb `use` on a selector or identity; `unknown` if the review failed. */
export type Access = "allowed" | "denied" | "unknown";

/** Whether the requester may use each selector, by its name, or each identity, by the key of `identityUses`. */
export type AccessByName = ReadonlyMap<string, Access>;

export type Severity = "deny" | "warn";

/**
 * The source of an object: a manifest file or a cluster. In a manifest, the webhook has not rewritten the `apiVersion`
 * entries yet.
 */
export type Origin = "file" | "cluster";

/** The settings that affect decisions. */
export interface DecisionSettings {
  readonly mode: "selectors" | "carm";
  readonly runtime: Runtime;
  /** The CARM feature gates of the controllers. Only mode `carm` uses these settings. */
  readonly teamLevelCARM: boolean;
  readonly serviceLevelCARM: boolean;
  readonly ackSystemNamespace: string;
  /** The namespaces of this installation: of the webhook, of its Secret and of its Lease. */
  readonly installationNamespaces: readonly string[];
  /** The namespaces whose profile a sidecar may follow; null if they are unknown. */
  readonly profileNamespaces: readonly string[] | null;
  /** The region of the controllers; null if the region is unknown. */
  readonly region: string | null;
  readonly controllerAccount: string | null;
  readonly controllerRole: string | null;
  /** The accounts whose roles selectors may use; [] allows every account. */
  readonly allowedAccounts: readonly string[];
  /** The service account of each ACK controller, as `NAMESPACE/NAME`. */
  readonly controllerServiceAccounts: readonly string[];
  /** The service accounts of CAPA, as `NAMESPACE/NAME`. Offline, those of clusterctl. */
  readonly capaServiceAccounts: readonly string[];
  /** The service accounts of Cluster API, as `NAMESPACE/NAME`. Empty offline. */
  readonly clusterAPIServiceAccounts: readonly string[];
  /** The namespace of the Secrets of static identities; null if no check reads Secrets. */
  readonly identitySecretNamespace: string | null;
  /** The user names of ACK controllers. `*` stands for any characters. */
  readonly controllerUsers: readonly string[];
  readonly tenantLabels: readonly string[];
  readonly allowedEndpointHosts: readonly string[];
  /** The severities by check that the profile and `--check` set; `*` stands for every other check that denies. */
  readonly checkSeverities: ReadonlyMap<string, Severity | "off">;
  /** The same with the profile `enforce`, if the profile is `observe`; otherwise null. */
  readonly enforcedSeverities: ReadonlyMap<string, Severity | "off"> | null;
  /** Whether the webhook denies or admits an object if its review fails. */
  readonly onInternalError: "deny" | "admit";
  readonly waiverUsers: readonly string[];
  readonly waiverGroups: readonly string[];
  /**
   * Whether the webhook is installed. If so, the webhook completes each selector before the API server validates the
   * selector.
   */
  readonly isWebhookInstalled: boolean;
  /** Whether the manifests contain every Namespace and every CustomResourceDefinition of the cluster. */
  readonly isInputComplete: boolean;
  readonly injection: InjectionSettings;
  /** The features that the installation leaves out: the webhook neither watches nor judges their objects. */
  readonly without: ReadonlySet<Feature>;
}

type DecisionInput = Omit<
  SettingsFor<"lint">,
  | "from" | "ignore" | "root" | "skipUnreadable" | "allowEmpty" | "logLevel" | "cluster" | "kubeconfig" | "context"
  | "extraGroups" | "output" | "failOn" | "noWebhook" | "complete" | "identitySecretNamespace" | "namespace"
  | "only" | "maxDocuments" | "capaVersion" | "fix" | "dryRun"
  | "iam" | "aws" | "caller" | "via" | "callerCredentials" | "intended" | "sessionName" | "defaultExternalId"
  | "defaultSourceIdentity" | "defaultSessionTags"
> &
  Partial<Pick<
    SettingsFor<"webhook">,
    | "waiverUsers" | "waiverGroups" | "capaServiceAccounts" | "clusterApiServiceAccounts" | "identitySecretNamespace"
    | "sidecarImage" | "sidecarArgs" | "sidecarEnv" | "sidecarCaConfigMap" | "sidecarRunAsUser" | "extraGroups"
    | "noCapa"
  >> &
  Partial<Pick<SettingsFor<"lint">, "noWebhook" | "complete">> & {
    /** The namespaces of the webhook: of its Pod and of its Lease, if they are known. */
    readonly installationNamespaces?: readonly (string | null)[];
  };

/** Returns the severity of each check that `--check` lists, and of each other check that the profile lists. */
export function checkSeveritiesOf(
  check: readonly string[], profile: Profile = "enforce",
): DecisionSettings["checkSeverities"] {
  return new Map([...PROFILES.check[profile], ...check].map(severityIn));
}

function severityIn(text: string): readonly [id: string, severity: Severity | "off"] {
  const [id = "", severity] = text.split("=");
  return [id, severity === "deny" || severity === "warn" ? severity : "off"];
}

/**
 * Returns the settings of a command that affect decisions. Offline commands have no requester and therefore no waiver
 * users.
 */
export function decisionSettings(settings: DecisionInput): DecisionSettings {
  return {
    mode: settings.mode,
    runtime: settings.runtime,
    region: settings.region,
    controllerAccount: settings.controllerAccount,
    controllerRole: settings.controllerRole,
    ackSystemNamespace: settings.ackSystemNamespace,
    ...namespacesOf(settings.installationNamespaces ?? []),
    checkSeverities: checkSeveritiesOf(settings.check, settings.profile),
    enforcedSeverities: settings.profile === "observe" ? checkSeveritiesOf(settings.check) : null,
    onInternalError: PROFILES.internalError[settings.profile],
    waiverUsers: settings.waiverUsers ?? [],
    waiverGroups: settings.waiverGroups ?? [],
    allowedAccounts: settings.allowedAccounts,
    ...controllersOf(settings.controllerUsers),
    capaServiceAccounts: settings.capaServiceAccounts ?? SETTINGS.capaServiceAccounts.default,
    clusterAPIServiceAccounts: settings.clusterApiServiceAccounts ?? [],
    identitySecretNamespace: settings.identitySecretNamespace ?? null,
    tenantLabels: settings.tenantLabels,
    allowedEndpointHosts: settings.allowedEndpointHosts,
    teamLevelCARM: settings.teamLevelCarm,
    serviceLevelCARM: settings.serviceLevelCarm,
    isWebhookInstalled: settings.noWebhook !== true,
    isInputComplete: settings.complete === true,
    injection: injectionSettings(settings),
    without: leftOut(settings),
  };
}

/** Returns the features that the flags leave out. */
export function leftOut({ noCapa = false }: Partial<Pick<SettingsFor<"webhook">, "noCapa">>): ReadonlySet<Feature> {
  return new Set<Feature>(noCapa ? ["capa"] : []);
}

/** Returns the namespaces of the installation, or the default of the manifests if none is known. */
function namespacesOf(
  names: readonly (string | null)[],
): Pick<DecisionSettings, "installationNamespaces" | "profileNamespaces"> {
  const known = [...new Set(names.filter((name) => name !== null))];
  return known.length > 0
    ? { installationNamespaces: known, profileNamespaces: known }
    : { installationNamespaces: [SETTINGS.namespace.defaults.manifests], profileNamespaces: null };
}

/** What is known of an object that is a template in another object, such as a ResourceGraphDefinition of kro. */
export interface TemplateContext {
  /** Whether a controller creates the object again for each instance, in the same cluster. */
  readonly isRepeated: boolean;
  /** Whether something else sets the field, a field that it is in, or a field in it. */
  readonly isOpen: (path: FieldPath) => boolean;
}
