import { VERSION } from "../shared/server/version.ts";

const PRODUCT = "ack-role-resolver";

/** The names of the webhook server's objects. */
export const WEBHOOK = {
  configuration: PRODUCT,
  service: { name: `${PRODUCT}-webhook`, port: 443 },
  serviceAccount: `${PRODUCT}-webhook`,
  /** The suffix of each webhook's name. The API server requires a domain, and prints the name with each denial. */
  domain: `${PRODUCT}.io`,
} as const;

/** Bound to the webhook. Users also bind it to the service accounts of controllers with a sidecar. */
export const READER_ROLE = `${PRODUCT}-reader`;
/** Further rights of the webhook. */
export const RESOURCES_ROLE = `${PRODUCT}-resources`;
export const MAPS_ROLE = `${PRODUCT}-carm-maps`;
/** Bound to the webhook if it creates SubjectAccessReviews. */
export const ACCESS_REVIEWS_ROLE = `${PRODUCT}-access-reviews`;

/** Recommended labels: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/ */
export function labelsOf(component: "crds" | "webhook"): Record<string, string> {
  return {
    "app.kubernetes.io/name": PRODUCT,
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/version": VERSION,
  };
}
