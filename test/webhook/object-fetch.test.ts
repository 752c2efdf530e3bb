import { Readable } from "node:stream";
import { test } from "tap";
import { pendingSelectors } from "../../shared/ack/pending-selectors.ts";
import { pendingIdentities } from "../../shared/capa/pending-identities.ts";
import type { KubernetesAPI, KubernetesRequest } from "../../shared/api/api.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { NAMESPACES_ON_SERVER, objectFetcher } from "../../webhook/object-fetch.ts";
import { FakeClock } from "../sidecar/fake-clock.ts";

const SELECTORS = pendingSelectors("ack");
const log = createLogger({ name: "webhook", level: "silent" });

function apiOf(respond: (request: KubernetesRequest) => Promise<[status: number, body: string]>): KubernetesAPI {
  return {
    async request(request) {
      const [status, body] = await respond(request);
      return { status, headers: {}, body: Readable.from([Buffer.from(body)]) };
    },
  };
}

test("returns the selector, or `absent` if the API server has no such selector", async (t) => {
  const paths: string[] = [];
  const fetchSelector = objectFetcher(SELECTORS, {
    api: apiOf(async ({ path }) => {
      paths.push(path);
      return path.endsWith("/team-a") ? [200, '{"kind":"IAMRoleSelector"}'] : [404, '{"kind":"Status"}'];
    }),
    clock: new FakeClock(),
    log,
  });
  const found = await Promise.all([fetchSelector("team-a"), fetchSelector("team-a"), fetchSelector("b")]);
  t.same(found, [{ kind: "IAMRoleSelector" }, { kind: "IAMRoleSelector" }, "absent"]);
  const folder = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
  t.same(paths, [`${folder}/team-a`, `${folder}/b`], "concurrent fetches of one selector share a request");
});

test("a fetch does not share a request that was sent before it", async (t) => {
  const paths: string[] = [];
  const sent = Promise.withResolvers<void>();
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const fetchNamespace = objectFetcher(NAMESPACES_ON_SERVER, {
    api: apiOf(async ({ path }) => {
      const answer = answers[paths.push(path) - 1];
      sent.resolve();
      await answer?.promise;
      return [200, JSON.stringify({ kind: "Namespace", request: paths.length })];
    }),
    clock: new FakeClock(),
    log,
  });
  const first = fetchNamespace("team-a");
  await sent.promise;
  const second = fetchNamespace("team-a");
  for (const { resolve } of answers) resolve();
  await Promise.all([first, second]);
  t.equal(paths.length, 2, "the first answer may be older than the second call");
});

test("returns the namespace, or `absent` if the API server has no such namespace", async (t) => {
  const api = apiOf(async ({ path }) => [path === "/api/v1/namespaces/team-a" ? 200 : 404, '{"kind":"Namespace"}']);
  const fetchNamespace = objectFetcher(NAMESPACES_ON_SERVER, { api, clock: new FakeClock(), log });
  t.same(await fetchNamespace("team-a"), { kind: "Namespace" });
  t.equal(await fetchNamespace("b"), "absent");
});

test("lists a role identity by its name, because the webhook may not get identities", async (t) => {
  const answers = [
    [200, '{"apiVersion":"g/v1","items":[{"metadata":{"name":"a"}}]}'], [200, '{"items":[]}'], [404, "{}"],
  ] as const;
  const paths: string[] = [];
  const fetchRoleIdentity = objectFetcher(pendingIdentities("ack"), {
    api: apiOf(async ({ path }) => {
      paths.push(path);
      return [...answers[paths.length - 1] ?? [500, ""]];
    }),
    clock: new FakeClock(),
    log,
  });
  const identity = { apiVersion: "g/v1", kind: "AWSClusterRoleIdentity", metadata: { name: "a" } };
  t.same(await fetchRoleIdentity("a"), identity);
  t.equal(await fetchRoleIdentity("a"), "absent");
  t.equal(await fetchRoleIdentity("a"), "unknown", "the API server does not serve the kind in this version");
  const folder = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsclusterroleidentities";
  t.equal(paths[0], `${folder}?fieldSelector=metadata.name%3Da`);
});

test("returns `unknown` if the API server fails or is late, or if the name is not a valid path segment", async (t) => {
  const clock = new FakeClock();
  const answers: Record<string, [number, string]> = { forbidden: [403, "{}"], text: [200, "text"], list: [200, "[]"] };
  const requested: string[] = [];
  const fetchSelector = objectFetcher(SELECTORS, {
    api: apiOf(async ({ path, signal }) => {
      const name = path.split("/").at(-1) ?? "";
      requested.push(name);
      if (name === "late") await new Promise((_, reject) => signal.addEventListener("abort", reject));
      return answers[name] ?? [500, ""];
    }),
    clock,
    log,
  });
  for (const name of ["forbidden", "text", "list", "broken"]) t.equal(await fetchSelector(name), "unknown", name);
  const late = fetchSelector("late");
  await clock.advance(500);
  t.equal(await late, "unknown");
  t.equal(clock.scheduled, 0);
  requested.length = 0;
  const invalid = ["..", "../../../v1/secrets", "a?x=1", "A", ""];
  for (const name of invalid) t.equal(await fetchSelector(name), "unknown", name);
  t.same(requested, []);
});

test("returns `unknown` immediately while 512 objects are fetched or wait, and fetches again later", async (t) => {
  const { promise: isAvailable, resolve: respond } = Promise.withResolvers<void>();
  let requests = 0;
  const api = apiOf(async () => {
    requests += 1;
    await isAvailable;
    return [404, "{}"];
  });
  const fetchNamespace = objectFetcher(NAMESPACES_ON_SERVER, { api, clock: new FakeClock(), log });
  const waiting = Array.from({ length: 512 }, async (_, i) => fetchNamespace(`forged-${i}`));
  t.equal(await fetchNamespace("team-a"), "unknown");
  await new Promise((done) => setImmediate(done));
  t.equal(requests, 8);
  respond();
  t.same(new Set(await Promise.all(waiting)), new Set(["absent"]));
  t.equal(await fetchNamespace("team-a"), "absent");
});
