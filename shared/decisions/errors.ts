/**
 * Every error that a user, an SDK or the API server can be answered with. `status` is the HTTP status where a server answers
 * it, `retry` whether the same request may succeed later, `meaning` the sentence of docs/errors.md.
 */
export interface ErrorEntry {
  readonly status: number;
  readonly retry: boolean;
  readonly meaning: string;
}

export const ERRORS = {
  ERR_CONFIG_INVALID: entry(500, false, "A setting is unknown, malformed or contradicts another; all of them are listed."),
  ERR_CONFIG_PORT_IN_USE: entry(500, false, "The address of a listener is taken; the flag that moves it is named."),
  ERR_CONFIG_ADDRESS: entry(500, false, "A listener's address cannot be used, or is not loopback where it must be."),
  ERR_CONFIG_TLS_MISSING: entry(500, false, "A certificate or key file is absent or cannot be read."),
  ERR_CONFIG_TLS_MISMATCH: entry(500, false, "The private key does not belong to the certificate."),
  ERR_CONFIG_TLS_INVALID: entry(500, false, "A certificate or key file is not PEM, or is outside its validity."),
  ERR_CONFIG_TLS_EXISTS: entry(500, false, "Certificates are there already and would be overwritten."),
  ERR_CONFIG_KUBECONFIG: entry(500, false, "No usable kubeconfig, context or Pod account was found."),
  ERR_INPUT_UNREADABLE: entry(500, false, "Manifests are missing, unreadable or hold one object twice."),
  ERR_CLUSTER_UNREADABLE: entry(503, true, "The cluster, or a kind of it, could not be read; every fault is listed."),
  ERR_SELECTOR_CONFLICT: entry(409, false, "More than one IAMRoleSelector selects the resource."),
  ERR_SELECTOR_UNKNOWN: entry(404, false, "No IAMRoleSelector of that name is known."),
  ERR_SELECTOR_MALFORMED: entry(403, false, "The IAMRoleSelector has a fault, so nothing is granted on it."),
  ERR_SELECTOR_NOT_GRANTED: entry(403, false, "The IAMRoleSelector grants nothing to this controller's group."),
  ERR_SELECTOR_EXTRAS: entry(403, false, "The IAMRoleSelectors of the role ask for different sessions of it, or for a session tag that is too long, so nothing is granted on them."),
  ERR_SELECTOR_UNMATCHED: entry(403, false, "No IAMRoleSelector selects the resource (with --mode carm: its namespace names no account or team), and falling back to the base identity is not allowed."),
  ERR_SELECTOR_AMBIGUOUS: entry(409, false, "The role depends on a kind or a label that the request does not give."),
  ERR_SELECTOR_ACCOUNT_PINNED: entry(409, false, "The role is in another account than the one that this process answered first."),
  ERR_CARM_MAP_MISSING: entry(403, false, "The CARM ConfigMap that the namespace's annotation refers to is not there."),
  ERR_CARM_KEY_MISSING: entry(403, false, "The CARM ConfigMap has no entry for the namespace's account or team."),
  ERR_CARM_VALUE_EMPTY: entry(403, false, "The entry of the CARM ConfigMap is empty."),
  ERR_CARM_ARN: entry(403, false, "The entry of the CARM ConfigMap is no role's ARN."),
  ERR_NAMESPACE_UNKNOWN: entry(404, false, "The inventory holds no Namespace of that name."),
  ERR_ANNOTATIONS_TOO_LARGE: entry(422, false, "The annotations would pass Kubernetes' limit of 256 KiB, so none are added."),
  ERR_REQUEST_MALFORMED: entry(400, false, "The request is not of the form that the path takes."),
  ERR_REQUEST_NOT_FOUND: entry(404, false, "There is no such path."),
  ERR_REQUEST_METHOD: entry(405, false, "The path does not take that method."),
  ERR_REQUEST_TOO_LARGE: entry(413, false, "The body is larger than an admission review can be, or at the sidecar than 64 KiB."),
  ERR_REQUEST_MEDIA_TYPE: entry(415, false, "The body is not application/json, or at /sts no form."),
  ERR_REQUEST_DEADLINE: entry(503, true, "The review could not be judged in the time that the API server gives; nothing is decided on half a look."),
  ERR_REQUEST_HOST: entry(403, false, "The Host header is not this server's loopback address, or a header shows a proxy or a browser."),
  ERR_REQUEST_CONNECTIONS: entry(503, true, "There are more connections than the sidecar serves at once."),
  ERR_TOKEN_INVALID: entry(401, false, "The Authorization header does not carry the token."),
  ERR_NOT_READY: entry(503, true, "The inventory has not been loaded yet; it is never taken for an empty one."),
  ERR_STS_REFUSED: entry(503, true, "STS refused to give a session for the role."),
  ERR_STS_UNAVAILABLE: entry(503, true, "STS could not be reached, or did not answer in time."),
  ERR_BASE_UNAVAILABLE: entry(503, true, "The sidecar's own identity could not be had."),
  ERR_BASE_LONG_LIVED: entry(403, false, "The sidecar's own identity has no session token and is vended only with --base vend."),
  ERR_INTERNAL: entry(500, true, "A fault of ours; the log line with the same request has the details."),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

function entry(status: number, retry: boolean, meaning: string): ErrorEntry {
  return { status, retry, meaning };
}

/** An error of the catalogue. `message` is for the user: what was wrong, where, what was expected, how to mend it. */
export class ResolverError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ResolverError";
    this.code = code;
  }
  /** The HTTP status that a server answers with. */
  get status(): number {
    return ERRORS[this.code].status;
  }
}
