import type { Runtime } from "../shared/core/context.ts";
import type { PolicySettings } from "./policies/policy.ts";
import type { WebhookOptions } from "./webhooks.ts";

/** Options that only the chart has, or that follow from others. */
type ChartOption = "ackGroups" | "enabled" | "serviceAccount" | "excludedNamespaces" | "without";

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
  /** Whether the API server sends Pods that request a sidecar to the webhook. Default: false. */
  readonly inject?: boolean;
  /** The settings that the policies share with the webhook. Default: the defaults of the flags. */
  readonly policies?: PolicySettings;
}

export interface RightsOptions extends Pick<
  WebhookOptions, "namespace" | "serviceAccount" | "ackSystemNamespace" | "ackGroups" | "without"
> {
  /** The namespace of the Secrets of static identities. */
  readonly identitySecretNamespace: string;
  /** What the sidecars learn from the ConfigMap of the profile, or a template of it. */
  readonly sidecarProfile: Readonly<Record<string, string>> | string;
}

/** Objects, most of them rights, that an installation has together. */
export interface Part {
  /** Whether `manifests` prints the objects. Default: always. */
  readonly isPrinted?: (options: ManifestOptions) => boolean;
  /** The condition under which the chart has the objects, in the language of Helm. Default: always. */
  readonly value?: string;
  /** The template of the chart that contains the objects. Default: that of the rights. */
  readonly template?: string;
  readonly objects: (options: RightsOptions) => readonly object[];
}
