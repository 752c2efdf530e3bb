import { CONTROLLER_ACCOUNT } from "./names.ts";

/** Settings as environment variables, which the webhook, the sidecar and the command line read in the same way. */
export type Environment = Readonly<Record<string, string>>;

const CONTROLLERS = {
  CONTROLLER_ACCOUNT, CONTROLLER_ROLE: `arn:aws:iam::${CONTROLLER_ACCOUNT}:role/ack`, REGION: "eu-west-1",
  CONTROLLER_USERS: "ack-system/ack-s3-controller,arn:aws:sts::*:assumed-role/AmazonEKS*",
};
const WAIVERS = { WAIVER_USERS: "platform@example.com", WAIVER_GROUPS: "system:masters" };

const ENDPOINTS = { ALLOWED_ENDPOINT_HOSTS: "s3.amazonaws.com,sts.amazonaws.com" };
const SIDECAR = { SIDECAR_IMAGE: "registry.example.com/ack-role-resolver:1" };

/** Each inventory uses one of these sets of settings. */
const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "by default": {},
  "known controllers": { ...CONTROLLERS, ...SIDECAR },
  "known accounts": { ...CONTROLLERS, ...WAIVERS, ALLOWED_ACCOUNTS: "111122223333,777788889999" },
  "tenants": { ...WAIVERS, ...SIDECAR, TENANT_LABELS: "team", ...ENDPOINTS },
  "use checks": { ...CONTROLLERS, ...WAIVERS, CHECK: "ACK-09=deny,NS-02=deny,AC-05=deny" },
  "use checks warn": { CHECK: "ACK-09=warn,NS-02=warn,AC-05=warn" },
  "all off": {
    ...WAIVERS, CHECK: "IRS-30=off,IRS-20=off,IRS-17=off,ACK-30=off,ACK-05=off,NS-01=off,AC-01=off,CI-31=off",
  },
  "more denials": { ...CONTROLLERS, CHECK: "ACK-05=deny,ACK-03=deny,IRS-18=deny,AC-03=deny,IRS-10=deny,CI-04=deny" },
  "more warnings": { CHECK: "IRS-15=warn,IRS-19=warn,ACK-07=warn,CM-08=warn,CI-07=warn,AC-04=warn,FE-01=warn" },
  "carm": { ...CONTROLLERS, ...SIDECAR, MODE: "carm" },
  "carm with both gates": { ...WAIVERS, MODE: "carm", TEAM_LEVEL_CARM: "true", SERVICE_LEVEL_CARM: "true" },
  "extended": { ...CONTROLLERS, ...WAIVERS, ...SIDECAR, RUNTIME: "extended" },
  "secrets": { ...WAIVERS, ...ENDPOINTS, IDENTITY_SECRET_NAMESPACE: "capa-system", CONTROLLER_ACCOUNT },
  "debug": { LOG_LEVEL: "debug" },
  "injection": {
    ...SIDECAR, SIDECAR_CA_CONFIG_MAP: "corporate-ca", SIDECAR_ENV: "HTTPS_PROXY=http://proxy:3128",
    SIDECAR_ARGS: "--log-level=debug",
  },
  "another CAPA": { ...CONTROLLERS, CAPA_SERVICE_ACCOUNTS: "capa/controller" },
};
const COMMON = ["by default", "known controllers", "carm", "carm with both gates", "secrets"];

export interface NamedSettings {
  readonly name: string;
  readonly environment: Environment;
}

/** Returns the settings of the inventory with this number. */
export function settingsOf(inventory: number): NamedSettings {
  const names = [...Object.keys(SETTINGS), ...COMMON];
  const name = names[inventory % names.length] ?? "";
  const values = Object.entries(SETTINGS[name] ?? {});
  return { name, environment: Object.fromEntries(values.map(([key, value]) => [`ACK_ROLE_RESOLVER_${key}`, value])) };
}
