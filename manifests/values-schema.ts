// The JSON Schema of the values of the Helm chart. Helm reports each invalid value with its path.
import { SIDECAR_ARGUMENT } from "../shared/decisions/setting-patterns.ts";
import { type Definition, MAX_COUNT } from "../shared/decisions/setting-definition.ts";
import { choicesOf, DEFINITIONS, type SettingName } from "../shared/decisions/settings.ts";
import { patternOf } from "../shared/server/settings.ts";
import { CERTIFICATE_MODES } from "./certificates.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Settings that the chart sets, and settings that do not apply in a cluster. */
const NOT_IN_VALUES: ReadonlySet<SettingName> = new Set([
  "ackSystemNamespace", "runtime", "extraGroups", "tlsDir", "tlsSecret", "lease", "policyReports", "listen",
  "autoControllerIdentity", "controllerIdentityNamespaces",
  "healthListen", "from", "cluster", "kubeconfig", "context", "sidecarImage", "sidecarArgs",
  "identitySecretNamespace",
]);

const TEXT = { type: "string" };
const BOOLEAN = { type: "boolean" };
const COUNT = { type: "integer", minimum: 1 };
const TEXTS_BY_NAME = { type: "object", additionalProperties: TEXT };
/** Objects whose fields Kubernetes defines and checks. */
const KUBERNETES_OBJECT = { type: "object" };
const KUBERNETES_LIST = { type: "array", items: KUBERNETES_OBJECT };
const NAMESPACE = { type: "string", pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" };
const SIDECAR_ARGUMENT_SCHEMA = { type: "string", pattern: SIDECAR_ARGUMENT.regexp };
const DURATION = { type: "string", pattern: "^[0-9]+(ms|s|m|h)$" };

/** Returns the schema of values.yaml. */
export function valuesSchema(): Schema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the chart ack-role-resolver",
    ...record({
      // Helm passes values of a parent chart.
      global: KUBERNETES_OBJECT,
      ackSystemNamespace: NAMESPACE,
      runtime: { enum: ["ack", "extended"] },
      extraGroups: { type: "array", items: { type: "string", pattern: "^[a-z0-9-]+\\.services\\.k8s\\.aws$" } },
      accessReviews: BOOLEAN,
      reconciling: BOOLEAN,
      policyReports: BOOLEAN,
      autoControllerIdentity: record({ enabled: BOOLEAN, namespaces: { type: "array", items: NAMESPACE } }),
      identitySecretNamespace: { type: "string", pattern: `^$|${NAMESPACE.pattern}` },
      injection: record({ enabled: BOOLEAN, image: TEXT, args: { type: "array", items: SIDECAR_ARGUMENT_SCHEMA } }),
      settings: record(Object.fromEntries(settingSchemas())),
      certificates: CERTIFICATES,
      policies: record({ enabled: BOOLEAN }),
      webhookConfigurations: record({ failurePolicy: { enum: ["auto", "Fail", "Ignore"] } }),
      ...WORKLOAD,
    }),
  };
}

function record(properties: Schema): Schema {
  return { type: "object", properties, additionalProperties: false };
}

const CERTIFICATES = {
  ...record({
    mode: { enum: CERTIFICATE_MODES },
    secretName: { type: "string", minLength: 1 },
    caBundle: TEXT,
    issuerRef: record({ group: TEXT, kind: TEXT, name: TEXT }),
  }),
  if: { properties: { mode: { const: "files" } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { properties: { caBundle: { type: "string", pattern: "-----BEGIN CERTIFICATE-----" } } },
};

/** The values of the Deployment and the objects that belong to it. */
const WORKLOAD: Schema = {
  replicas: COUNT,
  image: record({
    repository: { type: "string", minLength: 1 },
    tag: TEXT,
    digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
    pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
  }),
  imagePullSecrets: { type: "array", items: record({ name: TEXT }) },
  serviceAccount: record({ annotations: TEXTS_BY_NAME }),
  podAnnotations: TEXTS_BY_NAME,
  podLabels: TEXTS_BY_NAME,
  extraEnv: KUBERNETES_LIST,
  heapMiB: { type: "integer", minimum: 64 },
  resources: KUBERNETES_OBJECT,
  priorityClassName: TEXT,
  nodeSelector: TEXTS_BY_NAME,
  tolerations: KUBERNETES_LIST,
  affinity: KUBERNETES_OBJECT,
  topologySpreadConstraints: { type: ["array", "null"], items: KUBERNETES_OBJECT },
  podDisruptionBudget: record({ enabled: BOOLEAN, maxUnavailable: { type: ["integer", "string"] } }),
  networkPolicy: record({
    enabled: BOOLEAN,
    apiServer: record({
      cidrs: { type: "array", items: TEXT },
      ports: { type: "array", items: { type: "integer", minimum: 1, maximum: 65_535 }, minItems: 1 },
    }),
    extraEgress: KUBERNETES_LIST,
  }),
};

/** Returns the schema of each flag of the webhook that `settings` can set. */
function settingSchemas(): (readonly [SettingName, Schema])[] {
  const own = DEFINITIONS.filter(([name, { commands }]) => commands.includes("webhook") && !NOT_IN_VALUES.has(name));
  return own.map(([name, definition]) => [name, settingSchema(name, definition)]);
}

function settingSchema(name: SettingName, definition: Definition): Schema {
  const { type } = definition;
  if (type === "boolean") return BOOLEAN;
  if (type === "duration") return DURATION;
  if (type === "count") return { ...COUNT, maximum: MAX_COUNT };
  const choices = choicesOf(definition, "webhook");
  const pattern = patternOf(name, definition)?.regexp;
  // Helm's regular expressions have no lookahead. The webhook checks these values when it starts.
  const isSupported = pattern !== undefined && !/\(\?[=!]/.test(pattern);
  const text = { ...TEXT, minLength: 1, ...(choices && { enum: choices }), ...(isSupported && { pattern }) };
  return type === "strings" ? { type: "array", items: text } : text;
}
