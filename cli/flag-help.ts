import type { Command, SettingName } from "../shared/decisions/settings.ts";

/** The help of a flag that has a different meaning for some commands. */
interface HelpByCommand {
  readonly general: string;
  readonly commands: Readonly<Partial<Record<Command, string>>>;
}

/** The help of each flag: a phrase without a full stop at its end. */
const FLAG_HELP: Readonly<Record<SettingName, string | HelpByCommand>> = {
  from: {
    general: "manifest file or folder to read, or - for standard input",
    commands: { impact: "manifest file or folder that contains the current state, or - for standard input" },
  },
  cluster: "read the objects of a live cluster instead of manifests",
  kubeconfig: "kubeconfig file for --cluster (default: KUBECONFIG, ~/.kube/config or the Pod's service account)",
  context: "kubeconfig context to use",
  mode: "where controllers find the role of a resource: in IAMRoleSelectors, or in the legacy CARM ConfigMaps",
  teamLevelCarm: "the feature gate TeamLevelCARM of the controllers is on; affects only CARM",
  serviceLevelCarm: "the feature gate ServiceLevelCARM of the controllers is on; affects only CARM",
  ackSystemNamespace: "namespace that contains the ACK controllers and the CARM ConfigMaps",
  runtime: "selector features to support: ack supports those of shipped ACK controllers, extended all documented "
    + "features",
  region: "AWS region of the controllers and of STS",
  controllerAccount: "AWS account ID of the controllers' own role",
  controllerRole: "ARN of the controllers' own role",
  allowedAccounts: "AWS account ID that roles may have (default: any account)",
  controllerServiceAccounts: "service account of an ACK controller",
  tenantLabels: "key of a namespace label that tenants may set",
  allowedEndpointHosts: "host that the endpoint-url annotation of a namespace may contain (default: any host)",
  watchNamespace: "namespace that the controllers watch (default: all namespaces)",
  watchSelectors: "label selector of the resources that the controllers watch",
  check: {
    general: "set the severity of a check",
    commands: {
      sidecar: "with IRS-27=warn, the sidecar test-assumes each granted role and logs a warning if STS rejects the "
        + "call; other checks do not affect the sidecar",
    },
  },
  waiverUsers: "user who may waive checks with an annotation",
  onInternalError: "what to do with an object whose review fails with an internal error or exceeds the deadline",
  waiverGroups: "group whose members may waive checks with an annotation",
  output: {
    general: "output format: text for people, or stable JSON",
    commands: { lint: "output format: text for people, stable JSON, or SARIF 2.1.0 for code scanners" },
  },
  complete: "the manifests contain every namespace and every CRD of the cluster: report names that do not exist",
  noWebhook: "the webhook is not installed: report what the API server rejects without it as denied",
  failOn: "minimum severity of a finding that sets the exit status to 1",
  namespace: {
    general: "namespace of the resource that --kind describes, and of manifests that set no namespace",
    commands: {
      manifests: "namespace of the installation",
      "credential-process": "namespace of the resource; requires --kind",
    },
  },
  label: "label of the resource that --kind describes",
  explain: "print for each selector why it selects or does not select the resource",
  delete: "show what changes if the objects in the manifests are deleted",
  tlsDir: "folder that contains tls.crt and tls.key; the webhook reloads the files when they change",
  clientCaFile: "file that contains the CA certificates of the API server's client certificate; requires --client-name "
    + "(default: any client may send reviews)",
  clientName: "common name of the API server's client certificate; requires --client-ca-file",
  listen: {
    general: "address to listen on",
    commands: { sidecar: "loopback address to listen on" },
  },
  healthListen: "address of /healthz, /readyz, /startupz and /metrics",
  group: "API group of the controller that this sidecar serves, such as s3.services.k8s.aws",
  kind: {
    general: "kind of the resource, such as Bucket.s3.services.k8s.aws; the resource need not exist",
    commands: { sidecar: "kind that the controller manages, such as Bucket.s3.services.k8s.aws (default: all kinds)" },
  },
  scopeNamespace: "grant only roles that resources in this namespace resolve to",
  token: "token that clients must send (for local use only)",
  tokenFile: {
    general: "file that contains the token that clients must send; created if missing or empty, reloaded on change",
    commands: { "credential-process": "token file of the running sidecar" },
  },
  endpoint: "URL of a running sidecar, such as http://127.0.0.1:9780",
  selector: "name of the IAMRoleSelector whose role to use",
  stateDir: "in-memory folder that only the sidecar uses; /sts accepts credentials issued before a restart",
  stsEndpoint: "URL of an STS endpoint; requires https, except on loopback (default: the endpoint of --region)",
  unmatched: "credentials for a resource that no selector selects (default: base; with --scope-namespace: deny)",
  base: "vend issues the sidecar's own credentials to clients; identity-only issues keys that only /sts accepts "
    + "(default: vend if the sidecar's own credentials have a session token)",
  sessionName: "name of each STS session",
  maxStaleness: "maximum age of the inventory; above it, the server is unready",
  logLevel: "minimum log level; logs are JSON lines on standard error",
  webhookListen: "address of the webhook",
  webhookHealthListen: "address of the webhook's health and metrics endpoints",
  sidecarListen: "address of the sidecar",
  sidecarHealthListen: "address of the sidecar's health and metrics endpoints",
  stsListen: "address of the embedded STS emulator",
  dir: "folder for ca.crt, tls.crt and tls.key",
  host: "DNS name or IP address that the certificate is valid for",
  force: "replace existing certificates",
  url: "URL of a webhook that runs outside the cluster (default: the webhook's Service in the cluster)",
  caFile: "file that contains the CA certificate that signed the webhook's certificate",
  ownCrd: "print this project's CRD, which replaces the CRD of ACK's charts (see docs/crd.md)",
  accessReviews: "allow the webhook to create SubjectAccessReviews, which checks ACK-09 and NS-02 require",
  extraGroups: "additional ACK API group, for a group that this release does not know",
};

/** Returns the help of a flag for one command. */
export function flagHelp(name: SettingName, command: Command): string {
  const help = FLAG_HELP[name];
  return typeof help === "string" ? help : (help.commands[command] ?? help.general);
}

/** Returns the help of a flag for all commands. The name of a command precedes the help that applies only to it. */
export function combinedHelp(name: SettingName): string {
  const help = FLAG_HELP[name];
  if (typeof help === "string") return help;
  return [help.general, ...Object.entries(help.commands).map(([command, text]) => `${command}: ${text}`)].join("; ");
}
