import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { tokenFile, type Tokens } from "./identities.ts";

/** The ports of a control plane on 127.0.0.1. */
export interface Ports {
  readonly api: number;
  readonly etcd: number;
  readonly etcdPeer: number;
}

/** The files of a control plane. */
export interface ControlPlaneFiles {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly caFile: string;
  readonly auditLog: string;
}

export function controlPlaneFiles(folder: string): ControlPlaneFiles {
  return {
    folder,
    kubeconfig: path.join(folder, "kubeconfig"),
    // The API server creates a certificate for 127.0.0.1 on its first start. The certificate file also contains the CA
    // of the certificate.
    caFile: path.join(folder, "certificates", "apiserver.crt"),
    auditLog: path.join(folder, "audit.log"),
  };
}

/** Writes the files that the API server reads at its start. */
export async function writeServerFiles(folder: string, tokens: Tokens): Promise<void> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const write = async (name: string, text: string): Promise<void> =>
    writeFile(path.join(folder, name), text, { mode: 0o600 });
  await Promise.all([
    write("tokens.csv", tokenFile(tokens)),
    write("service-account.key", privateKey.export({ type: "sec1", format: "pem" })),
    write("audit-policy.json", JSON.stringify(AUDIT_POLICY)),
  ]);
}

/** Logs every write with its bodies and webhook annotations, except the API server's own requests. */
const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    { level: "None", users: ["system:apiserver"] },
    { level: "RequestResponse", verbs: ["create", "update", "patch", "delete", "deletecollection"] },
    { level: "Metadata" },
  ],
};

export function etcdArguments(ports: Ports): readonly string[] {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return [
    "--data-dir=etcd",
    "--log-level=warn",
    // The data of etcd is deleted with the cluster, so etcd does not need to sync the data to disk.
    "--unsafe-no-fsync",
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
}

export function apiserverArguments(ports: Ports): readonly string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${ports.api}`,
    "--cert-dir=certificates",
    "--authorization-mode=RBAC",
    "--token-auth-file=tokens.csv",
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--service-account-key-file=service-account.key",
    "--service-account-signing-key-file=service-account.key",
    "--service-cluster-ip-range=10.0.0.0/24",
    // Turns off the plugin ServiceAccount, which would reject every Pod, because no controller manager creates the
    // `default` ServiceAccount.
    "--disable-admission-plugins=ServiceAccount",
    // Turns off the reconciler of the Endpoints of `kubernetes`, because these Endpoints must not contain a loopback
    // address.
    "--endpoint-reconciler-type=none",
    "--audit-policy-file=audit-policy.json",
    "--audit-log-path=audit.log",
    // The API server writes the audit event before it sends the response.
    "--audit-log-mode=blocking-strict",
  ];
}
