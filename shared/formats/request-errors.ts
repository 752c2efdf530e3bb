import type { ErrorEntry } from "./error-entry.ts";

/** The errors of requests that a server cannot answer, whatever role they are about. */
export const REQUEST_ERRORS = {
  ERR_NAMESPACE_UNREAD: {
    status: 503, retry: true,
    meaning: "The role depends on a Namespace that the API server did not return. The webhook denies the object with "
      + "code 504, or admits it with --profile observe.",
    example: 'The API server did not return namespace "shop", so the role of the resource is unknown. Retry in a '
      + "moment. The webhook log shows why the request failed.",
    fix: "apply the object again; if that fails too, grant the webhook the verb get on namespaces, or find out why the "
      + "API server is slow",
  },
  ERR_INVENTORY_STALE: {
    status: 503, retry: true,
    meaning: "The change depends on objects whose latest state this replica may not know, because its watch has "
      + "stalled or failed. The webhook denies the object with code 504, or admits it with --profile observe.",
    example: "This replica may not know the latest changes of the cluster: the watch of "
      + "iamroleselectors.services.k8s.aws stalled: the API server accepted the watch, but did not end it after 60 s "
      + "as requested",
    fix: "apply the object again; if that fails too, /readyz states the cause, and deleting the Pod starts the watches "
      + "again",
  },
  ERR_ANNOTATIONS_TOO_LARGE: {
    status: 422, retry: false,
    meaning: "The annotations would exceed the Kubernetes limit of 256 KiB, so the webhook adds none.",
    example: "not annotated: the annotations would exceed the Kubernetes limit of 256 KiB",
    fix: "remove large annotations from the object, such as kubectl.kubernetes.io/last-applied-configuration by using "
      + "`kubectl apply --server-side`",
  },
  ERR_REQUEST_MALFORMED: {
    status: 400, retry: false,
    meaning: "The request does not have the format that the path requires.",
    example: 'Invalid request: parameter "role" is unknown (this path accepts kind and label).',
    fix: "correct what the message names; docs/sidecar.md has a request for each path",
  },
  ERR_REQUEST_NOT_FOUND: {
    status: 404, retry: false,
    meaning: "The path does not exist.",
    example: "The path does not exist. Use /v1/credentials, /v1/credentials/namespaces/NS, "
      + "/v1/credentials/selectors/NAME, or POST /sts.",
    fix: "request one of the paths that the message lists; for the webhook, apply its configuration of this version",
  },
  ERR_REQUEST_METHOD: {
    status: 405, retry: false,
    meaning: "The path does not support the HTTP method.",
    example: "The method is POST. This path accepts only GET.",
    fix: "send the request with the method that the message names",
  },
  ERR_REQUEST_TOO_LARGE: {
    status: 413, retry: false,
    meaning: "The request body exceeds the size limit: 7 MiB in the webhook, or 64 KiB in the sidecar.",
    example: "The body is larger than 65536 bytes.",
    fix: "send a smaller request; split a large object into several ones",
  },
  ERR_REQUEST_MEDIA_TYPE: {
    status: 415, retry: false,
    meaning: "The body is not application/json, or at /sts not a form.",
    example: "The Content-Type is text/plain. Send application/x-www-form-urlencoded in UTF-8.",
    fix: "set the header Content-Type to application/json for the webhook, or to application/x-www-form-urlencoded for "
      + "/sts",
  },
  ERR_REQUEST_DEADLINE: {
    status: 503, retry: true,
    meaning: "The review did not finish within the API server's timeout. The webhook returns no partial result. "
      + "It denies the object with code 504, or admits it with --profile observe.",
    example: "The change affects too many objects to check within the API server's timeout. Retry, or split the "
      + "change.",
    fix: "apply the object again, or fewer changes at a time; if it happens often, raise resources.requests.cpu or "
      + "replicas of the webhook, or timeoutSeconds of its configuration",
  },
  ERR_PENDING_WRITES: {
    status: 503, retry: true,
    meaning: "The webhook cannot compare the change with changes that are made at the same time. For example, it "
      + "cannot update its ConfigMap of pending writes. It always denies the object, with code 504.",
    example: "The change cannot be compared with those that are pending: other replicas keep storing changes. Apply it "
      + "again in 1 s.",
    fix: "apply the object again; if that fails too, apply the manifests of the webhook again, which restores the "
      + "ConfigMap and the right to update it",
  },
  ERR_REQUEST_HOST: {
    status: 403, retry: false,
    meaning: "The Host header is not the server's loopback address, or a proxy or browser sent the request.",
    example: "The request is not addressed to this listener. Connect to http://127.0.0.1:9780 without a proxy.",
    fix: "connect to the address of --listen without a proxy, for example with 127.0.0.1 in NO_PROXY; in Node.js, use "
      + "node:http instead of fetch",
  },
  ERR_REQUEST_CLIENT: {
    status: 403, retry: false,
    meaning: "The client certificate does not have the common name of --client-name.",
    example: "The common name of the client certificate is not --client-name.",
    fix: "set --client-name to the common name of the certificate that the API server sends to webhooks, which "
      + "`openssl x509 -noout -subject -in FILE` prints",
  },
  ERR_REQUEST_CONNECTIONS: {
    status: 503, retry: true,
    meaning: "The server has reached its limit of connections or requests in flight.",
    example: "The webhook is reviewing too many large objects. Retry in a moment.",
    fix: "retry in a moment; if it happens often, add replicas of the webhook, or find the client that keeps "
      + "connections to the sidecar open",
  },
  ERR_TOKEN_INVALID: {
    status: 401, retry: false,
    meaning: "The Authorization header does not contain the sidecar's token.",
    example: "The Authorization header does not contain the token. Point AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE of the "
      + "SDK, or --token-file of credential-process, to the sidecar's --token-file",
    fix: "mount the token volume in the container of the controller, and set AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE to "
      + "the path of the sidecar's --token-file in it",
  },
  ERR_NOT_READY: {
    status: 503, retry: true,
    meaning: "The inventory is not loaded yet. An unloaded inventory is never treated as empty.",
    example: "The inventory is not loaded yet. Retry in a moment.",
    fix: "retry in a moment; if it takes longer, /readyz states what is not loaded, and usually which right is missing",
  },
  ERR_STS_REFUSED: {
    status: 503, retry: true,
    meaning: "STS rejected the request for a session of the role.",
    example: "STS denied sts:AssumeRole on arn:aws:iam::111122223333:role/shop",
    fix: "correct the trust policy of the role or the policies of the caller, as the message says; the command "
      + "that it ends with shows the statement that is missing",
  },
  ERR_STS_UNAVAILABLE: {
    status: 503, retry: true,
    meaning: "STS could not be reached, or did not respond in time.",
    example: "STS did not respond within 850 ms. Retry to get the result of the pending call.",
    fix: "retry; if it fails again, let the Pod reach sts.REGION.amazonaws.com on port 443, or set --sts-endpoint to "
      + "the VPC endpoint of STS",
  },
  ERR_BASE_UNAVAILABLE: {
    status: 503, retry: true,
    meaning: "The sidecar could not load its own identity.",
    example: "The sidecar has no credentials for its base identity (no response within 4.9 s). Configure web identity, "
      + "Pod Identity, a profile or an instance role for the sidecar.",
    fix: "annotate the service account of the controller with a role (IRSA), or create an EKS Pod Identity association "
      + "for it, and restart the Pod",
  },
  ERR_BASE_LONG_LIVED: {
    status: 403, retry: false,
    meaning: "The sidecar's own identity has no session token, so it is issued only with --base vend.",
    example: "The sidecar's base identity is a long-lived access key. Configure an IAM role for the sidecar, or set "
      + "--base vend to issue the key to clients.",
    fix: "give the service account a role instead of the access key of an IAM user, or accept that clients get the key "
      + "with --base vend",
  },
  ERR_INTERNAL: {
    status: 500, retry: true,
    meaning: "An internal error occurred. The log entry that has the same request ID contains the details. "
      + "The webhook denies the object, or admits it with --profile observe.",
    example: "The webhook failed with an internal error. See its log for the cause.",
    fix: "retry, and report the log entry that has the same request ID as a defect of ack-role-resolver",
  },
} as const satisfies Record<string, ErrorEntry>;
