import type { JsonObject } from "../formats/json.ts";
import { defaultOf } from "../core/setting-definition.ts";
import { SETTINGS } from "../core/settings.ts";
import { FULL_URI, METADATA_DISABLED, REGION, STS_ENDPOINT, TOKEN_FILE } from "../core/sdk-variables.ts";
import { INJECTED_FLAGS, SIDECAR_NAME } from "../core/sidecar-container.ts";
import type { InjectionSettings } from "../core/sidecar-settings.ts";

const LISTEN = String(defaultOf(SETTINGS.listen, "sidecar"));
const HEALTH_PORT = Number(String(defaultOf(SETTINGS.healthListen, "sidecar")).split(":").at(-1));
const TOKEN_DIR = "/run/ack-role-resolver";
const STATE_DIR = "/run/ack-role-resolver-state";
/** The token file that the controller reads. */
export const CONTROLLER_TOKEN_FILE = `${TOKEN_DIR}/token`;
const CA_DIR = "/run/ack-role-resolver-ca";
/** The key of the ConfigMap of `--sidecar-ca-config-map`. */
const CA_KEY = "ca.crt";
const TOKEN_VOLUME = "ack-role-resolver-token";
const STATE_VOLUME = "ack-role-resolver-state";
const CA_VOLUME = "ack-role-resolver-ca";
/** The volumes whose names are reserved, also those that the settings of the webhook do not add. */
export const RESERVED_VOLUMES: ReadonlySet<string> = new Set([TOKEN_VOLUME, STATE_VOLUME, CA_VOLUME]);

/** The variables with which the SDK of the controller uses the sidecar. */
export const CONTROLLER_VARIABLES: readonly JsonObject[] = [
  { name: FULL_URI, value: `http://${LISTEN}/v1/credentials` },
  { name: TOKEN_FILE, value: CONTROLLER_TOKEN_FILE },
  { name: STS_ENDPOINT, value: `http://${LISTEN}/sts` },
  { name: METADATA_DISABLED, value: "true" },
];

export const CONTROLLER_MOUNT: JsonObject = { name: TOKEN_VOLUME, mountPath: TOKEN_DIR, readOnly: true };

/**
 * Returns the volumes of the token, of the issued credentials and of the CA. Those with secrets are in memory, so that
 * no credential is on a disk.
 */
export function sidecarVolumes({ caConfigMap }: Pick<InjectionSettings, "caConfigMap">): readonly JsonObject[] {
  const items = [{ key: CA_KEY, path: CA_KEY }];
  return [
    { name: TOKEN_VOLUME, emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    { name: STATE_VOLUME, emptyDir: { medium: "Memory", sizeLimit: "16Mi" } },
    ...(caConfigMap === null ? [] : [{ name: CA_VOLUME, configMap: { name: caConfigMap, items } }]),
  ];
}

const REGION_FLAG = "--region=";
/** Kubernetes replaces the reference by the variable of the sidecar. */
export const REGION_REFERENCE = `$(${REGION})`;

interface SidecarOptions {
  readonly image: string;
  /** The API group of the controller. */
  readonly group: string;
  /** The variables and mounts that depend on the controller. */
  readonly env: readonly JsonObject[];
  readonly mounts: readonly JsonObject[];
}

/** The kubelet's probes arrive by IPv6 in a cluster without IPv4. Credentials are still handed out on loopback only. */
const DUAL_STACK = `${SETTINGS.healthListen.flag}=[::]:${HEALTH_PORT}`;

/** Node.js adds the CAs in this file to those that it trusts. */
const CA_VARIABLE: JsonObject = { name: "NODE_EXTRA_CA_CERTS", value: `${CA_DIR}/${CA_KEY}` };

/** Returns the container of the sidecar. */
export function sidecarContainer(
  { image, group, env: ofController, mounts }: SidecarOptions,
  { args, env: configured, caConfigMap, runAsUser, isDualStack }: InjectionSettings,
): JsonObject {
  const hasCA = caConfigMap !== null;
  const env = [...configured, ...(hasCA ? [CA_VARIABLE] : []), ...ofController];
  const hasRegion = args.some((one) => one.startsWith(REGION_FLAG));
  const { cluster, group: groupFlag, tokenFile, stateDir } = INJECTED_FLAGS;
  return {
    name: SIDECAR_NAME,
    image,
    // A native sidecar: Kubernetes starts the controller after the startup probe succeeds.
    restartPolicy: "Always",
    args: [
      "sidecar", cluster, `${groupFlag}=${group}`, ...(hasRegion ? [] : [`${REGION_FLAG}${REGION_REFERENCE}`]),
      `${tokenFile}=${CONTROLLER_TOKEN_FILE}`, `${stateDir}=${STATE_DIR}`,
      ...(isDualStack ? [DUAL_STACK] : []), ...args,
    ],
    ...(env.length > 0 && { env }),
    ports: [{ name: "health", containerPort: HEALTH_PORT }],
    startupProbe: { httpGet: { path: "/startupz", port: "health" }, periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { httpGet: { path: "/readyz", port: "health" } },
    livenessProbe: { httpGet: { path: "/healthz", port: "health" } },
    resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "192Mi" } },
    securityContext: {
      runAsNonRoot: true, ...(runAsUser !== null && { runAsUser }), allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] }, seccompProfile: { type: "RuntimeDefault" },
    },
    volumeMounts: [
      { name: TOKEN_VOLUME, mountPath: TOKEN_DIR }, { name: STATE_VOLUME, mountPath: STATE_DIR },
      ...(hasCA ? [{ name: CA_VOLUME, mountPath: CA_DIR, readOnly: true }] : []), ...mounts,
    ],
  };
}

const LOOPBACK = /^http:\/\/(127(\.[0-9]{1,3}){3}|localhost|\[::1\])(:[0-9]{1,5})?(\/|$)/i;

/** Whether a URL is on loopback, like the endpoints of the sidecar. */
export function isLoopbackURL(url: string): boolean {
  return LOOPBACK.test(url);
}
