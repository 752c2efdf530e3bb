import { test } from "tap";
import type { ServiceAccountIdentity } from "../../../shared/capa/identity.ts";
import { ServiceAccountTokens } from "../../../sidecar/capa/service-account-tokens.ts";
import { accountIdentity } from "./setup.ts";
import { FakeClock } from "../fake-clock.ts";
import { PLANTED, TokenServer, tokenOf } from "./token-server.ts";

const IDENTITY: ServiceAccountIdentity = accountIdentity({ audiences: ["sts.amazonaws.com", "b"] });
const PATH = "/api/v1/namespaces/team-a/serviceaccounts/capa/token";

class Setup {
  readonly clock = new FakeClock();
  readonly server = new TokenServer();
  readonly results: string[] = [];
  readonly tokens = new ServiceAccountTokens({
    api: this.server.api, clock: this.clock, onRequest: (result) => void this.results.push(result),
  });
}

test("requests a token of the ServiceAccount, with the audiences and the lifetime of the identity", async (t) => {
  const { tokens, server, results } = new Setup();
  t.same(await tokens.request(IDENTITY), { token: tokenOf(1), issuer: "https://oidc.example/cluster" });
  t.match(server.requests, [{ method: "POST", path: PATH }]);
  t.same(JSON.parse(server.requests[0]?.body ?? ""), {
    apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest",
    spec: { audiences: ["sts.amazonaws.com", "b"], expirationSeconds: 86_400 },
  });
  t.equal((await tokens.request(IDENTITY)).token, tokenOf(2), "each call requests a new token");
  t.same(results, ["ok", "ok"]);
});

test("names the object to create if the API server rejects the request, and omits its message", async (t) => {
  const setup = new Setup();
  const prefix = `AWSServiceAccountIdentity "capa" has no token. POST ${PATH}: the API server returned`;
  const cases: readonly (readonly [status: number, reason: string, code: string, fix: string])[] = [
    [403, "Forbidden", "ERR_IDENTITY_TOKEN", "In the namespace team-a, create the Role "
      + "ack-role-resolver-identity-tokens, which allows the verb create on serviceaccounts/token with the "
      + "resourceNames [capa], and bind it to the service account of the sidecar."],
    [404, "NotFound", "ERR_IDENTITY_TOKEN", "In the namespace team-a, create the ServiceAccount capa."],
    [422, "Invalid", "ERR_IDENTITY_TOKEN", "Correct the audiences and expirationSeconds of the identity."],
    [401, "Unauthorized", "ERR_CLUSTER_UNREADABLE", "Retry the request."],
    [429, "TooManyRequests", "ERR_CLUSTER_UNREADABLE", "Retry the request."],
    [500, "InternalError", "ERR_CLUSTER_UNREADABLE", "Retry the request."],
  ];
  for (const [status, reason, code, fix] of cases) {
    Object.assign(setup.server, { status, reason });
    await t.rejects(setup.tokens.request(IDENTITY), { code, message: `${prefix} ${status} (${reason}). ${fix}` });
  }
  t.same(setup.results, ["rejected", "rejected", "rejected", "failed", "failed", "failed"]);
});

test("rejects a response without a valid token, and does not quote it", async (t) => {
  const setup = new Setup();
  for (const token of ["", "abc", PLANTED.repeat(3_000)]) {
    setup.server.token = token;
    const error: unknown = await setup.tokens.request(IDENTITY).catch((reason: unknown) => reason);
    t.match(error, { code: "ERR_CLUSTER_UNREADABLE", message: /the API server returned no valid token\. Retry/ });
    t.notMatch(String(error), PLANTED);
  }
  setup.server.token = "no-jwt";
  t.same(await setup.tokens.request(IDENTITY), { token: "no-jwt", issuer: "" });
});

test("rejects if the API server does not respond within 2 s", async (t) => {
  const { tokens, server, clock, results } = new Setup();
  const { promise, reject } = Promise.withResolvers<undefined>();
  server.before = () => promise;
  const request = tokens.request(IDENTITY);
  const rejected = t.rejects(request, {
    code: "ERR_CLUSTER_UNREADABLE",
    message: `AWSServiceAccountIdentity "capa" has no token. POST ${PATH}: no response. Retry the request.`,
  });
  server.requests[0]?.signal.addEventListener("abort", () => reject(new Error(PLANTED)));
  await clock.advance(2_000);
  await rejected;
  t.same(results, ["failed"]);
});

test("rejects a response that is too large, and reads at most 8 responses at a time", async (t) => {
  const { tokens, server, results } = new Setup();
  server.token = "x".repeat(300_000);
  await t.rejects(tokens.request(IDENTITY), { code: "ERR_CLUSTER_UNREADABLE" });
  t.same(results, ["failed"]);
  server.token = null;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  server.before = () => promise;
  const requests = Array.from({ length: 20 }, () => tokens.request(IDENTITY));
  t.equal(server.requests.length, 1 + 8);
  resolve(undefined);
  t.equal((await Promise.all(requests)).length, 20);
});
