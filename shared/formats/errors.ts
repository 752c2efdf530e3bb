interface ErrorEntry {
  /** The HTTP status of a response with this error. */
  readonly status: number;
  /** Whether a retry of the same request may succeed. */
  readonly retry: boolean;
  /** The description of the error in docs/errors.md. */
  readonly meaning: string;
}

/** Every error that a user, an SDK or the API server may receive. */
export const ERRORS = {
  ERR_CONFIG_INVALID: entry(
    500, false,
    "A setting is unknown, malformed or conflicts with another setting. The message lists every fault.",
  ),
  ERR_CONFIG_PORT_IN_USE: entry(
    500, false,
    "Another process already listens on the address. The message names the flag that sets the address.",
  ),
  ERR_CONFIG_ADDRESS: entry(
    500, false,
    "The server cannot listen on the address, or the flag requires a loopback address.",
  ),
  ERR_CONFIG_TLS_MISSING: entry(500, false, "A certificate or key file is missing or unreadable."),
  ERR_CONFIG_TLS_MISMATCH: entry(500, false, "The private key does not belong to the certificate."),
  ERR_CONFIG_TLS_INVALID: entry(
    500, false,
    "A certificate or key file is not PEM, or the certificate is not valid now.",
  ),
  ERR_CONFIG_TLS_EXISTS: entry(
    500, false,
    "Certificate files already exist. The command does not overwrite these files.",
  ),
  ERR_CONFIG_KUBECONFIG: entry(500, false, "No usable kubeconfig, context or Pod service account was found."),
  ERR_INPUT_UNREADABLE: entry(500, false, "Manifests are missing or unreadable, or contain the same object twice."),
  ERR_CLUSTER_UNREADABLE: entry(
    503, true,
    "The cluster or one of its kinds could not be read. The message lists every fault.",
  ),
  ERR_SELECTOR_CONFLICT: entry(409, false, "More than one IAMRoleSelector selects the resource."),
  ERR_SELECTOR_CHOICE: entry(
    409, false,
    "The annotation use-selector names an IAMRoleSelector that does not select the resource.",
  ),
  ERR_SELECTOR_UNKNOWN: entry(404, false, "No IAMRoleSelector with this name exists."),
  ERR_SELECTOR_MALFORMED: entry(403, false, "The IAMRoleSelector has a fault, so the sidecar does not grant its role."),
  ERR_SELECTOR_NOT_GRANTED: entry(
    403, false,
    "No resource that the sidecar serves resolves to the role in an existing namespace. The message states the "
      + "reason, such as a conflict, or a namespace that is missing or too new.",
  ),
  ERR_SELECTOR_EXTRAS: entry(
    403, false,
    "The IAMRoleSelectors of the role differ in their session settings, there are too many session tags, or the "
      + "request does not determine the value of a tag. The sidecar does not grant the role.",
  ),
  ERR_SELECTOR_UNMATCHED: entry(
    403, false,
    "No IAMRoleSelector selects the resource or, with --mode carm, the namespace names no account or team. The sidecar "
      + "runs with --unmatched deny.",
  ),
  ERR_SELECTOR_AMBIGUOUS: entry(409, false, "The role depends on a kind or a label that the request does not specify."),
  ERR_SELECTOR_ACCOUNT_PINNED: entry(
    409, false,
    "The role is in a different account from the first role of this sidecar process.",
  ),
  ERR_CARM_MAP_MISSING: entry(
    403, false,
    "The CARM ConfigMap of the namespace's annotation does not exist.",
  ),
  ERR_SESSION_POLICY: entry(
    403, false, "The request has session policies, and so has the IAMRoleSelector of the role.",
  ),
  ERR_SESSION_SCOPE: entry(
    403, false, "What the controllers of a group need is not known, or is too long beside other session policies.",
  ),
  ERR_CARM_KEY_MISSING: entry(403, false, "The CARM ConfigMap has no entry for the namespace's account or team."),
  ERR_CARM_VALUE_EMPTY: entry(403, false, "The entry in the CARM ConfigMap is empty."),
  ERR_CARM_ARN: entry(403, false, "The entry in the CARM ConfigMap is not the ARN of an IAM role."),
  ERR_IDENTITY_UNKNOWN: entry(404, false, "The identity, or the source of an identity, does not exist."),
  ERR_IDENTITY_KIND: entry(
    404, false,
    "The kind of the identity is unknown, or not supported by the runtime or at this place.",
  ),
  ERR_IDENTITY_NAMESPACE: entry(
    403, false,
    "An identity of the chain does not allow the namespace. The message names the identity.",
  ),
  ERR_IDENTITY_SELECTOR: entry(
    403, false,
    "The label selector of an identity is not valid, and its list does not contain the namespace.",
  ),
  ERR_IDENTITY_CYCLE: entry(409, false, "An identity is its own source, directly or through other identities."),
  ERR_IDENTITY_DEPTH: entry(409, false, "The chain of identities has more than 8 roles."),
  ERR_IDENTITY_SECRET: entry(
    409, false,
    "The static identity names no Secret with an access key, or STS rejects the access key.",
  ),
  ERR_IDENTITY_SESSION: entry(
    409, false,
    "An identity of the chain has parameters that STS would reject. An example is a session of more than 3600 seconds "
      + "in a chain.",
  ),
  ERR_IDENTITY_ACCOUNT: entry(
    403, false, "The account of an identity of the chain is not in --allowed-accounts.",
  ),
  ERR_IDENTITY_AUDIENCE: entry(
    403, false, "An audience of the AWSServiceAccountIdentity is not in --allowed-audiences.",
  ),
  ERR_IDENTITY_TOKEN: entry(
    409, false,
    "The sidecar cannot request a token of the identity's ServiceAccount. The ServiceAccount or a Role is missing, or "
      + "the sidecar has no API server.",
  ),
  ERR_NAMESPACE_UNKNOWN: entry(
    404, false, "The inventory has no Namespace with this name, or the Namespace exceeds a limit.",
  ),
  ERR_NAMESPACE_UNREAD: entry(
    503, true,
    "The role depends on a Namespace that the API server did not return. The webhook denies the object with code "
      + "504, or admits it with --profile observe.",
  ),
  ERR_INVENTORY_STALE: entry(
    503, true,
    "The change depends on objects whose latest state this replica may not know, because its watch has stalled or "
      + "failed. The webhook denies the object with code 504, or admits it with --profile observe.",
  ),
  ERR_ANNOTATIONS_TOO_LARGE: entry(
    422, false,
    "The annotations would exceed the Kubernetes limit of 256 KiB, so the webhook adds none.",
  ),
  ERR_REQUEST_MALFORMED: entry(400, false, "The request does not have the format that the path requires."),
  ERR_REQUEST_NOT_FOUND: entry(404, false, "The path does not exist."),
  ERR_REQUEST_METHOD: entry(405, false, "The path does not support the HTTP method."),
  ERR_REQUEST_TOO_LARGE: entry(
    413, false,
    "The request body exceeds the size limit: 7 MiB in the webhook, or 64 KiB in the sidecar.",
  ),
  ERR_REQUEST_MEDIA_TYPE: entry(
    415, false,
    "The body is not application/json, or at /sts not a form.",
  ),
  ERR_REQUEST_DEADLINE: entry(
    503, true,
    "The review did not finish within the API server's timeout. The webhook returns no partial result. "
      + "It denies the object with code 504, or admits it with --profile observe.",
  ),
  ERR_PENDING_WRITES: entry(
    503, true,
    "The webhook cannot compare the change with changes that are made at the same time. For example, it cannot "
      + "update its ConfigMap of pending writes. It always denies the object, with code 504.",
  ),
  ERR_REQUEST_HOST: entry(
    403, false,
    "The Host header is not the server's loopback address, or a proxy or browser sent the request.",
  ),
  ERR_REQUEST_CLIENT: entry(403, false, "The client certificate does not have the common name of --client-name."),
  ERR_REQUEST_CONNECTIONS: entry(503, true, "The server has reached its limit of connections or requests in flight."),
  ERR_TOKEN_INVALID: entry(401, false, "The Authorization header does not contain the sidecar's token."),
  ERR_NOT_READY: entry(503, true, "The inventory is not loaded yet. An unloaded inventory is never treated as empty."),
  ERR_STS_REFUSED: entry(503, true, "STS rejected the request for a session of the role."),
  ERR_STS_UNAVAILABLE: entry(503, true, "STS could not be reached, or did not respond in time."),
  ERR_BASE_UNAVAILABLE: entry(503, true, "The sidecar could not load its own identity."),
  ERR_BASE_LONG_LIVED: entry(
    403, false,
    "The sidecar's own identity has no session token, so it is issued only with --base vend.",
  ),
  ERR_INTERNAL: entry(
    500, true,
    "An internal error occurred. The log entry that has the same request ID contains the details. "
      + "The webhook denies the object, or admits it with --profile observe.",
  ),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

function entry(status: number, retry: boolean, meaning: string): ErrorEntry {
  return { status, retry, meaning };
}

/** An error whose code is in `ERRORS`. The message states what is wrong, where the error is and how to fix it. */
export class ResolverError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ResolverError";
    this.code = code;
  }
  /** The HTTP status of a response with this error. */
  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** Returns the message of a thrown value, which can be of any type. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
