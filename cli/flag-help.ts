import type { Command, SettingName } from "../shared/decisions/settings.ts";

/** Help of a flag that means something else to some commands. */
interface HelpByCommand {
  readonly general: string;
  readonly commands: Readonly<Partial<Record<Command, string>>>;
}

/** The help of each flag: a phrase without a full stop. */
const FLAG_HELP: Readonly<Record<SettingName, string | HelpByCommand>> = {
  from: {
    general: "read manifests from a file, a folder or - (standard input)",
    commands: { impact: "read the current state from a manifest file, a folder or - (standard input)" },
  },
  cluster: "read a live cluster instead of manifests",
  kubeconfig: "kubeconfig file for --cluster (default: KUBECONFIG, ~/.kube/config or the Pod's service account)",
  context: "kubeconfig context to use",
  mode: "source of a resource's role: IAMRoleSelectors, or the legacy CARM ConfigMaps",
  teamLevelCarm: {
    general: "with --mode carm: the controllers run with the feature gate TeamLevelCARM",
    commands: { "migrate carm": "the controllers run with the feature gate TeamLevelCARM" },
  },
  serviceLevelCarm: {
    general: "with --mode carm: the controllers run with the feature gate ServiceLevelCARM",
    commands: { "migrate carm": "the controllers run with the feature gate ServiceLevelCARM" },
  },
  ackSystemNamespace: "namespace of the ACK controllers and their CARM ConfigMaps",
  runtime: "selector features: those of shipped ACK controllers, or all documented ones (not supported by shipped "
    + "controllers)",
  region: "AWS region of the controllers and of STS",
  controllerAccount: "AWS account of the controllers' own role",
  controllerRole: "ARN of the controllers' own role",
  allowedAccounts: "AWS account that roles may be in (default: any account)",
  controllerServiceAccounts: "service account of an ACK controller",
  tenantLabels: "namespace label key that tenants may set",
  allowedEndpointHosts: "host that a namespace's endpoint-url annotation may name (default: any host)",
  watchNamespace: "namespace that the controllers watch (default: all namespaces)",
  watchSelectors: "label selector of the resources that the controllers watch",
  check: {
    general: "set the severity of a check",
    commands: {
      sidecar: "IRS-27=warn: test-assume each granted role and warn if STS rejects the call; other checks do not "
        + "change what the sidecar grants",
    },
  },
  waiverUsers: "user that may waive checks by annotation",
  waiverGroups: "group whose members may waive checks by annotation",
  output: {
    general: "output format: text for people, or stable JSON",
    commands: { lint: "output format: text for people, stable JSON, or SARIF 2.1.0 for code scanners" },
  },
  failOn: "lowest severity that makes the exit status 1",
  namespace: {
    general: "namespace of --kind, and of resources without a namespace",
    commands: {
      manifests: "namespace to install into",
      "credential-process": "namespace of the resource; requires --kind",
    },
  },
  label: "label of the resource that --kind describes",
  explain: "explain for each selector why it selects the resource or not",
  delete: "report the impact of deleting the manifests instead of applying them",
  tlsDir: "folder with tls.crt and tls.key; reloaded on change",
  listen: {
    general: "address to serve on",
    commands: { sidecar: "loopback address to serve on" },
  },
  healthListen: "address of /healthz, /readyz, /startupz and /metrics",
  group: "API group of the controller next to this sidecar, such as s3.services.k8s.aws",
  kind: {
    general: "kind of the resource, such as Bucket.s3.services.k8s.aws; the resource need not exist",
    commands: { sidecar: "kind that the controller manages, such as Bucket.s3.services.k8s.aws (default: all kinds)" },
  },
  scopeNamespace: "grant only roles that resolve in this namespace",
  token: "token that clients must send, for local use",
  tokenFile: {
    general: "token file shared with clients; created if missing or empty, reloaded on change",
    commands: { "credential-process": "token file of the sidecar" },
  },
  endpoint: "URL of a running sidecar, such as http://127.0.0.1:9780",
  selector: "IAMRoleSelector whose role to use",
  stateDir: "in-memory folder, private to the sidecar; sessions issued before a restart remain verifiable",
  stsEndpoint: "STS endpoint instead of the regional one; requires https, except on loopback",
  unmatched: "credentials for a resource that no selector selects (default: base; with --scope-namespace: deny)",
  base: "whether the sidecar issues its own session to clients (default: vend, if that session has a token)",
  sessionName: "STS session name",
  maxStaleness: "age of the inventory at which the server becomes unready",
  logLevel: "minimum log level; logs are JSON lines on standard error",
  webhookListen: "address of the webhook",
  webhookHealthListen: "address of the webhook's health and metrics endpoints",
  sidecarListen: "address of the sidecar",
  sidecarHealthListen: "address of the sidecar's health and metrics endpoints",
  stsListen: "address of the embedded STS emulator",
  dir: "folder for ca.crt, tls.crt and tls.key",
  host: "DNS name or IP address of the certificate",
  force: "replace existing certificates",
  url: "URL of a webhook outside the cluster, instead of a Service",
  caFile: "CA certificate that signed the webhook's certificate",
  accessReviews: "let the webhook create SubjectAccessReviews, which checks ACK-09 and NS-02 require",
  extraGroups: "ACK API group that this release does not know",
};

/** Returns the help of a flag for one command. */
export function flagHelp(name: SettingName, command: Command): string {
  const help = FLAG_HELP[name];
  return typeof help === "string" ? help : (help.commands[command] ?? help.general);
}

/** Returns the help of a flag for all commands, with a prefix where a command differs. */
export function combinedHelp(name: SettingName): string {
  const help = FLAG_HELP[name];
  if (typeof help === "string") return help;
  return [help.general, ...Object.entries(help.commands).map(([command, text]) => `${command}: ${text}`)].join("; ");
}
