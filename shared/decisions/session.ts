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
}
