import { writeFile } from "node:fs/promises";
import { test } from "tap";
import { connectKubernetes, kubernetesConnector } from "../../../shared/api/kubeconfig.ts";
import { FakeAPIServer } from "./fake-api-server.ts";

const CLUSTERS = {
  https: {
    server: "https://192.0.2.1:6443/prefix",
    "certificate-authority-data": Buffer.from("CA").toString("base64"),
  },
  proxied: { server: "https://192.0.2.1:6443", "proxy-url": "http://127.0.0.1:1" },
  loopback: { server: "http://127.0.0.1:8001" },
  clear: { server: "http://192.0.2.1:8001" },
  serverless: { server: "x" },
};

/** Returns a kubeconfig with a context for each cluster, and one user with a token. */
function kubeconfig(token: string, current: string | null = "https"): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    ...(current === null ? {} : { "current-context": current }),
    clusters: Object.entries(CLUSTERS).map(([name, cluster]) => ({ name, cluster })),
    users: [{ name: "u", user: { token } }],
    contexts: [
      ...Object.keys(CLUSTERS).map((name) => ({ name, context: { cluster: name, user: "u" } })),
      { name: "lost", context: { cluster: "nowhere", user: "u" } },
    ],
  });
}

test("connects to the current context, or to the context that the user sets", async (t) => {
  const folder = t.testdir({ config: kubeconfig("t1") });
  const connect = await kubernetesConnector({ kubeconfig: `${folder}/config`, context: null });
  const { server, options } = await connect(false);
  t.equal(server, "https://192.0.2.1:6443/prefix");
  t.match(options, { headers: { Authorization: "Bearer t1" }, agent: false });
  t.equal(String(options.ca), "CA");
  const proxied = await (await kubernetesConnector({ kubeconfig: `${folder}/config`, context: "proxied" }))(false);
  t.match(proxied.options.agent, Object, "a proxy needs an agent");
});

test("reads the kubeconfig again only after a 401 response", async (t) => {
  const folder = t.testdir({ config: kubeconfig("t1") });
  const connect = await kubernetesConnector({ kubeconfig: `${folder}/config`, context: null });
  await writeFile(`${folder}/config`, kubeconfig("t2"));
  t.match((await connect(false)).options, { headers: { Authorization: "Bearer t1" } });
  t.match((await connect(true)).options, { headers: { Authorization: "Bearer t2" } });
});

test("does not send credentials over plain HTTP", async (t) => {
  const folder = t.testdir({ config: kubeconfig("t1") });
  const connect = await kubernetesConnector({ kubeconfig: `${folder}/config`, context: "loopback" });
  t.same(await connect(false), { server: "http://127.0.0.1:8001", options: {} });
});

test("sends requests to the server of the context", async (t) => {
  const fake = new FakeAPIServer();
  await fake.start();
  t.teardown(() => fake.stop());
  const folder = t.testdir({ config: kubeconfig("t1").replace("http://127.0.0.1:8001", fake.url) });
  const api = await connectKubernetes({ kubeconfig: `${folder}/config`, context: "loopback" });
  const answer = api.request({ path: "/version", signal: AbortSignal.timeout(20_000) });
  const request = await fake.next();
  t.equal(request.headers.authorization, undefined);
  request.answer(200, "{}");
  t.equal((await answer).status, 200);
});

const FAULTS: readonly (readonly [name: string, context: string | null, message: string])[] = [
  [
    "an unknown context", "other",
    'The kubeconfig has no context "other". '
      + "Set --context to one of: https, proxied, loopback, clear, serverless, lost.",
  ],
  [
    "a context without a cluster", "lost",
    'The context "lost" has no cluster with a server URL. Correct the context in the kubeconfig.',
  ],
  [
    "a cluster without a server URL", "serverless",
    'The context "serverless" has no cluster with a server URL. Correct the context in the kubeconfig.',
  ],
  [
    "a server without TLS", "clear",
    "The server http://192.0.2.1:8001 does not use https. "
      + "Change its URL; http is allowed only on loopback, for kubectl proxy.",
  ],
];

for (const [name, context, message] of FAULTS) {
  test(`rejects ${name}`, async (t) => {
    const folder = t.testdir({ config: kubeconfig("t1") });
    const connector = kubernetesConnector({ kubeconfig: `${folder}/config`, context });
    await t.rejects(connector, { code: "ERR_CONFIG_KUBECONFIG", message });
  });
}

test("rejects a kubeconfig that is missing, is not YAML, or has no current context", async (t) => {
  const folder = t.testdir({ broken: "a: [", empty: "{}", headless: kubeconfig("t1", null) });
  const fault = async (file: string, message: RegExp): Promise<void> => {
    const connector = kubernetesConnector({ kubeconfig: `${folder}/${file}`, context: null });
    await t.rejects(connector, { code: "ERR_CONFIG_KUBECONFIG", message });
  };
  await fault("missing", /missing cannot be read: ENOENT/);
  await fault("broken", /broken cannot be read: /);
  await fault("empty", /^The kubeconfig has no contexts\. Set KUBECONFIG or --kubeconfig to a file with a context\.$/);
  await fault("headless", /^The kubeconfig has no current context\. Set --context to one of: https, proxied, /);
});
