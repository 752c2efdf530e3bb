import { stringify } from "yaml";
import { isCheckEnabled } from "../shared/checks/access-reviews.ts";
import { AC_05 } from "../shared/checks/cluster-reference.ts";
import type { Runtime } from "../shared/contract/context.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { isACKGroup } from "../shared/contract/ack-groups.ts";
import { namespaceNameFaults } from "../shared/formats/names.ts";
import { quote } from "../shared/formats/text.ts";
import { certificatesDeployment } from "./certificates-deployment.ts";
import { type CertificateMode, certManagerObjects, selfSignedObjects } from "./certificates.ts";
import { iamRoleSelectorCRD } from "./crds.ts";
import { type DeploymentOptions, webhookDeployment } from "./deployment.ts";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS } from "./policies.ts";
import type { PolicySettings, SelectorFailurePolicy } from "./policies/policy.ts";
import { serviceAccountIdentityCRD } from "./identity-crd.ts";
import { pendingWritesObjects } from "./rights/role-objects.ts";
import {
  eventsRole, identitiesRole, identitySecretObjects, selectorOwnerRole, sidecarEventsBinding, sidecarsBinding,
  tenantRole,
} from "./rights/sidecars.ts";
import {
  accessReviewsBinding, accessReviewsRole, mapsBinding, mapsRole, readerBinding, readerRole, resourcesBinding,
  resourcesRole,
} from "./rights/webhook.ts";
import { controllerIdentityObjects, reconcilingObjects } from "./reconciling.ts";
import { certificatesNetworkPolicy, disruptionBudget, networkPolicy, webhookService } from "./service.ts";
import { mutatingWebhooks, validatingWebhooks, type WebhookOptions } from "./webhooks.ts";
import { installNamespace, serviceAccount } from "./installation-objects.ts";

export const MANIFEST_PARTS = ["crds", "identity-crd", "rbac", "policies", "deployment", "webhooks", "all"] as const;
type ManifestPart = (typeof MANIFEST_PARTS)[number];

export interface ManifestOptions
  extends Omit<WebhookOptions, "injectCA" | "reviewsIdentityUses">, Pick<DeploymentOptions, "identitySecretNamespace"> {
  /**
   * The runtime of the selectors. For `ack`, the CRD accepts only selectors that shipped controllers support. For
   * `extended`, the CRD accepts every documented selector.
   */
  readonly runtime: Runtime;
  /** Whether the manifests allow the webhook to create SubjectAccessReviews, which `--check ACK-09=deny` requires. */
  readonly accessReviews: boolean;
  /** The namespaces that may use the AWSClusterControllerIdentity that the webhook creates; [] if it creates none. */
  readonly autoControllerIdentity?: readonly string[];
  /** Where the certificate of a webhook in the cluster comes from. */
  readonly certificates: CertificateMode;
  /** The image of the webhook's Deployment. */
  readonly image: string;
  /** The settings that the policies share with the webhook. Default: the defaults of the flags. */
  readonly policies?: PolicySettings;
}

export function isManifestPart(text: string): text is ManifestPart {
  return (MANIFEST_PARTS as readonly string[]).includes(text);
}

/**
 * Returns the install manifests as multi-document YAML. Throws ERR_CONFIG_INVALID, whose message lists every invalid
 * option.
 */
export function renderManifests(part: ManifestPart, options: ManifestOptions): string {
  return renderYAML(manifestObjects(part, options));
}

/**
 * Returns the objects in the order in which a client must apply them. The webhook configurations are last, because
 * webhooks intercept later writes. With a URL, the webhook runs outside the cluster, and has no Deployment.
 */
export function manifestObjects(part: ManifestPart, options: ManifestOptions): readonly object[] {
  const faults = optionFaults(part, options);
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  const { runtime, url, certificates } = options;
  const configured = {
    ...options, injectCA: url === null && certificates === "cert-manager",
    reviewsIdentityUses: options.policies !== undefined && isCheckEnabled(AC_05, options.policies),
  };
  const parts = {
    rbac: () => rbacObjects(options),
    crds: () => [iamRoleSelectorCRD(runtime)],
    "identity-crd": () => [serviceAccountIdentityCRD()],
    policies: (failurePolicy: SelectorFailurePolicy) => (
      admissionPolicies({ ...options, failurePolicy }, options.policies ?? DEFAULT_POLICY_SETTINGS)
    ),
    deployment: () => deploymentObjects(options),
    webhooks: () => [mutatingWebhooks(configured), validatingWebhooks(configured)],
  };
  // Without the webhooks, the policies are the only defense.
  if (part !== "all") return parts[part]("Ignore");
  return [
    ...parts.rbac(), ...(url === null ? parts.deployment() : []),
    ...parts.policies("Fail"), ...parts.webhooks(),
  ];
}

function rbacObjects(options: ManifestOptions): object[] {
  const { namespace, ackSystemNamespace, extraGroups, certificates } = options;
  const { accessReviews, inject = false, identitySecretNamespace: ofSecrets = null } = options;
  const { autoControllerIdentity = [] } = options;
  return [
    installNamespace(namespace), serviceAccount(namespace),
    readerRole(), readerBinding(namespace), resourcesRole(extraGroups), resourcesBinding(namespace), identitiesRole(),
    mapsRole(ackSystemNamespace), mapsBinding(namespace, ackSystemNamespace),
    eventsRole(), selectorOwnerRole(), tenantRole(),
    ...(ofSecrets === null ? [] : identitySecretObjects({ namespace, secretNamespace: ofSecrets })),
    ...reconcilingObjects({ namespace, extraGroups }),
    ...pendingWritesObjects(namespace),
    ...(certificates === "self-signed" ? selfSignedObjects(namespace) : []),
    ...(autoControllerIdentity.length > 0 ? controllerIdentityObjects({ namespace }) : []),
    ...(accessReviews ? [accessReviewsRole(), accessReviewsBinding(namespace)] : []),
    ...(inject ? [sidecarsBinding(ackSystemNamespace), sidecarEventsBinding(ackSystemNamespace)] : []),
  ];
}

function deploymentObjects(options: ManifestOptions): object[] {
  const { namespace, certificates } = options;
  return [
    networkPolicy(namespace), disruptionBudget(namespace), webhookService(namespace),
    ...(certificates === "cert-manager" ? certManagerObjects(namespace) : []),
    ...(certificates === "self-signed" ? [certificatesNetworkPolicy(namespace), certificatesDeployment(options)] : []),
    webhookDeployment(options),
  ];
}

const OWN_NAMESPACE = "--inject: requires different values of --namespace and --ack-system-namespace, because the "
  + "webhook injects no sidecar in its own namespace";

const READABLE_KEY = "--identity-secret-namespace: requires another namespace than --namespace, because the webhook "
  + "could then read the key of its CA";

function optionFaults(part: ManifestPart, options: ManifestOptions): string[] {
  const { namespace, ackSystemNamespace, extraGroups, identitySecretNamespace } = options;
  const named = { "--namespace": namespace, "--ack-system-namespace": ackSystemNamespace };
  const ofNamespace = Object.entries(named).flatMap(([flag, name]) => (
    namespaceNameFaults(name).map((fault) => `${flag} ${quote(name)}: ${fault}`)
  ));
  const ofGroups = extraGroups.filter((group) => !isACKGroup(group))
    .map((group) => `--extra-groups ${quote(group)}: not an ACK group; expected a name that ends in .services.k8s.aws`);
  const ofInjection = options.inject === true && namespace === ackSystemNamespace ? [OWN_NAMESPACE] : [];
  const ofSecrets = identitySecretNamespace === namespace ? [READABLE_KEY] : [];
  return [
    ...ofNamespace, ...ofGroups, ...ofInjection, ...ofSecrets, ...certificateFaults(part, options),
  ];
}

/** Without the right CA certificate, the API server rejects every change of a selector (failurePolicy: Fail). */
function certificateFaults(part: ManifestPart, { url, caBundle, certificates }: ManifestOptions): string[] {
  const where = url === null ? `--certificates ${certificates}` : "--url";
  const isPassed = url !== null || certificates === "files";
  if (url !== null && part === "deployment") {
    return ["manifests deployment: not available with --url, because the webhook runs outside the cluster"];
  }
  if (!isPassed && caBundle !== null) {
    return [`--ca-file: not available with ${where}; to use a certificate of your own, pass --certificates files`];
  }
  if (part !== "all" || !isPassed || caBundle !== null) return [];
  return [
    `--ca-file: required with ${where}. Without it, the API server cannot verify the webhook's certificate, and `
      + "denies all changes of selectors. Pass the CA certificate that signed the webhook's certificate, such as the "
      + "ca.crt that `certs make` wrote",
  ];
}

export const YAML_OPTIONS = { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false } as const;

/**
 * Returns YAML that has the same meaning in YAML 1.1 (which kubectl parses) and YAML 1.2. Quotes each string that looks
 * like a value of another type.
 */
export function renderYAML(objects: readonly object[]): string {
  return objects.map((object) => `---\n${stringify(object, YAML_OPTIONS)}`).join("");
}
