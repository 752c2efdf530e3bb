import type { V1Volume, V1VolumeMount } from "@kubernetes/client-node";
import {
  caBundleBinding, caBundleRole, certificatesBinding, certificatesLease, certificatesRole, certificatesSecret,
} from "./rights/certificates.ts";
import { labelsOf, WEBHOOK } from "./installation.ts";

/** How the webhook gets its certificate, and how the API server gets the CA certificate. */
export const CERTIFICATE_MODES = ["self-signed", "cert-manager", "files"] as const;
/**
 * - `self-signed`: the webhook creates a CA, stores it in a Secret, and writes the caBundle of its configurations.
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

/** Returns the flag of the webhook that names the Secret or the folder of its certificate. */
export function certificateFlag(mode: CertificateMode, namespace: string): string {
  return mode === "self-signed" ? `--tls-secret=${namespace}/${WEBHOOK.certificate}` : `--tls-dir=${TLS_DIR}`;
}

/** Returns the volumes and mounts of the certificate. With `self-signed`, the webhook reads the Secret from the API. */
export function certificateVolumes(mode: CertificateMode): { volumes?: V1Volume[]; volumeMounts?: V1VolumeMount[] } {
  if (mode === "self-signed") return {};
  // Readable by the group of the container (0440), because the files belong to root.
  const secret = { secretName: WEBHOOK.certificate, defaultMode: 0o440 };
  return {
    volumes: [{ name: VOLUME, secret }],
    volumeMounts: [{ name: VOLUME, mountPath: TLS_DIR, readOnly: true }],
  };
}

/** Returns the objects that the webhook needs to maintain its own certificates. */
export function selfSignedObjects(namespace: string): readonly object[] {
  return [
    certificatesSecret(namespace), certificatesLease(namespace),
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
