import manifest from "../../package.json" with { type: "json" };

export const PRODUCT = "ack-role-resolver";

/** The names of the Kubernetes objects that belong to the webhook server. */
export const WEBHOOK = {
  configuration: PRODUCT,
  deployment: `${PRODUCT}-webhook`,
  service: { name: `${PRODUCT}-webhook`, port: 443 },
  serviceAccount: `${PRODUCT}-webhook`,
  /** The name of the Secret that contains the webhook's certificate, and of the Certificate of cert-manager. */
  certificate: `${PRODUCT}-webhook-tls`,
  /** The Lease that elects the replica that updates annotations. */
  lease: `${PRODUCT}-webhook`,
  /** The ConfigMap in which the replicas share the changes that they admit. */
  pendingWrites: `${PRODUCT}-pending-writes`,
  /** The ConfigMap in which the replicas count what the profile `enforce` would have denied. */
  observedDenials: `${PRODUCT}-observed-denials`,
  /** The ConfigMap from which running sidecars learn the profile of the installation. */
  profile: `${PRODUCT}-profile`,
  /**
   * The suffix of each webhook name. The API server requires a domain in the name, and prints the name in each denial.
   */
  domain: `${PRODUCT}.io`,
} as const;

/**
 * The name of the objects of `certs manage`: the Deployment, its ServiceAccount and Role, the Secret that contains the
 * CA, and the Lease that elects the writer of the Secrets.
 */
export const CERTIFICATES = `${PRODUCT}-certificates`;

/**
 * The ConfigMap in which sidecars record the accounts of static identities. It is in --identity-secret-namespace, where
 * only administrators of CAPA can write.
 */
export const IDENTITY_ACCOUNTS = `${PRODUCT}-identity-accounts`;

/** The part of the installation to which an object belongs. */
export type Component = "crds" | "webhook" | "certificates";

/**
 * How `certs manage` learns that the API server reaches the webhook: in a dry run, it updates its Lease, which the
 * webhook answers with this warning.
 */
export const REACHED = {
  path: "/validate/reached", warning: `the API server reaches the webhook of ${PRODUCT}`,
} as const;

/** Recommended labels: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/ */
export function labelsOf(component: Component): Record<string, string> {
  return {
    "app.kubernetes.io/name": PRODUCT,
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/version": VERSION,
  };
}

/** The version in package.json. */
export const VERSION: string = manifest.version;
