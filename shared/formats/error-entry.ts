/** What an error means, and what to do about it. `explain` prints it, and docs/errors.md lists it. */
export interface ErrorEntry {
  /** The HTTP status of a response with this error. */
  readonly status: number;
  /** Whether a retry of the same request may succeed. */
  readonly retry: boolean;
  /** Sentences, of which the first one is the description in docs/errors.md. */
  readonly meaning: string;
  /** A message with this code, or the start of one. */
  readonly example: string;
  /** An imperative without a full stop. */
  readonly fix: string;
}
