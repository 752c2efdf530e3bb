
/** The pattern that a value of a setting must match, and a description of the pattern for error messages. */
export interface Pattern {
  readonly regexp: string;
  readonly meaning: string;
}

export const ACCOUNT: Pattern = { regexp: "^[0-9]{12}$", meaning: "an AWS account ID of 12 digits" };
export const ADDRESS: Pattern = {
  regexp: "^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):[0-9]{1,5}$",
  meaning: "HOST:PORT, such as 127.0.0.1:9780 or [::1]:9780",
};
export const NAMESPACE: Pattern = {
  regexp: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
  meaning: "a namespace name of up to 63 lowercase letters, digits and '-', such as team-a",
};
/** A value of `--auto-controller-identity`. The setting was a boolean once. */
export const IDENTITY_NAMESPACE: Pattern = {
  regexp: `^(?!(true|false)$)${NAMESPACE.regexp.slice(1)}`,
  meaning: `none, or ${NAMESPACE.meaning}; CAPA has no wildcard for names, so list each namespace`,
};
export const OBJECT_NAME: Pattern = {
  regexp: "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$",
  meaning: "an object name of up to 253 lowercase letters, digits, '-' and '.', such as team-a",
};
export const IDENTITY_REFERENCE: Pattern = {
  regexp: `^AWS[A-Za-z]{1,60}Identity/${OBJECT_NAME.regexp.slice(1)}`,
  meaning: "KIND/NAME of an identity of CAPA, such as AWSClusterRoleIdentity/team-a",
};
export const LOOPBACK_URL: Pattern = {
  regexp: "^https?://(127(\\.[0-9]{1,3}){3}|localhost|\\[::1\\])(:[0-9]{1,5})?/?$",
  meaning: "a loopback URL, such as http://127.0.0.1:9780, http://localhost:9780 or http://[::1]:9780",
};
export const GROUP: Pattern = {
  regexp: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$",
  meaning: "an API group, such as s3.services.k8s.aws",
};
export const VERSION: Pattern = {
  regexp: "^v?[0-9]{1,4}\\.[0-9]{1,4}(\\.[0-9]{1,4})?(-[0-9A-Za-z.-]{1,40})?$", meaning: "a version such as v2.8.4",
};
export const COUNT: Pattern = { regexp: "^[1-9][0-9]{0,6}$", meaning: "a number from 1 to 9999999" };
export const REGION: Pattern = { regexp: "^[a-z]{2,}(-[a-z]+)+-[0-9]+$", meaning: "an AWS region, such as eu-west-1" };
export const ROLE: Pattern = {
  regexp: "^arn:aws[-a-z0-9]*:iam::[0-9]{12}:role/[!-~]+$",
  meaning: "the ARN of an IAM role, such as arn:aws:iam::111122223333:role/ack",
};
/** A value of `--check`. The catalogue of checks decides whether the check exists. */
export const CHECK_SEVERITY: Pattern = { regexp: "^[^=]+=(deny|warn|off)$", meaning: "ID=deny, ID=warn or ID=off" };
export const SERVICE_ACCOUNT: Pattern = { regexp: "^[^/\\s]+/[^/\\s]+$", meaning: "NAMESPACE/NAME" };
export const USER_PATTERN: Pattern = {
  regexp: "^(?=.{1,256}$).*[^*]", meaning: "a user name or pattern of at most 256 characters, and not only *",
};
export const SESSION_NAME: Pattern = {
  regexp: "^[A-Za-z0-9_+=,.@-]{2,64}$", meaning: "2 to 64 letters, digits or _+=,.@-",
};
export const AUDIENCE: Pattern = {
  regexp: "^[!-~]{1,256}$", meaning: "1 to 256 characters of printable ASCII without spaces, such as sts.amazonaws.com",
};
/** A DNS name in lowercase or an IP address, without a wildcard, because the certificate must be valid for it. */
export const HTTPS_URL: Pattern = {
  regexp: "^https://([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*|\\[[0-9a-f:.]+\\])"
    + "(:[0-9]{1,5})?/?$",
  meaning: "https://HOST:PORT",
};
/** The parts of the name of an image. Source: github.com/distribution/reference, regexp.go. */
export const IMAGE_PARTS = {
  repository: "[A-Za-z0-9][-A-Za-z0-9._/]*(:[0-9]+/[-a-z0-9._/]+)?",
  tag: "[A-Za-z0-9_][-A-Za-z0-9._]{0,127}",
  digest: "sha256:[0-9a-f]{64}",
} as const;
export const IMAGE: Pattern = {
  regexp: `^${IMAGE_PARTS.repository}(:${IMAGE_PARTS.tag})?(@${IMAGE_PARTS.digest})?$`,
  meaning: "an image, such as registry.example/ack-role-resolver:1.0.0",
};
export const SIDECAR_ARGUMENT: Pattern = {
  regexp: "^--[a-z]+(-[a-z]+)*(=[!-~]+)?$", meaning: "a flag of the sidecar, such as --base=identity-only",
};
/** A value of `--sidecar-run-as-user`. 0 is root, which `runAsNonRoot` rejects. */
export const USER_ID: Pattern = {
  regexp: "^(none|[1-9][0-9]{0,8}|1[0-9]{9})$", meaning: "none, or a user ID from 1 to 1999999999",
};
/** The prefixes of variables that `--sidecar-env` cannot set: they redirect calls, load code, or are flags. */
export const RESERVED_VARIABLES = "(AWS_|ACK_ROLE_RESOLVER_|KUBERNETES_|NODE_|LD_|OPENSSL_|SSL_)";
/** The variable with which Node.js uses HTTPS_PROXY and NO_PROXY. */
export const USE_PROXY = "NODE_USE_ENV_PROXY";
export const VARIABLE_NAME = "[A-Za-z_][A-Za-z0-9_]{0,127}";
export const VARIABLE_VALUE = "[ -~]{1,1000}";
export const SIDECAR_VARIABLE: Pattern = {
  regexp: `^(${USE_PROXY}|(?!${RESERVED_VARIABLES})${VARIABLE_NAME})=${VARIABLE_VALUE}$`,
  meaning: "NAME=VALUE, such as HTTPS_PROXY=http://proxy.example:3128; the name must not start with AWS_, "
    + `ACK_ROLE_RESOLVER_, KUBERNETES_, NODE_ (except ${USE_PROXY}), LD_, OPENSSL_ or SSL_`,
};

export const COMMANDS = [
  "local", "webhook", "sidecar", "lint", "resolve", "why", "audit", "map", "impact", "explain", "migrate carm", "trust",
  "trust check", "trust who", "trust policy", "credential-process", "certs make", "certs manage", "manifests",
  "completion", "version",
] as const;
export type Command = (typeof COMMANDS)[number];

export type Default = string | boolean | null | readonly string[];

/** What must be set, or must not be, for a flag to have an effect. */
interface Condition {
  /** The flag of another setting. */
  readonly flag: `--${string}`;
  /** The value of that setting; true if any value will do, and false if it must not be set. */
  readonly is: boolean | string;
  /** The commands for which this holds. */
  readonly commands: readonly Command[];
}

/** A row of the settings table. */
export interface Definition {
  readonly flag: `--${string}`;
  /** The one-letter form of the flag. */
  readonly short?: `-${string}`;
  /**
   * The type of the value. A flag of type `strings` is repeatable, and each value is a comma-separated list.
   */
  readonly type: "string" | "boolean" | "strings";
  /** Whether a value can contain a comma. If so, the value of the flag is not split at commas. */
  readonly allowsComma?: true;
  /** The value of a flag that is given without one. A boolean that has it also accepts `=true` and `=false`. */
  readonly bare?: string;
  /** The placeholder for the value in the help. */
  readonly value?: string;
  readonly choices?: readonly string[];
  /** For some commands, the choices that replace `choices`. */
  readonly choicesFor?: Partial<Readonly<Record<Command, readonly string[]>>>;
  /** The pattern that every value must match, and a description of the pattern for error messages. */
  readonly pattern?: Pattern;
  readonly default: Default;
  /** For some commands, the default that replaces `default`. */
  readonly defaults?: Partial<Readonly<Record<Command, Default>>>;
  readonly commands: readonly Command[];
  /** The condition without which the flag has no effect, and is an error. */
  readonly onlyWith?: Condition;
}

/** Returns the choices of a setting for a command, or undefined if any value is allowed. */
export function choicesOf(definition: Definition, command: Command): readonly string[] | undefined {
  return definition.choicesFor?.[command] ?? definition.choices;
}

/** Returns the default of a setting for a command. */
export function defaultOf(definition: Definition, command: Command): Default {
  const own = definition.defaults?.[command];
  return own === undefined ? definition.default : own;
}

/** Returns the flag of the condition, such as `--kind` or `--mode carm`. */
export function withValue({ flag, is }: Condition): string {
  return typeof is === "string" ? `${flag} ${is}` : flag;
}
