import { writeFile } from "node:fs/promises";
import { test } from "tap";
import { connectKubernetes, kubernetesConnector } from "../../../../shared/inventory/cluster/kubeconfig.ts";
import { FakeAPIServer } from "./fake-api-server.ts";

const CLUSTERS = {
  https: { server: "https://192.0.2.1:6443/prefix", "certificate-authority-data": Buffer.from("CA").toString("base64") },
  proxied: { server: "https://192.0.2.1:6443", "proxy-url": "http://127.0.0.1:1" },
  loopback: { server: "http://127.0.0.1:8001" },
  clear: { server: "http://192.0.2.1:8001" },
  serverless: { server: "x" },
};

/** A kubeconfig with a context for each cluster, all as a user with a token. */
function kubeconfig(token: string, current: string | null = "https"): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    ...(current === null ? {} : { "current-context": current }),
    clusters: Object.entries(CLUSTERS).map(([name, cluster]) => ({ name, cluster })),
    users: [{ name: "u", user: { token } }],
    contexts: [...Object.keys(CLUSTERS).map((name) => ({ name, context: { cluster: name, user: "u" } })), { name: "lost", context: { cluster: "nowhere", user: "u" } }],
  });
}

test("the file's current context, or the one chosen", async (t) => {
  const folder = t.testdir({ config: kubeconfig("t1") });
  const connect = await kubernetesConnector({ kubeconfig: `${folder}/config`, context: null });
  const { server, options } = await connect(false);
  t.equal(server, "https://192.0.2.1:6443/prefix");
  t.match(options, { headers: { Authorization: "Bearer t1" }, agent: false });
  t.equal(String(options.ca), "CA");
  const proxied = await (await kubernetesConnector({ kubeconfig: `${folder}/config`, context: "proxied" }))(false);
  t.match(proxied.options.agent, Object, "a proxy needs its agent");
});

test("a refused credential is read again from the file, an accepted one is not", async (t) => {
  const folder = t.testdir({ config: kubeconfig("t1") });
  const connect = await kubernetesConnector({ kubeconfig: `${folder}/config`, context: null });
  await writeFile(`${folder}/config`, kubeconfig("t2"));
  t.match((await connect(false)).options, { headers: { Authorization: "Bearer t1" } });
  t.match((await connect(true)).options, { headers: { Authorization: "Bearer t2" } });
});

test("plain HTTP carries no credential", async (t) => {
  const folder = t.testdir({ config: kubeconfig("t1") });
  const connect = await kubernetesConnector({ kubeconfig: `${folder}/config`, context: "loopback" });
  t.same(await connect(false), { server: "http://127.0.0.1:8001", options: {} });
});

test("what is connected answers requests", async (t) => {
  const fake = new FakeAPIServer();
  await fake.start();
  t.teardown(() => fake.stop());
  const folder = t.testdir({ config: kubeconfig("t1").replace("http://127.0.0.1:8001", fake.url) });
  const api = await connectKubernetes({ kubeconfig: `${folder}/config`, context: "loopback" });
  const answer = api.request({ path: "/version", signal: AbortSignal.timeout(20_000) });
  const held = await fake.next();
  t.equal(held.headers.authorization, undefined);
  held.answer(200, "{}");
  t.equal((await answer).status, 200);
});

const FAULTS: readonly (readonly [name: string, context: string | null, message: string])[] = [
  ["an unknown context", "other", 'the kubeconfig has no context "other"; choose one with --context: https, proxied, loopback, clear, serverless, lost'],
  ["a context without a cluster", "lost", 'the context "lost" names no cluster with a server URL; mend it in the kubeconfig'],
  ["a cluster without a server", "serverless", 'the context "serverless" names no cluster with a server URL; mend it in the kubeconfig'],
  ["a server in the clear", "clear", "the server http://192.0.2.1:8001 must be https; http is taken on loopback alone, for kubectl proxy"],
];

for (const [name, context, message] of FAULTS) {
  test(`${name} is one clear error`, async (t) => {
    const folder = t.testdir({ config: kubeconfig("t1") });
    await t.rejects(kubernetesConnector({ kubeconfig: `${folder}/config`, context }), { code: "ERR_CONFIG_KUBECONFIG", message });
  });
}

test("a file that is missing, is no YAML, or has no context at all", async (t) => {
  const folder = t.testdir({ broken: "a: [", empty: "{}", headless: kubeconfig("t1", null) });
  const fault = async (file: string, message: RegExp): Promise<void> => {
    await t.rejects(kubernetesConnector({ kubeconfig: `${folder}/${file}`, context: null }), { code: "ERR_CONFIG_KUBECONFIG", message });
  };
  await fault("missing", /missing cannot be read: ENOENT/);
  await fault("broken", /broken cannot be read: /);
  await fault("empty", /^the kubeconfig has no current context; choose one with --context: it has none$/);
  await fault("headless", /^the kubeconfig has no current context; choose one with --context: https, proxied, /);
});
