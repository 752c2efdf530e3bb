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
export type ManifestPart = (typeof MANIFEST_PARTS)[number];

export interface ManifestOptions extends WebhookOptions {
  /** Which selectors the CRD may store: those that shipped controllers understand, or all that is documented. */
  readonly runtime: Runtime;
  /** Whether the webhook is to ask who may `use` a selector, as `--check ACK-09=deny` has it do. */
  readonly accessReviews: boolean;
}

export function isManifestPart(text: string): text is ManifestPart {
  return (MANIFEST_PARTS as readonly string[]).includes(text);
}

/** The install manifests as multi-document YAML. Throws ERR_CONFIG_INVALID, naming every option that cannot be. */
export function renderManifests(part: ManifestPart, options: ManifestOptions): string {
  return renderYAML(manifestObjects(part, options));
}

/** The objects themselves, in an order in which they can be applied: webhooks last, since they hold up writes once they are there. */
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
  const ofNamespace = Object.entries(named).flatMap(([flag, name]) => namespaceNameFaults(name).map((fault) => `${flag} ${quote(name)}: ${fault}`));
  const ofGroups = extraGroups.filter((group) => !isACKGroup(group))
    .map((group) => `--extra-groups ${quote(group)}: no ACK group; expected one that ends in .services.k8s.aws`);
  return [...ofNamespace, ...ofGroups];
}

/** Written so that readers of YAML 1.1, kubectl among them, and of 1.2 read the same: what either could take for another type is quoted. */
export function renderYAML(objects: readonly object[]): string {
  const options = { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false } as const;
  return objects.map((object) => `---\n${stringify(object, options)}`).join("");
}
