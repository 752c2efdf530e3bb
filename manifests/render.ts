import { stringify } from "yaml";
import type { Runtime } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import { isACKGroup } from "../shared/decisions/kubernetes/kinds.ts";
import { namespaceNameFaults } from "../shared/decisions/kubernetes/names.ts";
import { quote } from "../shared/decisions/kubernetes/text.ts";
import { iamRoleSelectorCRD } from "./crds.ts";
import {
  accessReviewsBinding, accessReviewsRole, installNamespace, mapsBinding, mapsRole, readerBinding, readerRole,
  resourcesBinding, resourcesRole, serviceAccount,
} from "./rbac.ts";
import { mutatingWebhooks, validatingWebhooks, type WebhookOptions } from "./webhooks.ts";

export const MANIFEST_PARTS = ["crds", "rbac", "webhooks", "all"] as const;
type ManifestPart = (typeof MANIFEST_PARTS)[number];

export interface ManifestOptions extends WebhookOptions {
  /** Whether the CRD stores only selectors that shipped controllers support, or every documented one. */
  readonly runtime: Runtime;
  /** Whether the webhook may create SubjectAccessReviews, which `--check ACK-09=deny` needs. */
  readonly accessReviews: boolean;
}

export function isManifestPart(text: string): text is ManifestPart {
  return (MANIFEST_PARTS as readonly string[]).includes(text);
}

/** Returns the install manifests as multi-document YAML. Throws ERR_CONFIG_INVALID with every invalid option. */
export function renderManifests(part: ManifestPart, options: ManifestOptions): string {
  return renderYAML(manifestObjects(part, options));
}

/** Returns the objects in the order to apply them. Webhooks are last, because they intercept later writes. */
export function manifestObjects(part: ManifestPart, options: ManifestOptions): readonly object[] {
  const faults = optionFaults(options);
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  const { namespace, runtime, ackSystemNamespace, accessReviews, extraGroups } = options;
  const parts = {
    rbac: () => [
      installNamespace(namespace), serviceAccount(namespace),
      readerRole(), readerBinding(namespace), resourcesRole(extraGroups), resourcesBinding(namespace),
      mapsRole(ackSystemNamespace), mapsBinding(namespace, ackSystemNamespace),
      ...(accessReviews ? [accessReviewsRole(), accessReviewsBinding(namespace)] : []),
    ],
    crds: () => [iamRoleSelectorCRD(runtime)],
    webhooks: () => [mutatingWebhooks(options), validatingWebhooks(options)],
  };
  return part === "all" ? [...parts.rbac(), ...parts.crds(), ...parts.webhooks()] : parts[part]();
}

function optionFaults({ namespace, ackSystemNamespace, extraGroups }: ManifestOptions): string[] {
  const named = { "--namespace": namespace, "--ack-system-namespace": ackSystemNamespace };
  const ofNamespace = Object.entries(named).flatMap(([flag, name]) => (
    namespaceNameFaults(name).map((fault) => `${flag} ${quote(name)}: ${fault}`)
  ));
  const ofGroups = extraGroups.filter((group) => !isACKGroup(group))
    .map((group) => `--extra-groups ${quote(group)}: not an ACK group; expected a name that ends in .services.k8s.aws`);
  return [...ofNamespace, ...ofGroups];
}

/**
 * Returns YAML that parsers of YAML 1.1 (such as kubectl) and 1.2 read alike. Quotes strings that look like other
 * types.
 */
export function renderYAML(objects: readonly object[]): string {
  const options = { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false } as const;
  return objects.map((object) => `---\n${stringify(object, options)}`).join("");
}
