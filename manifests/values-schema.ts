import { CHECK_VALUE } from "../shared/judges.ts";

// The JSON Schema of the values of the Helm chart. Helm reports each invalid value with its path.
import {
  choicesOf, type Definition, HTTPS_URL, IMAGE, IMAGE_PARTS, NAMESPACE as NAMESPACE_NAME, OBJECT_NAME,
  RESERVED_VARIABLES, SIDECAR_ARGUMENT, USE_PROXY, VARIABLE_NAME, VARIABLE_VALUE,
} from "../shared/core/setting-definition.ts";
import { PROFILE_NAMES } from "../shared/core/profiles.ts";
import { DEFINITIONS, type SettingName } from "../shared/core/settings.ts";
import { labelsOf } from "../shared/core/installation.ts";
import { TIMEOUT_SECONDS } from "./webhooks.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Settings that the chart sets, and settings that do not apply in a cluster. */
const NOT_IN_VALUES: ReadonlySet<SettingName> = new Set([
  "ackSystemNamespace", "profile", "runtime", "extraGroups", "tlsDir", "namespace", "listen",
  "autoControllerIdentity",
  "healthListen", "from", "cluster", "kubeconfig", "context", "sidecarImage", "sidecarArgs",
  "sidecarEnv", "sidecarCaConfigMap", "sidecarRunAsUser",
  "identitySecretNamespace", "noCapa",
]);

const TEXT = { type: "string" };
const BOOLEAN = { type: "boolean" };
const COUNT = { type: "integer", minimum: 1 };
const TEXTS_BY_NAME = { type: "object", additionalProperties: TEXT };
/** Objects whose fields Kubernetes defines and checks. */
const KUBERNETES_OBJECT = { type: "object" };
const KUBERNETES_LIST = { type: "array", items: KUBERNETES_OBJECT };
/** Environment variables, volumes or mounts. */
const NAMED_LIST = {
  type: "array", items: { type: "object", properties: { name: TEXT, value: TEXT }, required: ["name"] },
};
const NAME = { type: "string", pattern: OBJECT_NAME.regexp };
const NAMESPACE = { type: "string", pattern: NAMESPACE_NAME.regexp };
const NAMESPACES = { type: "array", items: NAMESPACE };
const EXTRA_GROUP = { type: "string", pattern: "^[a-z0-9-]+\\.services\\.k8s\\.aws$" };
const SIDECAR_ARGUMENT_SCHEMA = { type: "string", pattern: SIDECAR_ARGUMENT.regexp };
/** The schema of the values that `--sidecar-env` accepts. Helm's regular expressions have no lookahead. */
const SIDECAR_VARIABLE_SCHEMA = record({
  name: {
    type: "string", pattern: `^${VARIABLE_NAME}$`,
    anyOf: [{ const: USE_PROXY }, { not: { pattern: `^${RESERVED_VARIABLES}` } }],
  },
  value: { type: "string", pattern: `^${VARIABLE_VALUE}$` },
});
/** The user of a container; null leaves it to the cluster. */
const USER = { type: ["integer", "null"], minimum: 1, maximum: 1_999_999_999 };
const CIDR = { type: "string", pattern: "^[0-9A-Fa-f.:]+/[0-9]{1,3}$" };
/** The labels that the chart sets, with which tools find the objects of a release, and Services their Pods. */
const OWN_LABELS = [
  ...Object.keys(labelsOf("webhook")), "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart",
];
/** The names of labels of Kubernetes, and their values. */
const LABELS = {
  type: "object", properties: Object.fromEntries(OWN_LABELS.map((name) => [name, false])),
  patternProperties: {
    "^([-a-z0-9.]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$": {
      type: "string", pattern: "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$",
    },
  },
  additionalProperties: false,
};
/** The start of the names of workloads. With `-certificates`, it fits into the name of a Service. */
const WORKLOAD_NAME = "^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$";
/** A port that a user other than root may open. */
const PORT = { type: "integer", minimum: 1024, maximum: 65_535 };
const COUNT_OR_PERCENTAGE = { type: ["integer", "string", "null"], minimum: 0, pattern: "^[0-9]+%$" };
/** The access reviews of the webhook have a third of the default. */
const TIMEOUT = { type: "integer", minimum: TIMEOUT_SECONDS, maximum: 30 };

/** Returns the schema of values.yaml. */
export function valuesSchema(): Schema {
  const required = {
    ackSystemNamespace: NAMESPACE,
    runtime: { enum: ["ack", "extended"] },
    profile: { enum: PROFILE_NAMES },
    reconciling: BOOLEAN,
    capa: record({ enabled: BOOLEAN }),
    autoControllerIdentity: record({ enabled: BOOLEAN }, { namespaces: NAMESPACES }),
    injection: record({ enabled: BOOLEAN }, {
      image: optional(IMAGE.regexp), args: { type: "array", items: SIDECAR_ARGUMENT_SCHEMA },
      extraEnv: { type: "array", items: SIDECAR_VARIABLE_SCHEMA }, caConfigMap: optional(OBJECT_NAME.regexp),
      runAsUser: USER,
    }),
    settings: {
      ...record({}, Object.fromEntries(settingSchemas())),
      dependencies: { clientCaFile: ["clientName"], clientName: ["clientCaFile"] },
    },
    certificates: CERTIFICATES,
    webhook: WEBHOOK,
    serviceAccountIdentityCRD: BOOLEAN,
    identityRoles: BOOLEAN,
    policies: record({ enabled: BOOLEAN }),
    webhookConfigurations: record(
      { failurePolicy: { enum: ["auto", "Fail", "Ignore"] }, timeoutSeconds: TIMEOUT },
      { excludedNamespaces: NAMESPACES },
    ),
    monitoring: MONITORING,
    ...REQUIRED_BY_WORKLOAD,
  };
  const others = {
    // Helm passes the values `global` and `enabled` of a parent chart. A disabled dependency is not rendered.
    global: KUBERNETES_OBJECT,
    enabled: { const: true },
    accessReviews: { type: ["boolean", "null"] },
    extraGroups: { type: "array", items: EXTRA_GROUP },
    identitySecretNamespace: optional(NAMESPACE.pattern),
    fullnameOverride: optional(WORKLOAD_NAME),
    nameOverride: optional(WORKLOAD_NAME),
    commonLabels: LABELS,
    ...OPTIONAL_IN_WORKLOAD,
  };
  return {
    $schema: "http://json-schema.org/draft-07/schema#", title: "Values of the chart ack-role-resolver",
    ...record(required, others),
  };
}

/**
 * Returns the schema of an object. Helm deletes a default if a user sets the value to null. So each property whose
 * default is not empty is required: without it, the templates would render an invalid object, or drop a restriction.
 */
function record(required: Schema, others: Schema = {}): Schema {
  const names = Object.keys(required);
  return {
    type: "object", properties: { ...required, ...others }, ...(names.length > 0 && { required: names }),
    additionalProperties: false,
  };
}

/** Returns the schema of a text that is empty or matches the pattern. */
function optional(pattern: string): Schema {
  return { type: "string", pattern: `^$|${pattern}` };
}

const CERTIFICATES = {
  ...record({ mode: { enum: ["self-signed", "cert-manager", "files"] }, secretName: NAME }, {
    caBundle: TEXT,
    resources: KUBERNETES_OBJECT,
    issuerRef: {
      ...record({}, { group: TEXT, kind: TEXT, name: NAME }), dependencies: { group: ["name"], kind: ["name"] },
    },
  }),
  ...requiresCA({ mode: { const: "files" } }),
};

/** A webhook outside the cluster. */
const WEBHOOK = {
  ...record({}, { url: optional(HTTPS_URL.regexp), caBundle: TEXT }), ...requiresCA({ url: { minLength: 1 } }),
};

/** Requires `caBundle` if the properties have these values. */
function requiresCA(properties: Schema): Schema {
  return {
    if: { properties, required: Object.keys(properties) },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: {
      properties: { caBundle: { type: "string", pattern: "-----BEGIN CERTIFICATE-----" } }, required: ["caBundle"],
    },
  };
}

const DURATION = optional("^([0-9]+(ms|s|m|h))+$");
const MONITOR = record({ enabled: BOOLEAN }, { interval: DURATION, labels: LABELS });
const MONITORING = record({
  serviceMonitor: MONITOR, podMonitor: MONITOR, sidecarPodMonitor: MONITOR,
  prometheusRule: record({ enabled: BOOLEAN }, { labels: LABELS, runbookURL: optional("^https?://[^\\s#\"'$]+$") }),
  dashboard: record({ enabled: BOOLEAN, labels: LABELS }, { annotations: TEXTS_BY_NAME }),
});

const ROLLING_UPDATE = { maxSurge: COUNT_OR_PERCENTAGE, maxUnavailable: COUNT_OR_PERCENTAGE };
const UPDATE_STRATEGY = {
  ...record({}, { type: { enum: ["RollingUpdate", "Recreate"] }, rollingUpdate: record({}, ROLLING_UPDATE) }),
  dependencies: { rollingUpdate: { properties: { type: { const: "RollingUpdate" } }, required: ["type"] } },
};

/** Values of the Deployment and the objects that belong to it, whose defaults are not empty. */
const REQUIRED_BY_WORKLOAD: Schema = {
  replicas: COUNT,
  image: record(
    {
      repository: { type: "string", pattern: `^${IMAGE_PARTS.repository}$` },
      pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
    },
    {
      registry: optional("^[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]{1,5})?$"),
      tag: optional(`^${IMAGE_PARTS.tag}$`), digest: optional(`^${IMAGE_PARTS.digest}$`),
    },
  ),
  serviceAccount: record({ create: BOOLEAN }, { name: optional(OBJECT_NAME.regexp), annotations: TEXTS_BY_NAME }),
  hostNetwork: BOOLEAN,
  dualStack: BOOLEAN,
  ports: record({ webhook: PORT, health: PORT }),
  heapMiB: { type: "integer", minimum: 64 },
  podDisruptionBudget: record(
    { enabled: BOOLEAN }, { minAvailable: COUNT_OR_PERCENTAGE, maxUnavailable: COUNT_OR_PERCENTAGE },
  ),
  networkPolicy: record(
    {
      enabled: BOOLEAN,
      apiServer: record(
        { ports: { type: "array", items: { type: "integer", minimum: 1, maximum: 65_535 }, minItems: 1 } },
        { cidrs: { type: "array", items: CIDR } },
      ),
    },
    { extraEgress: KUBERNETES_LIST },
  ),
};

const OPTIONAL_IN_WORKLOAD: Schema = {
  imagePullSecrets: { type: "array", items: record({ name: NAME }) },
  dnsPolicy: { enum: ["", "ClusterFirst", "ClusterFirstWithHostNet", "Default"] },
  updateStrategy: UPDATE_STRATEGY,
  deploymentAnnotations: TEXTS_BY_NAME,
  serviceAnnotations: TEXTS_BY_NAME,
  podAnnotations: TEXTS_BY_NAME,
  podLabels: LABELS,
  extraEnv: NAMED_LIST,
  extraVolumes: NAMED_LIST,
  extraVolumeMounts: NAMED_LIST,
  resources: KUBERNETES_OBJECT,
  podSecurityContext: KUBERNETES_OBJECT,
  securityContext: KUBERNETES_OBJECT,
  extraObjects: { type: "array", items: { type: "object", required: ["apiVersion", "kind"] } },
  priorityClassName: TEXT,
  nodeSelector: TEXTS_BY_NAME,
  tolerations: KUBERNETES_LIST,
  affinity: KUBERNETES_OBJECT,
  topologySpreadConstraints: { type: ["array", "null"], items: KUBERNETES_OBJECT },
};

/** Returns the schema of each flag of the webhook that `settings` can set. */
function settingSchemas(): (readonly [SettingName, Schema])[] {
  const own = DEFINITIONS.filter(([name, { commands }]) => commands.includes("webhook") && !NOT_IN_VALUES.has(name));
  return own.map(([name, definition]) => [name, settingSchema(name, definition)]);
}

function settingSchema(name: SettingName, definition: Definition): Schema {
  const { type } = definition;
  if (type === "boolean") return BOOLEAN;
  const choices = choicesOf(definition, "webhook");
  const pattern = name === "check" ? CHECK_VALUE : definition.pattern?.regexp;
  // Helm's regular expressions have no lookahead. The webhook checks these values when it starts.
  const isSupported = pattern !== undefined && !/\(\?[=!]/.test(pattern);
  const text = { ...TEXT, minLength: 1, ...(choices && { enum: choices }), ...(isSupported && { pattern }) };
  return type === "strings" ? { type: "array", items: text } : text;
}
