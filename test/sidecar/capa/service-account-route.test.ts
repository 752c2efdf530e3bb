import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { controllerIdentity, identityObject, INFRASTRUCTURE, roleARN } from "../../shared/capa-objects.ts";
import { namespaceObject } from "../../shared/objects.ts";
import { MINUTE } from "../fake-sts.ts";
import { type Setup, SidecarUnderTest } from "../sidecar-under-test.ts";
import { TokenServer, tokenOf } from "./token-server.ts";

const KIND = "AWSServiceAccountIdentity";

function account(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  const named = { namespace: "team-a", uid: "uid-1", ...metadata };
  return identityObject(KIND, "capa", { roleARN: roleARN("capa"), ...spec }, named);
}

const OBJECTS = [namespaceObject("team-a"), namespaceObject("team-b"), controllerIdentity(), account()];
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

test("rejects an identity that is not granted without a token and without a call to STS", async (t) => {
  const server = new TokenServer();
  for (const [path, setup, code] of [
    [PATH.replace("team-a", "team-b"), {}, "ERR_IDENTITY_UNKNOWN"],
    [PATH, { scope: "team-b" }, "ERR_SELECTOR_NOT_GRANTED"],
    [PATH, { allowedAudiences: ["other"] }, "ERR_IDENTITY_AUDIENCE"],
  ] as const) {
    const sidecar = sidecarOf(server, setup);
    t.match((await sidecar.get(path)).json(), { code });
    t.same(sidecar.stsCalls, []);
  }
  t.same(server.requests, []);
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
