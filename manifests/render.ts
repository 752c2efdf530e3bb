import { isCheckEnabled } from "../shared/core/plan.ts";
import { Document, visit } from "yaml";
import { AC_05 } from "../shared/capa/cluster-reference.ts";
import { isACKGroup, knownGroups } from "../shared/core/ack-groups.ts";
import type { Runtime } from "../shared/core/context.ts";
import { labelsOf, WEBHOOK } from "../shared/core/installation.ts";
import { SETTINGS } from "../shared/core/settings.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { quote, withoutCommands } from "../shared/formats/text.ts";
import { iamRoleSelectorCRD } from "./crds.ts";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS } from "./policies.ts";
import { listsOf, type PolicySettings } from "./policies/policy.ts";
import { rightsParts } from "./rbac.ts";
import { mutatingWebhooks, validatingWebhooks, type WebhookOptions } from "./webhooks.ts";

/** The parts of the installation that only the program knows. The Helm chart contains them too, and everything else. */
export const MANIFEST_PARTS = ["crds", "rbac", "policies", "webhooks", "all"] as const;
type ManifestPart = (typeof MANIFEST_PARTS)[number];

/** Options that only the chart has, or that follow from others. */
type ChartOption = "ackGroups" | "reviewsIdentityUses" | "serviceAccount" | "excludedNamespaces";

export interface ManifestOptions extends Omit<WebhookOptions, ChartOption> {
  /**
   * The runtime of the selectors. For `ack`, the CRD accepts only selectors that shipped controllers support. For
   * `extended`, the CRD accepts every documented selector.
   */
  readonly runtime: Runtime;
  /** ACK groups that are unknown to this release but that the webhook also handles. */
  readonly extraGroups: readonly string[];
  /** Whether the manifests allow the webhook to create SubjectAccessReviews, which `--check ACK-09=deny` requires. */
  readonly accessReviews: boolean;
  /** Whether the manifests allow `certs manage` to maintain the certificate of the webhook. Default: false. */
  readonly maintainsCertificates?: boolean;
  /** The namespace of the Secrets of static identities; null if nothing reads these Secrets. Default: null. */
  readonly identitySecretNamespace?: string | null;
  /** The namespaces that may use the AWSClusterControllerIdentity that the webhook creates; [] if it creates none. */
  readonly autoControllerIdentity?: readonly string[];
  /** The settings that the policies share with the webhook. Default: the defaults of the flags. */
  readonly policies?: PolicySettings;
}

export function isManifestPart(text: string): text is ManifestPart {
  return (MANIFEST_PARTS as readonly string[]).includes(text);
}

/**
 * Returns the objects in the order in which a client must apply them. The webhook configurations are last, because
 * webhooks intercept later writes. Throws ERR_CONFIG_INVALID, whose message lists every invalid option.
 */
export function manifestObjects(part: ManifestPart, options: ManifestOptions): readonly object[] {
  const faults = optionFaults(part, options);
  if (faults.length > 0) throw new ResolverError("ERR_CONFIG_INVALID", faults.join("\n"));
  const { runtime, policies: settings = DEFAULT_POLICY_SETTINGS } = options;
  const known = { ...options, ackGroups: knownGroups(options.extraGroups) };
  const configured = { ...known, reviewsIdentityUses: isCheckEnabled(AC_05, settings) };
  const parts = {
    rbac: () => rbacObjects(known),
    crds: () => [iamRoleSelectorCRD(runtime)],
    // Without the webhooks, the policies are the only defense.
    policies: () => admissionPolicies({ ...known, hasWebhooks: part === "all" }, listsOf(settings)),
    webhooks: () => [mutatingWebhooks(configured), validatingWebhooks(configured)],
  };
  if (part !== "all") return parts[part]();
  return [...parts.rbac(), ...parts.policies(), ...parts.webhooks()];
}

function rbacObjects(options: ManifestOptions & Pick<WebhookOptions, "ackGroups">): object[] {
  const { namespace, maintainsCertificates = false, accessReviews, inject = false } = options;
  const { identitySecretNamespace = null, autoControllerIdentity = [] } = options;
  const { profile = SETTINGS.profile.default } = options;
  const rights = rightsParts({
    ...options, identitySecretNamespace: identitySecretNamespace ?? "", sidecarProfile: { profile },
  });
  const optional = [
    [autoControllerIdentity.length > 0, rights.controllerIdentity], [maintainsCertificates, rights.certificates],
    [accessReviews, rights.accessReviews], [inject, rights.injection],
    [identitySecretNamespace !== null, rights.identitySecrets],
  ] as const;
  const labels = labelsOf("webhook");
  return [
    {
      apiVersion: "v1", kind: "Namespace",
      metadata: { name: namespace, labels: { ...labels, "pod-security.kubernetes.io/enforce": "restricted" } },
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: WEBHOOK.serviceAccount, namespace, labels } },
    ...rights.inventory, ...rights.reconciling,
    ...optional.flatMap(([isPrinted, objects]) => (isPrinted ? objects : [])),
  ];
}

const READABLE_KEY = "--identity-secret-namespace: requires another namespace than --namespace, because the webhook "
  + "could then read the key of its CA";

const CA_REQUIRED = "--ca-file: required with --url. Without it, the API server cannot verify the webhook's "
  + "certificate, and denies all changes of selectors. Pass the CA certificate that signed the webhook's certificate, "
  + "such as the ca.crt that `certs make` wrote";

function optionFaults(part: ManifestPart, options: ManifestOptions): string[] {
  const { namespace, extraGroups, identitySecretNamespace, caBundle } = options;
  const ofGroups = extraGroups.filter((group) => !isACKGroup(group))
    .map((group) => `--extra-groups ${quote(group)}: not an ACK group; expected a name that ends in .services.k8s.aws`);
  return [
    ...ofGroups, ...(identitySecretNamespace === namespace ? [READABLE_KEY] : []),
    ...(part === "all" && caBundle === null ? [CA_REQUIRED] : []),
  ];
}

export const YAML_OPTIONS = { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false } as const;

/**
 * Returns YAML that has the same meaning in YAML 1.1 (which kubectl parses) and YAML 1.2. Quotes each string that looks
 * like a value of another type.
 */
export function renderYAML(objects: readonly object[]): string {
  return objects.map((object) => {
    const document = new Document(object, YAML_OPTIONS);
    // The output escapes these texts, which keeps their value only in double quotes.
    visit(document, { Scalar: (_key, scalar) => void (isCommand(scalar.value) && (scalar.type = "QUOTE_DOUBLE")) });
    return `---\n${document.toString(YAML_OPTIONS)}`;
  }).join("");
}

function isCommand(value: unknown): boolean {
  return typeof value === "string" && withoutCommands(value) !== value;
}
