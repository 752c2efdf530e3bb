import { serviceAccountIdentityCRD } from "../../manifests/capa/parts.ts";
import { createPublicKey, verify } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { manifestObjects } from "../../manifests/render.ts";
import { field, isJsonObject, type JsonObject, parseJSON, stringAt } from "../../shared/formats/json.ts";
import { codeBlocks } from "../documented-commands.ts";
import { ACK_SELECTOR_CRD } from "../fixtures/ack-selector-crd.ts";
import { get } from "../loopback-request.ts";
import { MOTO, wheelsIn } from "../programs/wheels.ts";
import { apiRequest, type ApiResponse } from "./apiserver/api-request.ts";
import type { Cluster, InstalledCRD } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";
import { until } from "./apiserver/until.ts";
import { findPrograms } from "./find-programs.ts";
import { callerOf, EFFECT_LIMIT_MS, IDENTITIES, startWith, Subject, untilAnswer } from "./identity-subject.ts";
import { type RecordedSTS, recordSTS } from "./recorded-sts.ts";
import { startMoto } from "./sdks/moto.ts";
import { apply, MANIFEST_OPTIONS } from "./webhook/installed-webhook.ts";

const PAGE = await readFile(new URL("../../docs/cluster-api.md", import.meta.url), "utf8");
/** The documented objects of a namespace that opts in, and the documented rights of the sidecar. */
const DOCUMENTED = ["serviceaccounts/token", "kind: ClusterRoleBinding"].map((text) => blockWith(text)).join("---\n");
const NAME = "team-a-clusters";
const ISSUER = "https://kubernetes.default.svc.cluster.local";
const SIDECAR = "system:serviceaccount:cluster-tools:cluster-tools";
/** The API server applies a new Role within a second, and the sidecar retries within some seconds. */
const ROLE_LIMIT_MS = 15_000;
const IDENTITY = `${IDENTITIES}/namespaces/team-a/awsserviceaccountidentities/${NAME}`;

onCluster("the sidecar issues the credentials of service account identities in a cluster", async (t, cluster) => {
  const folders = await findPrograms(t, MOTO);
  if (folders === null) return;
  const sts = await recordSTS(t, await startMoto(t, await wheelsIn(folders[0])));
  await install(cluster);
  const kubeconfig = await writeKubeconfig(t, cluster);
  const subject = new Subject(cluster, await startWith(t, sts.url, ["--kubeconfig", kubeconfig]), { calls: [] });
  const setup = { subject, sts };
  await t.test("STS receives a token of the ServiceAccount for STS only", async (tt) => testToken(tt, setup));
  await t.test("a changed or recreated identity has a new session within 2 s", async (tt) => testChanges(tt, setup));
  await t.test("requests no token with the audience of the API server", async (tt) => testAudience(tt, setup));
  await t.test("issues nothing to a namespace that has not opted in", async (tt) => testOptIn(tt, setup));
  await t.test("names a ServiceAccount that does not exist", async (tt) => testMissingAccount(tt, setup));
  await t.test("uses the documented rights only", async (tt) => testRights(tt, setup));
  await testNoTokens(t, setup);
});

function blockWith(text: string): string {
  const [, block] = codeBlocks(PAGE, "yaml").find(([, content]) => content.includes(text)) ?? [];
  if (block === undefined) throw new Error(`the page has no manifest with ${text}`);
  return block;
}

interface Setup {
  readonly subject: Subject;
  readonly sts: RecordedSTS;
}

/** Creates the documented objects as admin. The ClusterRoles are those of `manifests rbac`. */
async function install(cluster: Cluster): Promise<void> {
  const installable = serviceAccountIdentityCRD();
  if (!isCRD(installable)) throw new Error("not a CRD");
  await cluster.installCRDs([ACK_SELECTOR_CRD, installable]);
  for (const name of ["team-a", "team-b", "cluster-tools", "ack-system"]) {
    await cluster.request("POST", "/api/v1/namespaces", { metadata: { name } });
  }
  await apply(cluster, manifestObjects("rbac", MANIFEST_OPTIONS));
  await applyText(cluster, DOCUMENTED);
  await cluster.request("POST", "/api/v1/namespaces/cluster-tools/serviceaccounts", {
    metadata: { name: "cluster-tools" },
  });
}

function isCRD(object: object): object is InstalledCRD {
  return "kind" in object && object.kind === "CustomResourceDefinition";
}

async function applyText(cluster: Cluster, input: string): Promise<void> {
  const { code, stderr } = await cluster.kubectl(["apply", "-f", "-"], { input });
  if (code !== 0) throw new Error(`the API server rejected the documented objects: ${stderr}`);
}

/** Requests a token as admin. `audiences` [] stands for the audience of the API server. */
async function requestToken(cluster: Cluster, account: string, audiences: readonly string[]): Promise<string> {
  const [namespace, name] = account.split("/");
  const spec = audiences.length === 0 ? {} : { audiences };
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const { body } = await cluster.request("POST", path, { kind: "TokenRequest", spec });
  return stringAt(body, "status", "token") ?? "";
}

/** Writes a kubeconfig with a real token of the service account of the sidecar. */
async function writeKubeconfig(t: Test, cluster: Cluster): Promise<string> {
  const token = await requestToken(cluster, "cluster-tools/cluster-tools", []);
  const file = join(t.testdir({}), "kubeconfig");
  await writeFile(file, JSON.stringify({
    apiVersion: "v1", kind: "Config", "current-context": "sidecar",
    clusters: [{ name: "test", cluster: { server: cluster.url, "certificate-authority": cluster.caFile } }],
    users: [{ name: "sidecar", user: { token } }],
    contexts: [{ name: "sidecar", context: { cluster: "test", user: "sidecar" } }],
  }));
  return file;
}

/** Returns the tokens that STS received, oldest first. */
function tokensOf({ sts }: Setup): string[] {
  return sts.calls.flatMap(({ form }) => form["WebIdentityToken"] ?? []);
}

function claimsOf(token: string): JsonObject {
  const claims = parseJSON(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  return isJsonObject(claims) ? claims : {};
}

/** Returns the claims of the last token, whose signature the keys of the API server verify. */
async function verifiedClaims(setup: Setup): Promise<JsonObject> {
  const token = tokensOf(setup).at(-1) ?? "";
  const [header = "", payload = "", signature = ""] = token.split(".");
  const kid = stringAt(parseJSON(Buffer.from(header, "base64url").toString()), "kid");
  const { body } = await setup.subject.cluster.request("GET", "/openid/v1/jwks");
  const keys = field(parseJSON(String(body)), "keys");
  const jwk: unknown = Array.isArray(keys) ? keys.find((one) => stringAt(one, "kid") === kid) : null;
  if (!isJsonObject(jwk)) throw new Error("the API server has no key for the token");
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const data = Buffer.from(`${header}.${payload}`);
  const isValid = verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
  return isValid ? claimsOf(token) : {};
}

/** Sends a request with a token to the API server. */
async function reviewOf({ subject: { cluster } }: Setup, token: string): Promise<ApiResponse> {
  return apiRequest({
    url: new URL("/apis/authentication.k8s.io/v1/selfsubjectreviews", cluster.url), method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    ca: await readFile(cluster.caFile, "utf8"), agent: undefined,
  });
}

async function testToken(t: Test, setup: Setup): Promise<void> {
  const { subject, sts } = setup;
  const { status, body } = await subject.request(`account/${NAME}`);
  t.equal(status, 200);
  t.match(body, { AccountId: "111122223333" });
  t.equal(await callerOf(sts.url, body), `arn:aws:sts::111122223333:assumed-role/${NAME}/ack-role-resolver`);
  const [call, ...others] = sts.calls.filter(({ form }) => form["Action"] === "AssumeRoleWithWebIdentity");
  t.same(others, []);
  t.equal(call?.isSigned, false);
  t.match(call?.form, {
    RoleArn: `arn:aws:iam::111122223333:role/${NAME}`, RoleSessionName: "ack-role-resolver", DurationSeconds: "3600",
  });
  const claims = await verifiedClaims(setup);
  t.match(claims, { iss: ISSUER, sub: `system:serviceaccount:team-a:${NAME}`, aud: ["sts.amazonaws.com"] });
  const { iat, exp } = claims;
  t.equal(Number(exp) - Number(iat), 86_400);
  t.ok(Math.abs(Number(iat) * 1000 - Date.now()) < 60_000);
  const rejected = await reviewOf(setup, tokensOf(setup)[0] ?? "");
  t.equal(rejected.status, 401, "the API server rejects the token");
  const accepted = await reviewOf(setup, await requestToken(subject.cluster, `team-a/${NAME}`, [ISSUER]));
  t.equal(accepted.status, 201, "a token with the audience of the API server is a credential");
}

async function testChanges(t: Test, setup: Setup): Promise<void> {
  const { subject, subject: { cluster } } = setup;
  const changes: readonly (readonly [name: string, change: () => Promise<unknown>, lifetime: number])[] = [
    ["expirationSeconds", () => subject.patch(IDENTITY, { spec: { expirationSeconds: 600 } }), 600],
    ["sessionName", () => subject.patch(IDENTITY, { spec: { sessionName: "team-a" } }), 600],
    ["recreation", async () => {
      const { body } = await cluster.request("DELETE", IDENTITY);
      t.equal(stringAt(body, "status"), "Success");
      await applyText(cluster, DOCUMENTED);
    }, 86_400],
  ];
  let before = (await subject.request(`account/${NAME}`)).text;
  for (const [name, change, lifetime] of changes) {
    const calls = tokensOf(setup).length;
    await change();
    const startMs = performance.now();
    let after = before;
    const isNew = async (): Promise<boolean> => {
      const { status, text } = await subject.request(`account/${NAME}`);
      after = text;
      return status === 200 && after !== before;
    };
    t.ok(await until(isNew, EFFECT_LIMIT_MS), `${name}: changed after ${Math.round(performance.now() - startMs)} ms`);
    t.equal(tokensOf(setup).length, calls + 1, "one token and one call");
    const { iat, exp } = await verifiedClaims(setup);
    t.equal(Number(exp) - Number(iat), lifetime, name);
    before = after;
  }
}

async function testAudience(t: Test, setup: Setup): Promise<void> {
  const { subject } = setup;
  const [tokens, requests] = [tokensOf(setup).length, await tokenRequests(subject)];
  for (const audiences of [[ISSUER], ["sts.amazonaws.com", ISSUER]]) {
    await subject.patch(IDENTITY, { spec: { audiences } });
    await untilAnswer(t, subject, `account/${NAME}`, "ERR_IDENTITY_AUDIENCE");
  }
  const denial = { status: 403, body: { message: /is not in --allowed-audiences/ } };
  t.match(await subject.request(`account/${NAME}`), denial);
  t.same([tokensOf(setup).length, await tokenRequests(subject)], [tokens, requests], "no token and no call to STS");
  await subject.patch(IDENTITY, { spec: { audiences: ["sts.amazonaws.com"] } });
  const isIssued = async (): Promise<boolean> => (await subject.request(`account/${NAME}`)).status === 200;
  t.ok(await until(isIssued, EFFECT_LIMIT_MS));
}

async function testOptIn(t: Test, setup: Setup): Promise<void> {
  const { subject, subject: { cluster } } = setup;
  const before = tokensOf(setup).length;
  t.equal((await subject.request(`account/${NAME}`, "team-b")).text, "ERR_IDENTITY_UNKNOWN");
  const inTeamB = DOCUMENTED.replaceAll("namespace: team-a", "namespace: team-b").split("---\n");
  const [identity = "", account = "", role = "", binding = ""] = inTeamB;
  await applyText(cluster, [identity, account].join("---\n"));
  const isDenied = async (): Promise<boolean> => (
    (await subject.request(`account/${NAME}`, "team-b")).text === "ERR_IDENTITY_TOKEN"
  );
  t.ok(await until(isDenied, EFFECT_LIMIT_MS));
  const { status, body } = await subject.request(`account/${NAME}`, "team-b");
  const message = new RegExp(
    "the API server returned 403 \\(Forbidden\\)\\. In the namespace team-b, create the Role "
      + "ack-role-resolver-identity-tokens, which allows the verb create on serviceaccounts/token with the "
      + `resourceNames \\[${NAME}\\]`,
  );
  t.match({ status, body }, { status: 409, body: { message } });
  t.equal(tokensOf(setup).length, before, "no call to STS");
  await applyText(cluster, [role, binding].join("---\n"));
  const isIssued = async (): Promise<boolean> => (await subject.request(`account/${NAME}`, "team-b")).status === 200;
  t.ok(await until(isIssued, ROLE_LIMIT_MS), "the Role is the fix");
  t.match(await verifiedClaims(setup), { sub: `system:serviceaccount:team-b:${NAME}` });
}

async function testMissingAccount(t: Test, setup: Setup): Promise<void> {
  const { subject, subject: { cluster } } = setup;
  await cluster.request("DELETE", `/api/v1/namespaces/team-a/serviceaccounts/${NAME}`);
  await subject.patch(IDENTITY, { spec: { sessionName: "missing" } });
  await untilAnswer(t, subject, `account/${NAME}`, "ERR_IDENTITY_TOKEN");
  const { body } = await subject.request(`account/${NAME}`);
  const message = /404 \(NotFound\)\. In the namespace team-a, create the ServiceAccount team-a-clusters\.$/;
  t.match(body, { message });
}

/** Returns the metric for the tokens that the API server issued. */
async function tokenRequests({ sidecar }: Subject): Promise<number> {
  const { body } = await get(`http://${sidecar.healthAddress}/metrics`);
  return Number(/^ack_role_resolver_sidecar_identity_token_requests_total\{.*result="ok".*\} (\d+)$/m.exec(body)?.[1]);
}

async function testRights(t: Test, { subject: { cluster } }: Setup): Promise<void> {
  const events = (await readFile(cluster.auditLog, "utf8")).split("\n").filter((line) => line.includes(`"${SIDECAR}"`));
  const forbidden = events.filter((line) => line.includes('"code":403'));
  const other = forbidden.filter((line) => !line.includes(`/namespaces/team-b/serviceaccounts/${NAME}/token`));
  t.ok(forbidden.length > 0, "the namespace that had not opted in");
  t.same(other, []);
  const created = events.filter((line) => line.includes('"verb":"create"'));
  t.ok(created.length > 0);
  const tokenPath = `"requestURI":"/api/v1/namespaces/team-(a|b)/serviceaccounts/${NAME}/token"`;
  t.same(created.filter((line) => !new RegExp(tokenPath).test(line)), []);
}

async function testNoTokens(t: Test, setup: Setup): Promise<void> {
  const { sidecar, errors } = setup.subject;
  const { body: metrics } = await get(`http://${sidecar.healthAddress}/metrics`);
  const output = [JSON.stringify(sidecar.log), metrics, ...errors].join("\n");
  const parts = tokensOf(setup).flatMap((token) => token.split("."));
  t.ok(parts.length >= 15 && errors.length > 0, `${parts.length / 3} tokens, ${errors.length} errors`);
  t.same(parts.filter((part) => output.includes(part)), []);
}
