import { isCheckEnabled } from "../shared/core/plan.ts";
import { Document, visit } from "yaml";
import { isACKGroup, knownGroups } from "../shared/core/ack-groups.ts";
import { labelsOf, WEBHOOK } from "../shared/core/installation.ts";
import { SETTINGS } from "../shared/core/settings.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { quote, withoutCommands } from "../shared/formats/text.ts";
import { iamRoleSelectorCRD } from "./crds.ts";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS } from "./policies.ts";
import { listsOf } from "./policies/policy.ts";
import { mutatingWebhooks, validatingWebhooks, type WebhookOptions } from "./webhooks.ts";
import { CATALOGUE } from "../shared/judges.ts";
import { CAPA } from "./capa/parts.ts";
import { CARM_MAP_RIGHTS } from "./carm/maps.ts";
import { INJECTION } from "./injection/rights.ts";
import type { ManifestOptions, Part } from "./part.ts";
import {
  accessReviewRights, certificateRights, commonRights, observationRights, readerRights, reconcilingRights,
} from "./rbac.ts";

/** The parts of the installation that only the program knows. The Helm chart contains them too, and everything else. */
export const MANIFEST_PARTS = ["crds", "rbac", "policies", "webhooks", "all"] as const;
type ManifestPart = (typeof MANIFEST_PARTS)[number];

/** The parts of the installation, besides the policies and webhooks, in the order in which a client applies them. */
export const PARTS: readonly Part[] = [
  { objects: readerRights }, CARM_MAP_RIGHTS, { objects: commonRights },
  {
    isPrinted: ({ profile }) => profile === "observe", value: 'eq .Values.profile "observe"',
    objects: observationRights,
  },
  { value: ".Values.reconciling", objects: reconcilingRights },
  {
    isPrinted: ({ maintainsCertificates = false }) => maintainsCertificates,
    value: 'eq (include "ack-role-resolver.certificates" .) "self-signed"', objects: certificateRights,
  },
  {
    isPrinted: ({ accessReviews }) => accessReviews, value: 'include "ack-role-resolver.accessReviews" .',
    objects: accessReviewRights,
  },
  INJECTION, ...CAPA,
];

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
  const checks = CATALOGUE.filter((check) => isCheckEnabled(check, settings)).map(({ id }) => id);
  const configured = { ...known, enabled: new Set([...checks, ...(options.inject === true ? ["injection"] : [])]) };
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
  const { namespace, identitySecretNamespace, profile = SETTINGS.profile.default } = options;
  const known = { ...options, identitySecretNamespace: identitySecretNamespace ?? "", sidecarProfile: { profile } };
  const labels = labelsOf("webhook");
  return [
    {
      apiVersion: "v1", kind: "Namespace",
      metadata: { name: namespace, labels: { ...labels, "pod-security.kubernetes.io/enforce": "restricted" } },
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: WEBHOOK.serviceAccount, namespace, labels } },
    ...PARTS.flatMap(({ isPrinted, objects }) => (isPrinted?.(options) === false ? [] : objects(known))),
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
