import type { Test } from "tap";
import type { STSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { nameOf, RBAC_VERSION } from "../../manifests/rbac.ts";
import { manifestObjects } from "../../manifests/render.ts";
import { isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { createSTS } from "../../sidecar/sts-upstream/client.ts";
import { ACK_SELECTOR_CRD } from "../fixtures/ack-selector-crd.ts";
import { CAPA_CRDS } from "../fixtures/capa/crds.ts";
import { get } from "../loopback-request.ts";
import {
  controllerIdentity, INFRASTRUCTURE, refTo, roleIdentity, staticIdentity,
} from "../shared/capa-objects.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { until } from "./apiserver/until.ts";
import { ENVIRONMENT, PLANTED } from "./planted-sidecar.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { apply, MANIFEST_OPTIONS } from "./webhook/installed-webhook.ts";
import { fileWith } from "../token-file.ts";

/** The time within which a change of an identity or a Secret must take effect, in ms. */
export const EFFECT_LIMIT_MS = 2_000;
const TOKEN = `${PLANTED}-client-token-0123456789`;
export const SECRETS = "/api/v1/namespaces/capa-system/secrets";
export const IDENTITIES = `/apis/${INFRASTRUCTURE}/v1beta2`;
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
export const ACCOUNT = { kind: "ServiceAccount", namespace: "ack-system", name: "ack-s3-controller" };

/** The access key of an IAM user. */
interface UserKey {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  readonly arn: string;
}

function userKey(name: string): UserKey {
  return {
    accessKeyID: `AKIA${PLANTED.toUpperCase()}${name.toUpperCase()}`, secretAccessKey: `${PLANTED}-secret-${name}`,
    arn: `arn:aws:iam::444455556666:user/${name}`,
  };
}

export const KEYS = {
  one: userKey("one"), two: userKey("two"), rotated: userKey("rotated"), revoked: userKey("revoked"),
};
type KeyName = keyof typeof KEYS;

export function secretObject(name: string, key: KeyName): object {
  const { accessKeyID: AccessKeyID, secretAccessKey: SecretAccessKey } = KEYS[key];
  return { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: { AccessKeyID, SecretAccessKey } };
}

/** A chain of three roles over the static identity `one`, one role over `two`, and one role over the base identity. */
const OBJECTS = [
  controllerIdentity(), staticIdentity("one"), staticIdentity("two"),
  roleIdentity("c", "static/one"), roleIdentity("b", "role/c"), roleIdentity("a", "role/b"),
  roleIdentity("over-two", "static/two"), roleIdentity("direct"),
];
export const ALL = ["static/one", "static/two", "role/a", "role/over-two", "role/direct"];

/** Creates the identities and their Secrets, and grants the sidecar the rights that docs/sidecar.md lists. */
export async function createIdentities(cluster: Cluster): Promise<void> {
  await cluster.installCRDs([ACK_SELECTOR_CRD, ...CAPA_CRDS]);
  for (const name of ["team-a", "capa-system", "ack-system"]) {
    await cluster.request("POST", "/api/v1/namespaces", { metadata: { name } });
  }
  await apply(cluster, manifestObjects("rbac", { ...MANIFEST_OPTIONS, identitySecretNamespace: "capa-system" }));
  const bind = (kind: "ClusterRole" | "Role", name: string, metadata: object): object => ({
    apiVersion: RBAC_VERSION, kind: `${kind}Binding`, metadata: { name: `sidecar-${name}`, ...metadata },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name }, subjects: [ACCOUNT],
  });
  await apply(cluster, [
    ...["reader", "identities", "events"].map(nameOf).map((name) => bind("ClusterRole", name, {})),
    bind("Role", nameOf("identity-secrets"), { namespace: "capa-system" }), ...OBJECTS,
  ]);
  for (const name of ["one", "two"] as const) {
    await cluster.request("POST", SECRETS, secretObject(`${name}-creds`, name));
  }
}

/** Starts the sidecar as the service account of the controller. */
export async function startSidecar(t: Test, cluster: Cluster, endpoint: string): Promise<ServerProcess> {
  return startWith(t, endpoint, [
    "--kubeconfig", cluster.kubeconfig, "--context", "controller", "--identity-secret-namespace", "capa-system",
  ]);
}

/** Starts a sidecar that serves identities, with the flags of its API server and its Secrets. */
export async function startWith(t: Test, endpoint: string, flags: readonly string[]): Promise<ServerProcess> {
  const sidecar = await startServer("sidecar", [
    "--cluster", ...flags, "--group", INFRASTRUCTURE, "--token-file", fileWith(TOKEN), "--sts-endpoint", endpoint,
    "--log-level", "debug",
  ], ENVIRONMENT);
  t.teardown(() => sidecar.stop());
  return sidecar;
}

/** Returns the ARN that GetCallerIdentity returns for the issued credentials. */
export async function callerOf(endpoint: string, body: JsonObject): Promise<string> {
  const text = (name: string): string => stringAt(body, name) ?? "";
  const sessionToken = text("Token") === "" ? null : text("Token");
  const keys = { accessKeyID: text("AccessKeyId"), secretAccessKey: text("SecretAccessKey"), sessionToken };
  const sts = createSTS({ endpoint, region: null });
  return (await sts.callerIdentity({ ...keys, expirationMs: null }, new AbortController().signal)).arn;
}

/** The response to a request for an identity. `text` is the code of an error, or the access key ID. */
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: JsonObject;
}

/** A sidecar process that serves identities, and its STS. */
export class Subject {
  readonly errors: string[] = [];
  readonly cluster: Cluster;
  readonly sidecar: ServerProcess;
  readonly sts: Pick<STSEmulator, "calls">;

  constructor(cluster: Cluster, sidecar: ServerProcess, sts: Pick<STSEmulator, "calls">) {
    this.cluster = cluster;
    this.sidecar = sidecar;
    this.sts = sts;
  }

  async request(reference: string, namespace = "team-a"): Promise<Answer> {
    const { kind, name } = refTo(reference);
    const url = `http://${this.sidecar.address}/v1/credentials/identities/${kind}/${name}?namespace=${namespace}`;
    const { status, body } = await get(url, { authorization: TOKEN });
    if (status !== 200) this.errors.push(body);
    const parsed: unknown = JSON.parse(body);
    const object = isJsonObject(parsed) ? parsed : {};
    return { status, text: stringAt(object, status === 200 ? "AccessKeyId" : "code") ?? "", body: object };
  }

  /** Requests each identity, and returns the responses by reference. */
  async requestAll(): Promise<Record<string, string>> {
    const answers = await Promise.all(ALL.map(async (one) => [one, (await this.request(one)).text] as const));
    return Object.fromEntries(answers);
  }

  /** Returns the names of the roles that were assumed since `start`; `?` stands for GetCallerIdentity. */
  callsSince(start: number): string[] {
    return this.sts.calls.slice(start).map(({ roleARN }) => roleARN?.split("/").at(-1) ?? "?").toSorted();
  }

  /** Sends a merge patch as admin. */
  async patch(path: string, patch: object): Promise<void> {
    const { status, body } = await this.cluster.request("PATCH", path, patch, { headers: MERGE_PATCH });
    if (status !== 200) throw new Error(`${path}: ${stringAt(body, "message")}`);
  }

  /** Returns how often the sidecar has read a Secret. */
  async secretReads(): Promise<number> {
    const { body } = await get(`http://${this.sidecar.healthAddress}/metrics`);
    return Number(/^ack_role_resolver_sidecar_identity_secret_reads_total\{.*result="ok".*\} (\d+)$/m.exec(body)?.[1]);
  }
}

/** Waits until the response to a request is `expected`: the code of an error, or an access key ID. */
export async function untilAnswer(t: Test, subject: Subject, reference: string, expected: string): Promise<void> {
  let last = "";
  const isExpected = async (): Promise<boolean> => (last = (await subject.request(reference)).text) === expected;
  t.ok(await until(isExpected, EFFECT_LIMIT_MS), `${reference}: ${expected}, last ${last}`);
}
