import type { ErrorEntry } from "./error-entry.ts";

const CREATE = "create a certificate and key with `ack-role-resolver certs make --dir DIR --host NAME`";

/** The errors of a program that cannot start, or cannot read its input. */
export const START_ERRORS = {
  ERR_CONFIG_INVALID: {
    status: 500, retry: false,
    meaning: "A setting is unknown, malformed or conflicts with another setting. The message lists every fault.",
    example: "--mode: expected one of selectors, carm",
    fix: "correct each flag or environment variable that the message names; `--help --all` lists the flags of a "
      + "command, and docs/settings.md those of all",
  },
  ERR_CONFIG_PORT_IN_USE: {
    status: 500, retry: false,
    meaning: "Another process already listens on the address. The message names the flag that sets the address.",
    example: "--listen 127.0.0.1:9443: the port is in use by another process; stop that process or set --listen to "
      + "another address",
    fix: "stop the other process, which `ss -ltnp` shows, or set the flag to another port",
  },
  ERR_CONFIG_ADDRESS: {
    status: 500, retry: false,
    meaning: "The server cannot listen on the address, or the flag requires a loopback address.",
    example: "--listen 0.0.0.0:8080: the sidecar issues credentials and listens only on loopback; use 127.0.0.1:PORT, "
      + "[::1]:PORT or localhost:PORT",
    fix: "set the flag to HOST:PORT, where HOST is an address of this machine, and for the sidecar and the page of "
      + "local a loopback address",
  },
  ERR_CONFIG_TLS_MISSING: {
    status: 500, retry: false,
    meaning: "A certificate or key file is missing or unreadable.",
    example: `/certs/tls.crt: no such file; ${CREATE}`,
    fix: `mount the Secret of the certificate at the folder of the flag, let the user of the process read it, or ${
      CREATE}`,
  },
  ERR_CONFIG_TLS_MISMATCH: {
    status: 500, retry: false,
    meaning: "The private key does not belong to the certificate.",
    example: "/certs/tls.key: not the private key of the certificate in /certs/tls.crt; store a certificate and its "
      + `matching key, or ${CREATE}`,
    fix: "replace tls.crt and tls.key by those of one Secret or of one run of `ack-role-resolver certs make`",
  },
  ERR_CONFIG_TLS_INVALID: {
    status: 500, retry: false,
    meaning: "A certificate or key file is not PEM, or the certificate is not valid now.",
    example: `/certs/tls.crt: expired at 2026-01-31T00:00:00.000Z; ${CREATE}`,
    fix: "replace the file that the message names by a valid one in PEM; if the certificate is not valid yet, correct "
      + "the clock of the machine",
  },
  ERR_CONFIG_TLS_EXISTS: {
    status: 500, retry: false,
    meaning: "Certificate files already exist. The command does not overwrite these files.",
    example: "certs/tls.crt: already exists; set --dir to another folder, or delete the files first",
    fix: "set --dir to another folder; delete the files first only if no server uses them",
  },
  ERR_CONFIG_KUBECONFIG: {
    status: 500, retry: false,
    meaning: "No usable kubeconfig, context or Pod service account was found.",
    example: 'The kubeconfig has no context "prod". Set --context to one of: staging, test.',
    fix: "set --context to a name that `kubectl config get-contexts` lists, or --kubeconfig to another file; to read "
      + "manifests, pass their paths instead of --cluster",
  },
  ERR_INPUT_UNREADABLE: {
    status: 500, retry: false,
    meaning: "Manifests are missing or unreadable, or contain the same object twice.",
    example: "shop/bucket.yaml:1: not a Kubernetes object: apiVersion and kind must be set to a string",
    fix: "correct the files that the message names, render those that are templates, or exclude them with "
      + "--ignore GLOB",
  },
  ERR_CLUSTER_UNREADABLE: {
    status: 503, retry: true,
    meaning: "The cluster or one of its kinds could not be read. The message lists every fault.",
    example: "The cluster cannot be read: not allowed to list iamroleselectors.services.k8s.aws in the whole cluster; "
      + "grant this user or ServiceAccount the verbs list and watch on it",
    fix: "grant the rights that the message names, renew the credentials of the kubeconfig, or retry if the API server "
      + "did not respond",
  },
} as const satisfies Record<string, ErrorEntry>;
