import { type Command, COMMANDS } from "../shared/core/setting-definition.ts";
import { OF_SELECTORS, REVIEWERS } from "../shared/core/trust-settings.ts";
import { JUDGES, OFFLINE, type SettingName } from "../shared/core/settings.ts";
import { FEATURES } from "./features.ts";
import { type FlagGroup, type FlagHelp, help, rare, rareIn } from "./help-rows.ts";

const MODE = "where controllers find the role of a resource: in IAMRoleSelectors, or in the legacy CARM ConfigMaps";

const MODE_OF_DEPLOYMENTS = `${MODE} (default: as in their Deployments, else selectors)`;

/** Returns the help for the commands that read the Deployments of the controllers. */
function ofReaders(gate: string): Partial<Record<Command, string>> {
  const text = `whether the feature gate ${gate} of the controllers is on (default: as in their Deployments)`;
  return { audit: text, why: text, "migrate carm": text };
}

const WITHOUT_MIGRATION = COMMANDS.filter((command) => command !== "migrate carm");
const LEVELS = "debug is --verbose, error is --quiet";
const OFFLINE_LOG = {
  lint: LEVELS, resolve: LEVELS, why: LEVELS, audit: LEVELS, map: LEVELS, impact: LEVELS, "migrate carm": LEVELS,
} as const;

const OF_SIDECAR = "session name of the sidecar";

const REPORTS = "output format: text for people, stable JSON, SARIF 2.1.0 for code scanners, or JUnit XML for CI";

/** The heading and the help of each flag. A help text is a phrase without a full stop at its end. */
const FLAG_HELP: Partial<Readonly<Record<SettingName, FlagHelp>>> = {
  from: help(
    "Input", "manifest file or folder to read, or - for standard input",
    { impact: "manifest file or folder that contains the current state, or - for standard input" },
  ),
  root: rare(
    "Input", "folders that are clusters of their own, such as clusters/*; default: siblings with the same objects",
  ),
  ignore: rareIn(
    [...OF_SELECTORS, "why"], "Input",
    "what to ignore in the folders, in the syntax of .gitignore",
  ),
  skipUnreadable: rare("Input", "skip unreadable files and objects with a warning, instead of exiting with status 2"),
  allowEmpty: rare("Input", "accept input that contains no Kubernetes object, instead of exiting with status 2"),
  maxDocuments: rare("Input", "largest number of YAML documents in a file or on standard input"),
  capaVersion: rare("Input", "version of CAPA that stores identities (default: of its Deployment, or the latest)"),
  cluster: help("Input", "read a live cluster instead of manifests"),
  kubeconfig: rareIn(
    ["webhook", "sidecar"], "Input",
    "kubeconfig file (default: KUBECONFIG, ~/.kube/config or the Pod's service account)",
  ),
  context: rare("Input", "kubeconfig context to use"),
  mode: rare("Decisions", MODE, { audit: MODE_OF_DEPLOYMENTS, why: MODE_OF_DEPLOYMENTS }),
  teamLevelCarm: rareIn(
    WITHOUT_MIGRATION, "Decisions", "the feature gate TeamLevelCARM of the controllers is on",
    ofReaders("TeamLevelCARM"),
  ),
  serviceLevelCarm: rareIn(
    WITHOUT_MIGRATION, "Decisions", "the feature gate ServiceLevelCARM of the controllers is on",
    ofReaders("ServiceLevelCARM"),
  ),
  ackSystemNamespace: rare("Decisions", "namespace that contains the ACK controllers and the CARM ConfigMaps"),
  runtime: rare(
    "Decisions", "features to support: ack stands for those of shipped controllers, extended also for those of their "
      + "proposals",
  ),
  region: rareIn(OFFLINE, "Decisions", "AWS region of the controllers and of STS"),
  controllerAccount: rareIn(
    [...JUDGES, "why", "webhook", "sidecar"], "Decisions", "AWS account ID of the controllers' own role",
  ),
  controllerRole: rareIn([...OFFLINE, "sidecar"], "Decisions", "ARN of the controllers' own role"),
  allowedAccounts: rareIn(
    ["resolve", "why", "sidecar"], "Checks", "AWS account that roles may belong to (default: any account)",
  ),
  capaServiceAccounts: rare(
    "Checks", "service account of Cluster API Provider AWS, whose changes of identities and clusters only cause "
      + "warnings",
  ),
  clusterApiServiceAccounts: rare(
    "Checks", "service account of a controller of Cluster API, which needs no right to create machines (AC-05)",
  ),
  controllerUsers: rare(
    "Checks", "ACK controller: NS/NAME of its service account, or a user name, in which * stands for any characters",
  ),
  tenantLabels: rare("Checks", "key of a namespace label that tenants may set"),
  allowedEndpointHosts: rare(
    "Checks", "host that the endpoint-url annotation of a namespace may contain (default: any host)",
  ),
  complete: rare(
    "Checks",
    "assume that the manifests contain every namespace and every CRD of the cluster, and report names that they lack",
  ),
  noWebhook: rare(
    "Checks", "assume that the webhook is not installed, and deny selectors that the API server would reject",
  ),
  check: rareIn(
    ["resolve", "why", "sidecar"], "Checks", "set the severity of a check",
    {
      sidecar: "with IRS-27=warn or CI-35=warn, the sidecar assumes each granted role of selectors or identities once "
        + "after its start, which fills its cache, and logs a warning if STS rejects the call; other checks do not "
        + "affect the sidecar",
    },
  ),
  waiverUsers: rare("Checks", "user who may waive checks with an annotation"),
  profile: rareIn(
    [...OFFLINE, "sidecar"], "Checks",
    "defaults of other settings: observe only warns, enforce denies what is malformed or dangerous, strict "
      + "also denies the controllers' own role and requires the verb `use`",
  ),
  waiverGroups: rare("Checks", "group whose members may waive checks with an annotation"),
  output: help(
    "Output", "output format: text for people, or stable JSON",
    {
      lint: REPORTS, audit: REPORTS,
      resolve: "output format: text that fits the terminal, wide text with selectors, ARNs and regions, or stable JSON",
      impact: "output format: text that fits the terminal, wide text with complete values, stable JSON, or Markdown "
        + "for a comment on a pull request",
    },
  ),
  failOn: rareIn(
    ["resolve", "impact"], "Output", "what sets the exit status to 1: denials always do, unjudged objects if listed",
  ),
  only: help(
    "Output", "report only objects with this namespace, kind or label, such as label=tier=gold",
    {
      resolve: "report only resources with this namespace, kind, label, account, selector or outcome, such as "
        + "outcome=conflict",
      impact: "report only changes of resources with this namespace, kind, account, selector or outcome, such as "
        + "kind=Bucket",
    },
  ),
  namespace: help(
    "Input", "namespace of manifests that set none (default: default); with --cluster, report only its objects",
    {
      resolve: "namespace of the resource that --kind describes, and of manifests that set none (default: default); "
        + "with --cluster, report only its objects",
      why: "namespace of the resource (default: that of the kubeconfig context, or default)",
      impact: "namespace of manifests that set none (default: default)",
      "migrate carm": "namespace of manifests that set none (default: default)",
      manifests: "namespace of the installation", "certs manage": "namespace of the installation",
      webhook: "namespace of the installation: the replica that holds its Lease updates stale annotations and writes "
        + "Events; requires --cluster (default: no replica does)",
      "credential-process": "namespace of the resource, or of the object that uses the identity",
    },
    {
      manifests: "Installation", "certs manage": "Certificates", webhook: "Webhook",
      "credential-process": "Resource",
    },
  ),
  label: help("Resource", "label of the resource that --kind describes"),
  explain: help(
    "Output", "print what selects the resource and what nearly does; -v explains all selectors",
  ),
  fix: help("Output", "repair files where only one value can be meant"),
  dryRun: help("Output", "print the diff of --fix, and write nothing"),
  delete: help("Input", "show what changes if the manifests are deleted"),
  tlsDir: help("Webhook", "folder that contains tls.crt and tls.key; reloaded on change"),
  clientCaFile: rare(
    "Webhook", "CA certificates of the API server's client certificate; requires --client-name (default: any client "
      + "may send reviews)",
  ),
  clientName: rare("Webhook", "common name of the API server's client certificate"),
  autoControllerIdentity: rare(
    "Webhook", "create the AWSClusterControllerIdentity default of CAPA while it does not exist, for the listed "
      + "namespaces, or none; requires --namespace",
  ),
  noCapa: rare(
    "Webhook", "leave Cluster API Provider AWS out: do not read its identities and clusters, and admit all of them",
  ),
  listen: help("Server", "address to listen on", {
    sidecar: "loopback address to listen on",
    local: "first of six addresses: of the sidecar, its health, STS, the webhook, its health and the role map, on "
      + "consecutive ports",
  }),
  healthListen: rare("Server", "address of /healthz, /readyz, /startupz and /metrics"),
  group: rareIn(
    ["trust policy"], "Grants", "API group of the controller that this sidecar serves, such as s3.services.k8s.aws",
    { "trust policy": "print what the controller of this API group needs at most: the session scope service" },
    { "trust policy": "Question" },
  ),
  kind: help(
    "Resource", "kind of the resource, such as Bucket.s3.services.k8s.aws; the resource need not exist",
    { sidecar: "kind that the controller manages, such as Bucket.s3.services.k8s.aws (default: all kinds)" },
    { sidecar: "Grants" },
  ),
  identitySecretNamespace: rare("Grants", "namespace of the Secrets of AWSClusterStaticIdentities (checked by CI-10)"),
  allowedAudiences: rare("Grants", "audience of the tokens that AWSServiceAccountIdentities may request"),
  scopeNamespace: rare("Grants", "grant only roles that resources in this namespace resolve to"),
  tokenFile: help(
    "Credentials", "token file that the sidecar shares with clients; created if missing or empty, reloaded on change",
    { "credential-process": "token file of the running sidecar" },
  ),
  endpoint: help("Credentials", "URL of a running sidecar, such as http://127.0.0.1:9780"),
  selector: help("Resource", "name of the IAMRoleSelector whose role to use"),
  identity: help("Resource", "identity of CAPA to use in --namespace, such as AWSClusterRoleIdentity/team-a"),
  stateDir: help(
    "Credentials", "in-memory folder that only the sidecar uses; lets /sts accept credentials after a restart",
  ),
  stsEndpoint: rare(
    "Credentials", "URL of an STS endpoint; requires https, except on loopback (default: the endpoint of --region)",
  ),
  profileNamespace: rare(
    "Grants", "namespace of the installation, whose profile the sidecar also applies, and follows while it runs",
  ),
  unmatched: help(
    "Grants", "credentials for a resource that no selector selects (default: base; with --scope-namespace: deny)",
  ),
  base: help(
    "Grants", "vend issues the sidecar's own credentials to clients; identity-only issues keys that only /sts "
      + "accepts (default: vend if the sidecar's own credentials have a session token)",
  ),
  sessionScope: rare(
    "Grants", "service limits each session to what its controller needs; none leaves it what the role may (default: "
      + "service with --profile strict, else none)",
  ),
  sessionName: rareIn(
    ["sidecar", "trust", ...REVIEWERS], "Credentials", "name of each STS session",
    {
      trust: OF_SIDECAR, lint: OF_SIDECAR, audit: OF_SIDECAR, impact: OF_SIDECAR,
      "trust check": "session name that the call sends",
    },
    { trust: "Question", "trust check": "Question" },
  ),
  defaultExternalId: rare("Credentials", "external ID for the role of each selector without one of its own"),
  defaultSourceIdentity: rare("Credentials", "source identity for the role of each selector without one of its own"),
  defaultSessionTags: rare(
    "Credentials", "session tag for the role of each selector, such as team={namespace}; a selector can override it",
  ),
  logLevel: rareIn(OFFLINE, "Server", "minimum log level; logs are JSON lines on standard error", OFFLINE_LOG, {
    lint: "Output", resolve: "Output", why: "Output", audit: "Output", map: "Output", impact: "Output",
    "migrate carm": "Output",
  }),
  dir: help("Certificates", "folder for ca.crt, tls.crt and tls.key"),
  host: help("Certificates", "DNS name or IP address that the certificate is valid for"),
  url: rareIn(
    ["webhook"], "Installation",
    "URL of a webhook that runs outside the cluster (default: the webhook's Service in the cluster)",
    {
      webhook: "URL that the API server calls; the certificate of --tls-dir is verified for its host (default: the "
        + "webhook's Service)",
      "certs manage": "URL that the API server calls; the certificate is valid for its host (default: the webhook's "
        + "Service)",
    },
    { webhook: "Webhook", "certs manage": "Certificates" },
  ),
  caFile: help("Installation", "file with the CA certificate that signed the webhook's certificate"),
  sidecarImage: help("Webhook", "image of injected sidecars; without it, the webhook injects no sidecar"),
  sidecarArgs: rare("Webhook", "flag of injected sidecars, such as --base=identity-only"),
  sidecarEnv: rare(
    "Webhook", "environment variable of injected sidecars, such as HTTPS_PROXY=http://proxy.example:3128",
  ),
  sidecarCaConfigMap: rare(
    "Webhook", "ConfigMap in the namespace of each Pod whose key ca.crt contains further CAs that injected sidecars "
      + "trust for AWS endpoints",
  ),
  sidecarRunAsUser: rare(
    "Webhook", "user ID of injected sidecars; none leaves it to the cluster, as the SCCs of OpenShift require",
  ),
  extraGroups: rare("Input", "ACK API group that this release does not know"),
};

function helpOf(name: SettingName): FlagHelp | undefined {
  return FLAG_HELP[name] ?? FEATURES.map(({ help: rows }) => rows?.[name]).find((row) => row !== undefined);
}

/** Returns whether the program has the flag. It lacks those of features that it lacks. */
export function hasHelp(name: SettingName): boolean {
  return helpOf(name) !== undefined;
}

/** Returns the help of a flag for one command. */
export function flagHelp(name: SettingName, command: Command): string {
  const row = helpOf(name);
  return row?.commands[command] ?? row?.general ?? "";
}

/** Returns the heading under which the help of a command lists a flag. */
export function flagGroup(name: SettingName, command: Command): FlagGroup {
  const row = helpOf(name);
  return row?.groups[command] ?? row?.group ?? "Output";
}

export function isRare(name: SettingName, command: Command): boolean {
  return helpOf(name)?.rareIn?.includes(command) === true;
}
