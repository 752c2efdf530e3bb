import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AssumeRoleCommand, STSClient, STSServiceException } from "@aws-sdk/client-sts";
import { type Test, test } from "tap";
import { startSTSEmulator, type STSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { iamRoleSelectorCRD } from "../../manifests/crds.ts";
import { isJsonObject, type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { ackCRD } from "../fixtures/ack-crds.ts";
import { get } from "../loopback-request.ts";
import { namespaceObject, selectorObject } from "../shared/decisions/objects.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";
import { until } from "./apiserver/until.ts";
import { BASE, ENVIRONMENT } from "./planted-sidecar.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const S3 = "s3.services.k8s.aws";
const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const ROLE = "arn:aws:iam::111111111111:role/team-a";
/** What design.md gives a change of the inventory to take effect. */
const EFFECT_MS = 2_000;

const TEAM_A = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
const OVERLAPPING = selectorObject("also-a", { arn: "arn:aws:iam::222222222222:role/also-a", namespaceSelector: { names: ["team-a"] } });
const OTHER_EXTRAS = selectorObject("team-b", { arn: ROLE, namespaceSelector: { names: ["team-b"] } }, { annotations: { "ack-role-resolver.io/external-id": "planted-external-id" } });

/** A sidecar process, the STS that it asks, and the credentials that a controller would have of it. */
interface Subject {
  readonly sidecar: ServerProcess;
  readonly sts: STSEmulator;
  readonly token: string;
  /** The bodies of all refusals. */
  readonly refusals: string[];
}

async function startSubject(t: Test, folder: string, inventoryFlags: readonly string[]): Promise<Subject> {
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const tokenFile = join(folder, "token");
  const sidecar = await startServer("sidecar", [...inventoryFlags, "--group", S3, "--sts-endpoint", sts.url, "--token-file", tokenFile], ENVIRONMENT);
  t.teardown(() => sidecar.stop());
  return { sidecar, sts, token: await readFile(tokenFile, "utf8"), refusals: [] };
}

async function ask({ sidecar, token, refusals }: Subject, path: string): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const { status, body } = await get(`http://${sidecar.address}${path}`, { authorization: token });
  if (status !== 200) refusals.push(body);
  const read: unknown = JSON.parse(body);
  return { status, body: isJsonObject(read) ? read : {} };
}

/** "ok", or the code that each of the ways to the role refuses it with. */
async function answers(subject: Subject): Promise<readonly string[]> {
  const paths = ["/v1/credentials/selectors/team-a", `/v1/credentials/namespaces/team-a?kind=Bucket.${S3}`];
  const told = await Promise.all(paths.map(async (path) => ask(subject, path)));
  return [...told.map(({ status, body }) => (status === 200 ? "ok" : (stringAt(body, "code") ?? ""))), await assume(subject)];
}

async function assume(subject: Subject): Promise<string> {
  const { body } = await ask(subject, "/v1/credentials");
  const credentials = { accessKeyId: stringAt(body, "AccessKeyId") ?? "", secretAccessKey: stringAt(body, "SecretAccessKey") ?? "", sessionToken: stringAt(body, "Token") ?? "" };
  const client = new STSClient({ endpoint: `http://${subject.sidecar.address}/sts`, region: "eu-west-1", credentials, maxAttempts: 1 });
  try {
    await client.send(new AssumeRoleCommand({ RoleArn: ROLE, RoleSessionName: "aws-go-sdk-1", DurationSeconds: 900 }));
    return "ok";
  } catch (error) {
    if (!(error instanceof STSServiceException)) throw error;
    subject.refusals.push(error.message);
    return error.name;
  } finally {
    client.destroy();
  }
}

/** Changes something and waits, for no longer than a change may take, until every way answers as it should. */
async function takesEffect(t: Test, subject: Subject, change: () => Promise<unknown>, expected: readonly string[]): Promise<void> {
  const calls = subject.sts.calls.length;
  await change();
  const startMs = performance.now();
  let last: readonly string[] = [];
  const done = await until(async () => (last = await answers(subject)).join() === expected.join(), EFFECT_MS);
  t.ok(done, `${expected.join()} after ${Math.round(performance.now() - startMs)} ms, last ${last.join()}`);
  t.equal(subject.sts.calls.length, calls, "and STS was not asked: what is refused is refused before, what is granted again is still kept");
}

const GRANTED = ["ok", "ok", "ok"];
const GONE = ["ERR_SELECTOR_UNKNOWN", "ok", "AccessDenied"];
const CONFLICT = ["ok", "ERR_SELECTOR_CONFLICT", "ok"];
const UNEQUAL = ["ERR_SELECTOR_EXTRAS", "ERR_SELECTOR_EXTRAS", "AccessDenied"];

test("a folder of manifests that changes under a sidecar", async (t) => {
  const namespaces = JSON.stringify({ apiVersion: "v1", kind: "List", items: [namespaceObject("team-a"), namespaceObject("team-b")] });
  const folder = t.testdir({ manifests: { "namespaces.json": namespaces, "team-a.json": JSON.stringify(TEAM_A) } });
  const manifests = join(folder, "manifests");
  const subject = await startSubject(t, folder, ["--from", manifests]);
  const write = (name: string, object: unknown) => (): Promise<void> => writeFile(join(manifests, name), typeof object === "string" ? object : JSON.stringify(object));
  const remove = (name: string) => (): Promise<void> => rm(join(manifests, name));
  t.same(await answers(subject), GRANTED);
  await t.test("a removed selector stops being vended, though its session is kept", async (tt) => {
    await takesEffect(tt, subject, remove("team-a.json"), GONE);
    await takesEffect(tt, subject, write("team-a.json", TEAM_A), GRANTED);
  });
  await t.test("a conflict that appears is refused where it decides", async (tt) => {
    await takesEffect(tt, subject, write("also-a.json", OVERLAPPING), CONFLICT);
    await takesEffect(tt, subject, remove("also-a.json"), GRANTED);
  });
  await t.test("two selectors with one role and other extras are both refused", async (tt) => {
    await takesEffect(tt, subject, write("team-b.json", OTHER_EXTRAS), UNEQUAL);
    tt.match(await ask(subject, "/v1/credentials/selectors/team-b"), { status: 403, body: { code: "ERR_SELECTOR_EXTRAS" } });
    await takesEffect(tt, subject, remove("team-b.json"), GRANTED);
  });
  await t.test("keeps the last valid inventory of a folder that becomes invalid, and logs it", async (tt) => {
    await write("team-a.json", "{")();
    tt.ok(await until(async () => logged(subject, "inventory is stale; using the last valid inventory"), EFFECT_MS));
    tt.same(await answers(subject), GRANTED);
    const isFaulty = async (): Promise<boolean> => (await get(`http://${subject.sidecar.healthAddress}/metrics`)).body.includes("inventory_faulty 1\n");
    tt.ok(await isFaulty());
    await write("team-a.json", TEAM_A)();
    tt.ok(await until(async () => !(await isFaulty()), EFFECT_MS), "and that it is good again");
  });
  await tellsNoSecret(t, subject);
});

onCluster("a cluster that changes under a sidecar", async (t, cluster) => {
  await cluster.installCRDs([iamRoleSelectorCRD("ack"), ackCRD(S3, "Bucket", "buckets")]);
  for (const name of ["team-a", "team-b"]) await cluster.kubectl(["create", "namespace", name]);
  await cluster.request("POST", SELECTORS, TEAM_A);
  const subject = await startSubject(t, t.testdir({}), ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "admin"]);
  t.same(await answers(subject), GRANTED);
  const create = (object: JsonObject) => (): Promise<unknown> => cluster.request("POST", SELECTORS, object);
  const remove = (name: string) => (): Promise<unknown> => cluster.request("DELETE", `${SELECTORS}/${name}`);
  await t.test("a removed selector stops being vended, though its session is kept", async (tt) => {
    await takesEffect(tt, subject, remove("team-a"), GONE);
    await takesEffect(tt, subject, create(TEAM_A), GRANTED);
  });
  await t.test("a conflict, and extras that differ", async (tt) => {
    await takesEffect(tt, subject, create(OVERLAPPING), CONFLICT);
    await takesEffect(tt, subject, remove("also-a"), GRANTED);
    await takesEffect(tt, subject, create(OTHER_EXTRAS), UNEQUAL);
    await takesEffect(tt, subject, remove("team-b"), GRANTED);
  });
  await t.test("a lost API server takes no role away, and its return is noticed", async (tt) => outlives(tt, subject, cluster));
  await tellsNoSecret(t, subject);
});

async function outlives(t: Test, subject: Subject, cluster: Cluster): Promise<void> {
  await cluster.stopApiserver("SIGKILL");
  t.same(await answers(subject), GRANTED, "while it is gone");
  await cluster.startApiserver();
  await cluster.request("DELETE", `${SELECTORS}/team-a`);
  // A watch that was lost is begun anew after a pause that grows with each failure.
  t.ok(await until(async () => (await answers(subject)).join() === GONE.join(), 18_000), "seen once the watch is back");
}

function logged({ sidecar }: Subject, sentence: string): boolean {
  return sidecar.log.some(({ msg }) => msg === sentence);
}

async function tellsNoSecret(t: Test, { sidecar, token, refusals }: Subject): Promise<void> {
  const { body: metrics } = await get(`http://${sidecar.healthAddress}/metrics`);
  for (const [where, text] of Object.entries({ log: JSON.stringify(sidecar.log), metrics, refusals: refusals.join("\n") })) {
    t.ok(text.length > 0, where);
    t.notMatch(text, /planted/, where);
    t.notOk(text.includes(token), where);
  }
}
