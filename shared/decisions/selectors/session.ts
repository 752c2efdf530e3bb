/** A tag of a session: https://docs.aws.amazon.com/IAM/latest/UserGuide/id_session-tags.html */
export interface SessionTag {
  readonly key: string;
  readonly value: string;
}

/** What an IAMRoleSelector asks of the sessions of its role beside the role itself. Null and [] where it says nothing. */
export interface SessionExtras {
  readonly externalID: string | null;
  readonly sessionName: string | null;
  readonly sourceIdentity: string | null;
  /** In a grant with every template filled in. */
  readonly tags: readonly SessionTag[];
  readonly durationSeconds: number | null;
}

export const NO_EXTRAS: SessionExtras = { externalID: null, sessionName: null, sourceIdentity: null, tags: [], durationSeconds: null };

/** One session as STS is asked for it: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
export interface SessionRequest {
  readonly roleARN: string;
  readonly sessionName: string;
  readonly durationSeconds: number;
  readonly externalID: string | null;
  readonly sourceIdentity: string | null;
  readonly tags: readonly SessionTag[];
  /** The session policies that a client narrows its own session with; they can only take rights away. */
  readonly policy: string | null;
  readonly policyARNs: readonly string[];
}// What STS takes with AssumeRole: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html and API_Tag.html there. Lengths count
// UTF-16 code units, which are never fewer than STS counts.

export interface TextLimits {
  readonly least: number;
  readonly most: number;
  readonly pattern: RegExp;
  /** What the pattern takes, as a phrase. */
  readonly characters: string;
}

export const EXTERNAL_ID_LIMITS: TextLimits = { least: 2, most: 1224, pattern: /^[\w+=,.@:/-]*$/, characters: "letters, digits and _+=,.@:/-" };
/** Of a source identity too, which besides must not start with `aws:`. */
export const SESSION_NAME_LIMITS: TextLimits = { least: 2, most: 64, pattern: /^[\w+=,.@-]*$/, characters: "letters, digits and _+=,.@-" };
const TAG_PATTERN = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
const TAG_CHARACTERS = "letters, digits, spaces and _.:/=+-@";
export const TAG_KEY_LIMITS: TextLimits = { least: 1, most: 128, pattern: TAG_PATTERN, characters: TAG_CHARACTERS };
export const TAG_VALUE_LIMITS: TextLimits = { least: 0, most: 256, pattern: TAG_PATTERN, characters: TAG_CHARACTERS };
export const MOST_TAGS = 50;
/** In seconds. */
export const DURATION_LIMITS = { least: 900, most: 43_200 } as const;
/** The most that a session which is made from another one may last. */
export const CHAINED_SECONDS = 3600;
