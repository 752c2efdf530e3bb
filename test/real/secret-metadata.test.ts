import { SECRETS } from "../../shared/capa/secrets.ts";
import type { Test } from "tap";
import { manifestObjects } from "../../manifests/render.ts";
import { stringAt } from "../../shared/formats/json.ts";
import { connectKubernetes } from "../../shared/api/kubeconfig.ts";
import { ClusterSource } from "../../shared/sources/cluster-source.ts";
import { ACK_SELECTOR_CRD } from "../fixtures/ack-selector-crd.ts";
import { eventually } from "../shared/sources/eventually.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { FAST_RETRY_CLOCK, onCluster } from "./apiserver/on-cluster.ts";
import { apply, MANIFEST_OPTIONS } from "./webhook/installed-webhook.ts";

const NAMESPACE = "capa-system";
const ENCODED = { AccessKeyID: "YQ==", SecretAccessKey: "Yg==" };
const PLAIN = { AccessKeyID: "a", SecretAccessKey: "b" };
const COMPLETE = "AccessKeyID present, SecretAccessKey present, SessionToken missing";
const SHORT = "AccessKeyID present, SecretAccessKey missing, SessionToken missing";
const KEEPS = "AccessKeyID present, SecretAccessKey unknown, SessionToken unknown";
const SESSION_UNKNOWN = "AccessKeyID present, SecretAccessKey present, SessionToken unknown";

/** A Secret and a way to write it. `apply` and `server` apply a manifest; `patch` is a merge patch. */
type How = "create" | "apply" | "server" | "patch" | "json-patch";
type Write = readonly [how: How, content: object, states: string | null];

const WRITES: Readonly<Record<string, readonly Write[]>> = {
  created: [
    ["create", PLAIN, COMPLETE],
    ["patch", { data: { SecretAccessKey: null, secretAccessKey: "Yg==" } },
      "AccessKeyID present, SecretAccessKey missing secretAccessKey, SessionToken missing"],
    ["json-patch", [{ op: "replace", path: "/metadata/managedFields", value: [{}] }], null],
    ["patch", { data: { SecretAccessKey: "Yg==" } }, null],
  ],
  applied: [["apply", { data: ENCODED }, COMPLETE], ["apply", { data: { AccessKeyID: "YQ==" } }, SHORT]],
  "applied-plain": [["apply", { stringData: PLAIN }, COMPLETE]],
  "server-side": [["server", { data: ENCODED }, COMPLETE], ["server", { data: { AccessKeyID: "YQ==" } }, SHORT]],
  // The Secret keeps SecretAccessKey, although the manager no longer owns it.
  "server-side-plain": [
    ["server", { stringData: PLAIN }, SESSION_UNKNOWN], ["server", { stringData: { AccessKeyID: "a" } }, KEEPS],
  ],
};

onCluster("the metadata of Secrets on a real API server", async (t, cluster) => {
  await cluster.installCRDs([ACK_SELECTOR_CRD]);
  for (const name of [NAMESPACE, "ack-system"]) {
    await cluster.request("POST", "/api/v1/namespaces", { metadata: { name } });
  }
  await apply(cluster, manifestObjects("rbac", { ...MANIFEST_OPTIONS, identitySecretNamespace: NAMESPACE }));
  const source = new ClusterSource({
    runtime: "ack", clock: FAST_RETRY_CLOCK, resources: { extraGroups: [] }, identitySecretNamespace: NAMESPACE,
    api: await connectKubernetes({ kubeconfig: cluster.kubeconfig, context: "webhook" }),
  });
  t.teardown(() => source.stop());
  await source.start();
  await eventually(source, () => source.inventory.includes(SECRETS));
  for (const [name, writes] of Object.entries(WRITES)) {
    await t.test(`reads the names of the keys after each write: ${name}`, async (tt) => {
      for (const write of writes) await readsKeys(tt, { cluster, source, name, write });
    });
  }
  await t.test("the role of the webhook allows listing Secrets in one namespace only", async (tt) => {
    const statusOf = async (path: string): Promise<number> => (
      (await cluster.request("GET", path, undefined, { user: "webhook" })).status
    );
    tt.equal(await statusOf(`/api/v1/namespaces/${NAMESPACE}/secrets`), 200);
    tt.equal(await statusOf(`/api/v1/namespaces/${NAMESPACE}/secrets/created`), 403);
    tt.equal(await statusOf("/api/v1/namespaces/ack-system/secrets"), 403);
    tt.equal(await statusOf("/api/v1/secrets"), 403);
  });
});

interface Written {
  readonly cluster: Cluster;
  readonly source: ClusterSource;
  readonly name: string;
  readonly write: Write;
}

async function readsKeys(t: Test, { cluster, source, name, write: [how, content, expected] }: Written): Promise<void> {
  const { code, stderr } = await cluster.kubectl(...argumentsOf(name, how, content));
  t.equal(code, 0, stderr);
  const states = (): string | null => {
    const keys = source.inventory.of(SECRETS).get(NAMESPACE, name)?.keys ?? null;
    const texts = keys?.map(({ name: key, state, similar }) => [key, state, similar ?? []].flat().join(" "));
    return texts?.join(", ") ?? null;
  };
  await eventually(source, () => source.inventory.of(SECRETS).get(NAMESPACE, name) !== null && states() === expected);
  t.equal(states(), expected);
  const { body } = await cluster.request("GET", `/api/v1/namespaces/${NAMESPACE}/secrets/${name}`);
  t.equal(stringAt(body, "kind"), "Secret");
}

function argumentsOf(name: string, how: How, content: object): Parameters<Cluster["kubectl"]> {
  const inNamespace = ["--namespace", NAMESPACE];
  const patch = (type: string): Parameters<Cluster["kubectl"]> => (
    [[...inNamespace, "patch", "secret", name, `--type=${type}`, "-p", JSON.stringify(content)]]
  );
  if (how === "patch") return patch("merge");
  if (how === "json-patch") return patch("json");
  if (how === "create") {
    const literals = Object.entries(PLAIN).map(([key, value]) => `--from-literal=${key}=${value}`);
    return [[...inNamespace, "create", "secret", "generic", name, ...literals]];
  }
  const manifest = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: NAMESPACE }, ...content };
  const input = JSON.stringify(manifest);
  return [["apply", ...(how === "server" ? ["--server-side"] : []), "-f", "-"], { input }];
}
