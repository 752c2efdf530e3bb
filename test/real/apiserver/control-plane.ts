import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { tokenFile, type Tokens } from "./identities.ts";

/** The ports of a control plane. */
interface Ports {
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

/** The host on which etcd and the API server run. */
export interface ControlPlaneHost {
  /** The folder in which the folder of the control plane is created. */
  readonly folder: string;
  /** The IP address of the API server. */
  readonly address: string;
  readonly ports: Ports;
  /** The content of the audit events of writes: the bodies and the metadata of the request, or only the metadata. */
  readonly auditLevel: "RequestResponse" | "Metadata";
  /** Returns the command that runs a program on this host. `cwd` is its working directory. */
  command(program: string, args: readonly string[], cwd: string): readonly [command: string, args: readonly string[]];
}

/** Writes the files that the API server reads at its start. */
export async function writeServerFiles(folder: string, tokens: Tokens, host: ControlPlaneHost): Promise<void> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const write = async (name: string, text: string): Promise<void> =>
    writeFile(path.join(folder, name), text, { mode: 0o600 });
  await Promise.all([
    write("tokens.csv", tokenFile(tokens)),
    write("service-account.key", privateKey.export({ type: "sec1", format: "pem" })),
    write("audit-policy.json", JSON.stringify(auditPolicy(host))),
  ]);
}

/** Logs every request with its webhook annotations, except the API server's own requests. */
function auditPolicy({ auditLevel }: ControlPlaneHost): object {
  return {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [
      { level: "None", users: ["system:apiserver"] },
      { level: auditLevel, verbs: ["create", "update", "patch", "delete", "deletecollection"] },
      { level: "Metadata" },
    ],
  };
}

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

/**
 * Returns the arguments of an API server on loopback. The API server has no controllers and no nodes. Without
 * `serviceAccounts`, the plugin ServiceAccount is off: it would reject every Pod whose ServiceAccount does not exist,
 * and no controller manager creates the ServiceAccount `default`.
 */
export function apiserverArguments(ports: Ports, serviceAccounts: boolean): readonly string[] {
  return [
    ...commonArguments(ports),
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.0.0.0/24",
    ...(serviceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
    // Turns off the reconciler of the Endpoints of `kubernetes`, because these Endpoints must not contain a loopback
    // address.
    "--endpoint-reconciler-type=none",
  ];
}

/** The addresses of Services. The API server assigns the first address to the Service `kubernetes`. */
export const SERVICE_RANGE = "10.96.0.0/16";

/** Returns the arguments of an API server with controllers and a node. */
export function hostedApiserverArguments({ address, ports }: ControlPlaneHost): readonly string[] {
  return [
    ...commonArguments(ports),
    "--bind-address=0.0.0.0",
    `--advertise-address=${address}`,
    "--authorization-mode=Node,RBAC",
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    "--endpoint-reconciler-type=master-count",
    // For logs and exec, the API server connects to the kubelet. It must not look up the name of the node.
    "--kubelet-preferred-address-types=InternalIP",
  ];
}

function commonArguments(ports: Ports): readonly string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    `--secure-port=${ports.api}`,
    "--cert-dir=certificates",
    "--token-auth-file=tokens.csv",
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--service-account-key-file=service-account.key",
    "--service-account-signing-key-file=service-account.key",
    "--audit-policy-file=audit-policy.json",
    "--audit-log-path=audit.log",
    // The API server writes the audit event before it sends the response.
    "--audit-log-mode=blocking-strict",
  ];
}
