import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import {
  controllerIdentity, identityObject, INFRASTRUCTURE, roleARN, roleIdentity,
} from "../../shared/capa-objects.ts";
import { namespaceObject, put } from "../../shared/objects.ts";
import { MINUTE } from "../fake-sts.ts";
import { type Setup, SidecarUnderTest } from "../sidecar-under-test.ts";
import { TokenServer, tokenOf } from "../identities/token-server.ts";

const KIND = "AWSServiceAccountIdentity";

function account(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  const named = { namespace: "team-a", uid: "uid-1", ...metadata };
  return identityObject(KIND, "capa", { roleARN: roleARN("capa"), ...spec }, named);
}

const OBJECTS = [namespaceObject("team-a"), namespaceObject("team-b"), controllerIdentity(), account()];
const REMOVAL = { type: "remove", group: INFRASTRUCTURE, kind: KIND, namespace: "team-a", name: "capa" } as const;
const PATH = `/v1/credentials/identities/${KIND}/capa?namespace=team-a`;
const TOKEN_PATH = "/api/v1/namespaces/team-a/serviceaccounts/capa/token";

function sidecarOf(server: TokenServer, setup: Setup = {}): SidecarUnderTest {
  return new SidecarUnderTest({ groups: [INFRASTRUCTURE], objects: OBJECTS, api: server.api, ...setup });
}

test("issues the session of a service account identity, with a token of its ServiceAccount", async (t) => {
  const server = new TokenServer();
  const sidecar = sidecarOf(server);
  const answer = await sidecar.get(PATH);
  t.match([answer.statusCode, answer.json()], [200, { AccessKeyId: "ASIA1", AccountId: "111122223333" }]);
  t.same(server.paths, [TOKEN_PATH]);
  t.same(sidecar.tokens, [tokenOf(1)]);
  t.same(sidecar.signers, [], "the call is not signed");
  t.equal((await sidecar.get(PATH)).statusCode, 200);
  t.equal(server.requests.length, 1, "the session is cached");
});

test("rejects each invalid request without a token and without a call to STS", async (t) => {
  const server = new TokenServer();
  const cases: readonly (readonly [JsonObject, string, number, string])[] = [
    [account({ audiences: ["https://kubernetes.default.svc"] }), PATH, 403, "ERR_IDENTITY_AUDIENCE"],
    [account({ audiences: ["sts.amazonaws.com", "x"] }), PATH, 403, "ERR_IDENTITY_AUDIENCE"],
    [account({ expirationSeconds: 60 }), PATH, 409, "ERR_IDENTITY_SESSION"],
    [account({ inlinePolicy: "no JSON" }), PATH, 409, "ERR_IDENTITY_SESSION"],
    [account(), PATH.replace("team-a", "team-b"), 404, "ERR_IDENTITY_UNKNOWN"],
    [account(), PATH.replace("team-a", "team-c"), 404, "ERR_NAMESPACE_UNKNOWN"],
    [account(), PATH.replace("?namespace=team-a", ""), 400, "ERR_REQUEST_MALFORMED"],
    [roleIdentity("r", "account/capa"), "/v1/credentials/identities/AWSClusterRoleIdentity/r?namespace=team-a", 404,
      "ERR_IDENTITY_KIND"],
  ];
  for (const [object, path, status, code] of cases) {
    const sidecar = sidecarOf(server, { objects: [...OBJECTS, object] });
    const answer = await sidecar.get(path);
    t.match([answer.statusCode, answer.json()], [status, { code }], path);
    t.same(sidecar.stsCalls, []);
  }
  const scoped = sidecarOf(server, { scope: "team-b" });
  t.match((await scoped.get(PATH)).json(), { code: "ERR_SELECTOR_NOT_GRANTED" });
  const settings = sidecarOf(server, { allowedAudiences: ["other"] });
  t.match((await settings.get(PATH)).json(), { code: "ERR_IDENTITY_AUDIENCE" });
  t.same(server.requests, []);
});

test("names the Role if the API server issues no token, and issues the session after it is created", async (t) => {
  const server = new TokenServer();
  Object.assign(server, { status: 403, reason: "Forbidden" });
  const sidecar = sidecarOf(server);
  const answer = await sidecar.get(PATH);
  t.match([answer.statusCode, answer.json()], [409, {
    code: "ERR_IDENTITY_TOKEN",
    message: /create the Role ack-role-resolver-identity-tokens, .* the resourceNames \[capa\], and bind it to/,
  }]);
  t.same([sidecar.stsCalls.length, sidecar.tokenResults], [0, ["rejected"]]);
  server.status = 201;
  await sidecar.clock.advance(MINUTE);
  t.equal((await sidecar.get(PATH)).statusCode, 200);
});

test("rejects the identity with --from, which has no API server", async (t) => {
  const sidecar = new SidecarUnderTest({ groups: [INFRASTRUCTURE], objects: OBJECTS });
  const answer = await sidecar.get(PATH);
  const body = { code: "ERR_IDENTITY_TOKEN", message: /with --from, .* --cluster/ };
  t.match([answer.statusCode, answer.json()], [409, body]);
  t.same(sidecar.stsCalls, []);
});

test("a changed or recreated identity gets a new session, and a deleted one gets none", async (t) => {
  const server = new TokenServer();
  const sidecar = sidecarOf(server);
  await sidecar.get(PATH);
  sidecar.inventory.apply([put(account({ expirationSeconds: 3600 }))]);
  t.match((await sidecar.get(PATH)).json(), { AccessKeyId: "ASIA2" });
  sidecar.inventory.apply([REMOVAL]);
  t.match((await sidecar.get(PATH)).json(), { code: "ERR_IDENTITY_UNKNOWN" });
  sidecar.inventory.apply([put(account({ expirationSeconds: 3600 }, { uid: "uid-2" }))]);
  t.match((await sidecar.get(PATH)).json(), { AccessKeyId: "ASIA3" });
  sidecar.inventory.apply([put(account({ audiences: ["foreign"] }))]);
  t.match((await sidecar.get(PATH)).json(), { code: "ERR_IDENTITY_AUDIENCE" });
  t.equal(server.requests.length, 3);
});

test("no log line, metric or response contains a token", async (t) => {
  const server = new TokenServer();
  const stsError = { stsCode: "AccessDenied", stsStatus: 403 };
  let isDenied = true;
  const sidecar: SidecarUnderTest = sidecarOf(server, {
    assumeRole: async (request) => {
      if (isDenied) throw new UpstreamSTSError("STS returned AccessDenied.", stsError);
      return sidecar.session(request);
    },
  });
  const bodies = [(await sidecar.get(PATH)).body];
  isDenied = false;
  Object.assign(server, { status: 500, reason: "InternalError" });
  await sidecar.clock.advance(2 * MINUTE);
  bodies.push((await sidecar.get(PATH)).body);
  server.status = 201;
  await sidecar.clock.advance(MINUTE);
  const issued = await sidecar.get(PATH);
  t.equal(issued.statusCode, 200);
  t.match(bodies.join(""), /ERR_STS_REFUSED.*system:serviceaccount:team-a:capa.*ERR_CLUSTER_UNREADABLE/);
  const output = [...sidecar.logLines, ...bodies, await sidecar.registry.metrics()].join("\n");
  const parts = sidecar.tokens.flatMap((token) => token.split("."));
  t.same([sidecar.tokens.length, parts.length], [2, 6]);
  t.same(parts.filter((part) => output.includes(part)), []);
});
