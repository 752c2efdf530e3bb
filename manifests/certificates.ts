import type {
  V1ClusterRole, V1ClusterRoleBinding, V1Lease, V1Role, V1RoleBinding, V1Secret, V1ServiceAccount, V1Volume,
  V1VolumeMount,
} from "@kubernetes/client-node";
import { CERTIFICATE_FILES } from "../certs/certificate-files.ts";
import { CERTIFICATES, labelsOf, PRODUCT, WEBHOOK } from "../shared/contract/installation.ts";
import {
  type Account, clusterBinding, clusterRole, namespacedRole, roleBinding, WRITE_EVENTS,
} from "./rights/role-objects.ts";
import { lease } from "./installation-objects.ts";

/** The ClusterRole that allows `certs manage` to set the caBundle of the webhook configurations. */
const CA_BUNDLE_ROLE = `${PRODUCT}-ca-bundle`;

/**
 * Returns the account of `certs manage`. The Pods of the webhook do not have it: a client that may patch a
 * MutatingWebhookConfiguration can change every object that is written to the cluster.
 */
export function certificatesAccount(namespace: string): V1ServiceAccount {
  const metadata = { name: CERTIFICATES, namespace, labels: labelsOf("certificates") };
  return { apiVersion: "v1", kind: "ServiceAccount", metadata };
}

/**
 * Returns the empty Secrets: one for the CA, which only `certs manage` reads, and one for the serving certificate,
 * which the Pods of the webhook mount. The manifests contain them so that the installation owns them. A client that
 * applies the manifests again does not change the data.
 */
export function certificatesSecrets(namespace: string): readonly V1Secret[] {
  return [CERTIFICATES, WEBHOOK.certificate].map((name) => (
    {
      apiVersion: "v1", kind: "Secret", type: "Opaque",
      metadata: { name, namespace, labels: labelsOf("certificates") },
    }
  ));
}

/** Returns the Lease that elects the writer of the Secrets. */
export function certificatesLease(namespace: string): V1Lease {
  return lease(CERTIFICATES, namespace, "certificates");
}

/**
 * Returns the role that allows `certs manage` to maintain the Secrets. RBAC cannot limit `create` to a name, and
 * without it a deleted Secret or Lease would be missing until the manifests are applied again.
 */
export function certificatesRole(namespace: string): V1Role {
  const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  const secrets = { apiGroups: [""], resources: ["secrets"] };
  return namespacedRole(CERTIFICATES, namespace, [
    { ...secrets, resourceNames: [CERTIFICATES, WEBHOOK.certificate], verbs: ["list", "watch", "update"] },
    { ...leases, resourceNames: [CERTIFICATES], verbs: ["get", "update"] },
    { ...secrets, verbs: ["create"] },
    { ...leases, verbs: ["create"] },
    WRITE_EVENTS,
  ]);
}

export function certificatesBinding(namespace: string): V1RoleBinding {
  return roleBinding(CERTIFICATES, namespace, namespace, account(namespace));
}

/** Returns the role that allows `certs manage` to set the caBundle of the webhook configurations. */
export function caBundleRole(): V1ClusterRole {
  return clusterRole(CA_BUNDLE_ROLE, [{
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    resourceNames: [WEBHOOK.configuration],
    verbs: ["list", "watch", "patch"],
  }]);
}

export function caBundleBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(CA_BUNDLE_ROLE, CA_BUNDLE_ROLE, namespace, account(namespace));
}

function account(namespace: string): Account {
  return { name: CERTIFICATES, namespace };
}

/** How the webhook gets its certificate, and how the API server gets the CA certificate. */
export const CERTIFICATE_MODES = ["self-signed", "cert-manager", "files"] as const;
/**
 * - `self-signed`: `certs manage` creates a CA and the certificate, and writes the caBundle of the configurations.
 * - `cert-manager`: cert-manager issues the certificate into a Secret, and injects the caBundle.
 * - `files`: the user creates the Secret, and passes the caBundle.
 */
export type CertificateMode = (typeof CERTIFICATE_MODES)[number];

/** The folder of tls.crt and tls.key in the container. */
const TLS_DIR = "/etc/ack-role-resolver/tls";
const CERT_MANAGER = "cert-manager.io/v1";
const VOLUME = "tls";
const ROOT = `${WEBHOOK.service.name}-root`;
const CA = `${WEBHOOK.service.name}-ca`;

/** Returns the annotation that makes cert-manager inject the caBundle into a webhook configuration. */
export function caInjection(namespace: string): Record<string, string> {
  return { "cert-manager.io/inject-ca-from": `${namespace}/${WEBHOOK.certificate}` };
}

/** The flag of the webhook that names the folder of its certificate. */
export const CERTIFICATE_FLAG = `--tls-dir=${TLS_DIR}`;

/**
 * Returns the volume and the mount of the certificate. Its Pod starts when the Secret contains both files: until then,
 * the kubelet retries. The Secret can contain other entries, such as the key of a CA, which the Pod must not read.
 */
export function certificateVolumes(): { volumes: V1Volume[]; volumeMounts: V1VolumeMount[] } {
  const items = [CERTIFICATE_FILES.cert, CERTIFICATE_FILES.key].map((key) => ({ key, path: key }));
  // Readable by the group of the container (0440), because the files belong to root.
  const secret = { secretName: WEBHOOK.certificate, defaultMode: 0o440, items };
  return {
    volumes: [{ name: VOLUME, secret }],
    volumeMounts: [{ name: VOLUME, mountPath: TLS_DIR, readOnly: true }],
  };
}

/** Returns the objects that `certs manage` needs to maintain the certificates, except its Deployment. */
export function selfSignedObjects(namespace: string): readonly object[] {
  return [
    certificatesAccount(namespace), ...certificatesSecrets(namespace), certificatesLease(namespace),
    certificatesRole(namespace), certificatesBinding(namespace), caBundleRole(), caBundleBinding(namespace),
  ];
}

/**
 * Returns the objects of cert-manager: a CA, and the certificate of the webhook, which cert-manager renews after 60
 * days. The CA makes a renewal safe: a renewed certificate is valid for the caBundle before all replicas have read it.
 */
export function certManagerObjects(namespace: string): readonly object[] {
  const service = `${WEBHOOK.service.name}.${namespace}.svc`;
  const object = (kind: "Issuer" | "Certificate", name: string, spec: object): object => (
    { apiVersion: CERT_MANAGER, kind, metadata: { name, namespace, labels: labelsOf("webhook") }, spec }
  );
  const privateKey = { algorithm: "ECDSA", size: 256, rotationPolicy: "Always" };
  return [
    object("Issuer", ROOT, { selfSigned: {} }),
    object("Certificate", CA, {
      isCA: true, commonName: CA, secretName: CA, duration: "87600h", renewBefore: "8760h", privateKey,
      issuerRef: issuerRef(ROOT),
    }),
    object("Issuer", CA, { ca: { secretName: CA } }),
    object("Certificate", WEBHOOK.certificate, {
      secretName: WEBHOOK.certificate, dnsNames: [service, `${service}.cluster.local`],
      duration: "2160h", renewBefore: "720h", privateKey,
      issuerRef: issuerRef(CA),
    }),
  ];
}

function issuerRef(name: string): object {
  return { group: "cert-manager.io", kind: "Issuer", name };
}
