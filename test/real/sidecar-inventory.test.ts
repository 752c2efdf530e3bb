import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AssumeRoleCommand, STSClient, STSServiceException } from "@aws-sdk/client-sts";
import { type Test, test } from "tap";
import { startSTSEmulator, type STSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { iamRoleSelectorCRD } from "../../manifests/crds.ts";
import { isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { ackCRD } from "../fixtures/ack-crds.ts";
import { get } from "../loopback-request.ts";
import { namespaceObject, selectorObject } from "../shared/objects.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";
import { until } from "./apiserver/until.ts";
import { BASE, ENVIRONMENT } from "./planted-sidecar.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const S3 = "s3.services.k8s.aws";
const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const ROLE = "arn:aws:iam::111111111111:role/team-a";
/** The time within which a change of the inventory must take effect, in ms. */
const EFFECT_LIMIT_MS = 2_000;

const TEAM_A = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
const OVERLAPPING = selectorObject("also-a", {
  arn: "arn:aws:iam::222222222222:role/also-a", namespaceSelector: { names: ["team-a"] },
});
const OTHER_EXTRAS = selectorObject("team-b", { arn: ROLE, namespaceSelector: { names: ["team-b"] } }, {
  annotations: { "ack-role-resolver.io/external-id": "planted-external-id" },
});

/** A sidecar process, its STS, and its token. */
interface Subject {
  readonly sidecar: ServerProcess;
  readonly sts: STSEmulator;
  readonly token: string;
  /** The bodies of all error responses. */
  readonly errors: string[];
}

async function startSubject(t: Test, folder: string, inventoryFlags: readonly string[]): Promise<Subject> {
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const tokenFile = join(folder, "token");
  const flags = [...inventoryFlags, "--group", S3, "--sts-endpoint", sts.url, "--token-file", tokenFile];
  const sidecar = await startServer("sidecar", flags, ENVIRONMENT);
  t.teardown(() => sidecar.stop());
  return { sidecar, sts, token: await readFile(tokenFile, "utf8"), errors: [] };
}

interface JsonResponse {
  readonly status: number;
  readonly body: JsonObject;
}

async function request({ sidecar, token, errors }: Subject, path: string): Promise<JsonResponse> {
  const { status, body } = await get(`http://${sidecar.address}${path}`, { authorization: token });
  if (status !== 200) errors.push(body);
  const read: unknown = JSON.parse(body);
  return { status, body: isJsonObject(read) ? read : {} };
}

/** Requests the role through each path of the sidecar, and returns "ok" or the error code for each path. */
async function requestAll(subject: Subject): Promise<readonly string[]> {
  const paths = ["/v1/credentials/selectors/team-a", `/v1/credentials/namespaces/team-a?kind=Bucket.${S3}`];
  const responses = await Promise.all(paths.map(async (path) => request(subject, path)));
  const codes = responses.map(({ status, body }) => (status === 200 ? "ok" : (stringAt(body, "code") ?? "")));
  return [...codes, await assume(subject)];
}

async function assume(subject: Subject, roleARN = ROLE): Promise<string> {
  const { body } = await request(subject, "/v1/credentials");
  const text = (name: string): string => stringAt(body, name) ?? "";
  const credentials = {
    accessKeyId: text("AccessKeyId"), secretAccessKey: text("SecretAccessKey"), sessionToken: text("Token"),
  };
  const endpoint = `http://${subject.sidecar.address}/sts`;
  const client = new STSClient({ endpoint, region: "eu-west-1", credentials, maxAttempts: 1 });
  try {
    const input = { RoleArn: roleARN, RoleSessionName: "aws-go-sdk-1", DurationSeconds: 900 };
    await client.send(new AssumeRoleCommand(input));
    return "ok";
  } catch (error) {
    if (!(error instanceof STSServiceException)) throw error;
    subject.errors.push(error.message);
    return error.name;
  } finally {
    client.destroy();
  }
}

/**
 * Makes a change, and waits until all requests return the expected codes. Fails if this takes longer than the time
 * limit.
 */
async function testChange(
  t: Test, subject: Subject, change: () => Promise<unknown>, expected: readonly string[],
): Promise<void> {
  const calls = subject.sts.calls.length;
  await change();
  const startMs = performance.now();
  let last: readonly string[] = [];
  const isExpected = async (): Promise<boolean> => (last = await requestAll(subject)).join() === expected.join();
  const isDone = await until(isExpected, EFFECT_LIMIT_MS);
  t.ok(isDone, `${expected.join()} after ${Math.round(performance.now() - startMs)} ms, last ${last.join()}`);
  // Denied requests do not reach STS, and the session stays cached.
  t.equal(subject.sts.calls.length, calls, "STS is not called");
}

const GRANTED = ["ok", "ok", "ok"];
const GONE = ["ERR_SELECTOR_UNKNOWN", "ok", "AccessDenied"];
const CONFLICT = ["ERR_SELECTOR_NOT_GRANTED", "ERR_SELECTOR_CONFLICT", "AccessDenied"];
const DIFFERENT_EXTRAS = ["ERR_SELECTOR_EXTRAS", "ERR_SELECTOR_EXTRAS", "AccessDenied"];

test("a sidecar applies changes of manifests in a folder", async (t) => {
  const items = [namespaceObject("team-a"), namespaceObject("team-b")];
  const namespaces = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const folder = t.testdir({ manifests: { "namespaces.json": namespaces, "team-a.json": JSON.stringify(TEAM_A) } });
  const manifests = join(folder, "manifests");
  const subject = await startSubject(t, folder, ["--from", manifests]);
  const write = (name: string, object: unknown) => (): Promise<void> =>
    writeFile(join(manifests, name), typeof object === "string" ? object : JSON.stringify(object));
  const remove = (name: string) => (): Promise<void> => rm(join(manifests, name));
  t.same(await requestAll(subject), GRANTED);
  await t.test("does not issue the role of a deleted selector although the session is cached", async (tt) => {
    await testChange(tt, subject, remove("team-a.json"), GONE);
    await testChange(tt, subject, write("team-a.json", TEAM_A), GRANTED);
  });
  await t.test("rejects requests for a role whose selector has a new conflict", async (tt) => {
    await testChange(tt, subject, write("also-a.json", OVERLAPPING), CONFLICT);
    await testChange(tt, subject, remove("also-a.json"), GRANTED);
  });
  await t.test("rejects a role if its two selectors set different session parameters", async (tt) => {
    await testChange(tt, subject, write("team-b.json", OTHER_EXTRAS), DIFFERENT_EXTRAS);
    const response = await request(subject, "/v1/credentials/selectors/team-b");
    tt.match(response, { status: 403, body: { code: "ERR_SELECTOR_EXTRAS" } });
    await testChange(tt, subject, remove("team-b.json"), GRANTED);
  });
  await t.test("uses the last valid manifests if the folder becomes invalid, and logs the error", async (tt) => {
    await write("team-a.json", "{")();
    const message = "inventory is stale; the last valid inventory is in use";
    tt.ok(await until(async () => logged(subject, message), EFFECT_LIMIT_MS));
    tt.same(await requestAll(subject), GRANTED);
    const isFaulty = async (): Promise<boolean> => {
      const { body } = await get(`http://${subject.sidecar.healthAddress}/metrics`);
      return body.includes("inventory_faulty 1\n");
    };
    tt.ok(await isFaulty());
    await write("team-a.json", TEAM_A)();
    tt.ok(await until(async () => !(await isFaulty()), EFFECT_LIMIT_MS), "the inventory is valid again");
  });
  await testNoSecrets(t, subject);
});

onCluster("a sidecar applies changes of objects in a cluster", async (t, cluster) => {
  await cluster.installCRDs([iamRoleSelectorCRD("ack"), ackCRD(S3, "Bucket", "buckets")]);
  for (const name of ["team-a", "team-b"]) await cluster.kubectl(["create", "namespace", name]);
  await cluster.request("POST", SELECTORS, TEAM_A);
  const flags = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "admin"];
  const subject = await startSubject(t, t.testdir({}), flags);
  t.same(await requestAll(subject), GRANTED);
  const create = (object: JsonObject) => (): Promise<unknown> => cluster.request("POST", SELECTORS, object);
  const remove = (name: string) => (): Promise<unknown> => cluster.request("DELETE", `${SELECTORS}/${name}`);
  await t.test("does not issue the role of a deleted selector although the session is cached", async (tt) => {
    await testChange(tt, subject, remove("team-a"), GONE);
    await testChange(tt, subject, create(TEAM_A), GRANTED);
  });
  await t.test("rejects a role if its selectors conflict or set different session parameters", async (tt) => {
    await testChange(tt, subject, create(OVERLAPPING), CONFLICT);
    await testChange(tt, subject, remove("also-a"), GRANTED);
    await testChange(tt, subject, create(OTHER_EXTRAS), DIFFERENT_EXTRAS);
    await testChange(tt, subject, remove("team-b"), GRANTED);
  });
  await t.test("issues a role only while a namespace of its selector exists, even if it is terminating", async (tt) => {
    await testNamespace(tt, subject, cluster);
  });
  await t.test("issues a role only while the cluster has a kind that its selector selects", async (tt) => {
    await testKind(tt, subject, cluster);
  });
  await t.test(
    "issues roles while the API server is down, and applies changes after the API server restarts",
    async (tt) => {
      await testLostServer(tt, subject, cluster);
    },
  );
  await testNoSecrets(t, subject);
});

async function testNamespace(t: Test, subject: Subject, cluster: Cluster): Promise<void> {
  const roleARN = "arn:aws:iam::111111111111:role/team-c";
  const namespaceSelector = { labelSelector: { matchLabels: { team: "c" } } };
  await cluster.request("POST", SELECTORS, selectorObject("team-c", { arn: roleARN, namespaceSelector }));
  const isAssumed = async (expected: string): Promise<boolean> => (await assume(subject, roleARN)) === expected;
  const reason = /IAMRoleSelector team-c selects no existing namespace\. If the namespace is new, retry/;
  const isReported = async (): Promise<boolean> => (
    (await isAssumed("AccessDenied")) && subject.sidecar.log.some((line) => reason.test(String(line["reason"])))
  );
  t.ok(await until(isReported), "denied, because no namespace exists");
  await cluster.request("POST", "/api/v1/namespaces", namespaceObject("team-c", { team: "c" }));
  t.ok(await until(async () => isAssumed("ok"), EFFECT_LIMIT_MS), "granted after the watch shows the namespace");
  // No namespace controller runs, so a deleted namespace is terminating until the test finalizes it.
  await cluster.request("DELETE", "/api/v1/namespaces/team-c");
  t.equal(await assume(subject, roleARN), "ok", "finalizers of resources still need the role");
  await cluster.request("PUT", "/api/v1/namespaces/team-c/finalize", {
    ...namespaceObject("team-c", { team: "c" }), spec: { finalizers: [] },
  });
  t.ok(await until(async () => isAssumed("AccessDenied"), EFFECT_LIMIT_MS), "denied after the namespace is gone");
  await cluster.request("DELETE", `${SELECTORS}/team-c`);
}

async function testKind(t: Test, subject: Subject, cluster: Cluster): Promise<void> {
  const roleARN = "arn:aws:iam::111111111111:role/widgets";
  const spec = {
    arn: roleARN, namespaceSelector: { names: ["team-b"] }, resourceTypeSelector: [{ group: S3, kind: "Zqxwidget" }],
  };
  await cluster.request("POST", SELECTORS, selectorObject("widgets", spec));
  const reason = /IAMRoleSelector widgets selects "Zqxwidget\.s3\.services\.k8s\.aws", but the cluster has no /;
  const isAssumed = async (expected: string): Promise<boolean> => (await assume(subject, roleARN)) === expected;
  const isReported = async (): Promise<boolean> => (
    (await isAssumed("AccessDenied")) && subject.sidecar.log.some((line) => reason.test(String(line["reason"])))
  );
  t.ok(await until(isReported), "denied, because the kind does not exist");
  await cluster.installCRDs([ackCRD(S3, "Zqxwidget", "zqxwidgets")]);
  t.ok(await until(async () => isAssumed("ok"), EFFECT_LIMIT_MS), "granted after the watch shows the definition");
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await cluster.request("DELETE", `${definitions}/zqxwidgets.${S3}`);
  t.ok(await until(async () => isAssumed("AccessDenied"), EFFECT_LIMIT_MS), "denied after it is gone");
  await cluster.request("DELETE", `${SELECTORS}/widgets`);
}

async function testLostServer(t: Test, subject: Subject, cluster: Cluster): Promise<void> {
  await cluster.stopApiserver("SIGKILL");
  t.same(await requestAll(subject), GRANTED, "roles are issued while the API server is down");
  await cluster.startApiserver();
  await cluster.request("DELETE", `${SELECTORS}/team-a`);
  // A lost watch restarts after a delay that grows with each failure.
  const isGone = async (): Promise<boolean> => (await requestAll(subject)).join() === GONE.join();
  t.ok(await until(isGone, 18_000), "the deletion is applied after the watch restarts");
}

function logged({ sidecar }: Subject, sentence: string): boolean {
  return sidecar.log.some(({ msg }) => msg === sentence);
}

async function testNoSecrets(t: Test, { sidecar, token, errors }: Subject): Promise<void> {
  const { body: metrics } = await get(`http://${sidecar.healthAddress}/metrics`);
  const outputs = { log: JSON.stringify(sidecar.log), metrics, errors: errors.join("\n") };
  for (const [where, text] of Object.entries(outputs)) {
    t.ok(text.length > 0, where);
    t.notMatch(text, /planted/, where);
    t.notOk(text.includes(token), where);
  }
}
