import { VERSION } from "../shared/server/version.ts";

const PRODUCT = "ack-role-resolver";

/** The names under which the webhook server is installed; whatever is deployed for it carries them too. */
export const WEBHOOK = {
  configuration: PRODUCT,
  service: { name: `${PRODUCT}-webhook`, port: 443 },
  serviceAccount: `${PRODUCT}-webhook`,
  /** What a webhook's own name ends in: the API server wants a domain, and prints it with each denial. */
  domain: `${PRODUCT}.io`,
} as const;

/** Bound to the webhook here, and by its users to the service accounts of controllers that a sidecar runs beside. */
export const READER_ROLE = `${PRODUCT}-reader`;
/** What the webhook reads beside it. */
export const RESOURCES_ROLE = `${PRODUCT}-resources`;
export const MAPS_ROLE = `${PRODUCT}-carm-maps`;

/** Recommended labels: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/ */
export function labelsOf(component: "crds" | "webhook"): Record<string, string> {
  return { "app.kubernetes.io/name": PRODUCT, "app.kubernetes.io/component": component, "app.kubernetes.io/version": VERSION };
}

/** Bound to the webhook where it is to ask who may use a selector. */
export const ACCESS_REVIEWS_ROLE = `${PRODUCT}-access-reviews`;
