/** The default audience of the tokens for STS. */
export const STS_AUDIENCE = "sts.amazonaws.com";

/** A session tag: https://docs.aws.amazon.com/IAM/latest/UserGuide/id_session-tags.html */
export interface SessionTag {
  readonly key: string;
  readonly value: string;
}

/**
 * The session settings in the annotations of an IAMRoleSelector. A setting that the selector does not specify is null
 * or [].
 */
export interface SessionExtras {
  readonly externalID: string | null;
  readonly sessionName: string | null;
  readonly sourceIdentity: string | null;
  /** The session tags, sorted by key. In a grant, every template is filled in. */
  readonly tags: readonly SessionTag[];
  readonly durationSeconds: number | null;
  /** The inline session policy as it is sent. In a grant, every template is filled in. */
  readonly policy: string | null;
  /** The ARNs of managed session policies, sorted. */
  readonly policyARNs: readonly string[];
  /** Whether the session may do only what its controller needs; null for the default of the sidecar. */
  readonly scope: ScopeName | null;
}

export const SCOPE_NAMES = ["service", "none"] as const;
export type ScopeName = (typeof SCOPE_NAMES)[number];

export function scopeNamed(text: string | null): ScopeName | null {
  return SCOPE_NAMES.find((one) => one === text) ?? null;
}

export const NO_EXTRAS: SessionExtras = {
  externalID: null, sessionName: null, sourceIdentity: null, tags: [], durationSeconds: null, policy: null,
  policyARNs: [], scope: null,
};

/** Whether a session has no session policies, so that it may do all that its role may. */
export function isUnrestricted({ policy, policyARNs }: Pick<SessionExtras, "policy" | "policyARNs">): boolean {
  return policy === null && policyARNs.length === 0;
}

/** The settings that not every kind of session has. */
type OptionalSetting = "sourceIdentity" | "policy" | "policyARNs" | "scope";

/** What is known of a session before it is issued. */
export interface ChosenSession {
  readonly settings: Omit<SessionExtras, OptionalSetting> & Partial<Pick<SessionExtras, OptionalSetting>>;
  /** What a session is called for which no setting chooses a name. */
  readonly defaultName: string;
}

/** One AssumeRole request: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
export interface SessionRequest {
  readonly roleARN: string;
  readonly sessionName: string;
  readonly durationSeconds: number;
  readonly externalID: string | null;
  readonly sourceIdentity: string | null;
  readonly tags: readonly SessionTag[];
  /** The keys of the tags that also apply to sessions that are created from this session. */
  readonly transitiveTagKeys: readonly string[];
  /** The session policies of a client request or an identity. Session policies can only reduce permissions. */
  readonly policy: string | null;
  readonly policyARNs: readonly string[];
}

// The limits of AssumeRole: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html and API_Tag.html. A
// length is the number of UTF-16 code units. STS counts characters, but a text never has more characters than UTF-16
// code units.

export interface TextLimits {
  /** The minimum and maximum length. */
  readonly min: number;
  readonly max: number;
  readonly pattern: RegExp;
  /** The allowed characters, as text for messages. */
  readonly characters: string;
}

export const EXTERNAL_ID_LIMITS: TextLimits = {
  min: 2, max: 1224, pattern: /^[\w+=,.@:/-]*$/, characters: "letters, digits and _+=,.@:/-",
};
/** The start of the keys of session tags and of source identities that are reserved for AWS. */
export const RESERVED_PREFIX = /^aws:/i;
/** The limits of a session name and of a source identity. A source identity also must not have the reserved prefix. */
export const SESSION_NAME_LIMITS: TextLimits = {
  min: 2, max: 64, pattern: /^[\w+=,.@-]*$/, characters: "letters, digits and _+=,.@-",
};

/** The ASCII characters that a session tag may contain besides letters, digits and spaces, for a character class. */
export const TAG_PUNCTUATION = "_.:/=+\\-@";
const TAG_PATTERN = new RegExp(`^[\\p{L}\\p{Z}\\p{N}${TAG_PUNCTUATION}]*$`, "u");
const TAG_CHARACTERS = "letters, digits, spaces and _.:/=+-@";
export const TAG_KEY_LIMITS: TextLimits = { min: 1, max: 128, pattern: TAG_PATTERN, characters: TAG_CHARACTERS };
export const TAG_VALUE_LIMITS: TextLimits = { min: 0, max: 256, pattern: TAG_PATTERN, characters: TAG_CHARACTERS };
export const MAX_TAGS = 50;
/** The maximum total length of the session policy and the ARNs of managed session policies. */
export const MAX_POLICY_LENGTH = 2048;
export const MAX_POLICY_ARNS = 10;
/** Matches the characters of a session policy. Source: the API reference of AssumeRole. */
export const POLICY_PATTERN = /^[\t\n\r\u0020-\u00FF]*$/;

/** In seconds. */
export const DURATION_LIMITS = { min: 900, max: 43_200 } as const;
/**
 * The maximum duration of a chained session, in seconds. A chained session is a session that is created from another
 * session.
 */
export const MAX_CHAINED_SECONDS = 3600;

/** What a sidecar sends with each call of AssumeRole, unless a selector sets it. */
export interface SidecarSession {
  readonly sessionName: string;
  readonly defaults: SessionExtras;
}
