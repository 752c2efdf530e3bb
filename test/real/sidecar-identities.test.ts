import { IDENTITY_ACCOUNTS_STORE } from "../../shared/capa/identity-accounts.ts";
import { readFile } from "node:fs/promises";
import type { Test } from "tap";
import { startSTSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { nameOf, RBAC_VERSION } from "../../manifests/rbac.ts";
import { connectKubernetes } from "../../shared/api/kubeconfig.ts";
import { stringAt } from "../../shared/formats/json.ts";
import { ClusterSource } from "../../shared/sources/cluster-source.ts";
import { get } from "../loopback-request.ts";
import { refTo } from "../shared/capa-objects.ts";
import { MOTO, wheelsIn } from "../programs/wheels.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { FAST_RETRY_CLOCK, onCluster } from "./apiserver/on-cluster.ts";
import { until } from "./apiserver/until.ts";
import {
  ACCOUNT, ALL, callerOf, createIdentities, EFFECT_LIMIT_MS, IDENTITIES, KEYS, secretObject, SECRETS, startSidecar,
  Subject, untilAnswer,
} from "./identity-subject.ts";
import { findPrograms } from "./find-programs.ts";
import { BASE, PLANTED } from "./planted-sidecar.ts";
import { startMoto } from "./sdks/moto.ts";

onCluster("the sidecar issues the credentials of CAPA identities in a cluster", async (t, cluster) => {
  await createIdentities(cluster);
  const sts = await startSTSEmulator({ baseCredentials: [BASE, KEYS.one, KEYS.two, KEYS.rotated] });
  t.teardown(() => sts.close());
  const subject = new Subject(cluster, await startSidecar(t, cluster, sts.url), sts);
  await t.test("a chain of three roles over a static identity returns the last role", async (tt) => {
    await testChain(tt, subject, sts.url);
  });
  await t.test("a change invalidates exactly what was created from it", async (tt) => testChanges(tt, subject));
  await t.test("a change of metadata invalidates nothing", async (tt) => testMetadata(tt, subject));
  await t.test("uses moto as STS", async (tt) => testMoto(tt, cluster));
  await t.test("uses the documented rights only", async (tt) => testRights(tt, subject));
  await testNoSecrets(t, subject);
});

async function testChain(t: Test, subject: Subject, endpoint: string): Promise<void> {
  const { status, body } = await subject.request("role/a");
  t.equal(status, 200);
  t.same(subject.sts.calls.slice(1).map(({ roleARN }) => roleARN?.split("/").at(-1)), ["c", "b", "a"]);
  t.equal(await callerOf(endpoint, body), "arn:aws:sts::111122223333:assumed-role/a/ack-role-resolver");
  const user = await subject.request("static/one");
  t.match(user.body, { AccessKeyId: KEYS.one.accessKeyID, Token: "", AccountId: "444455556666" });
  t.equal(await callerOf(endpoint, user.body), KEYS.one.arn);
}

/** Each change, the requests whose response changes, and the STS calls that follow. */
type Change = readonly [
  name: string, change: (subject: Subject) => Promise<unknown>, changed: readonly string[], calls: readonly string[],
];

const role = (name: string): string => `${IDENTITIES}/awsclusterroleidentities/${name}`;
const CHANGES: readonly Change[] = [
  ["the requested role", (one) => one.patch(role("a"), { spec: { externalID: "new" } }), ["role/a"], ["a"]],
  ["a role of the chain", (one) => one.patch(role("b"), { spec: { externalID: "new" } }), ["role/a"], ["a", "b"]],
  ["the first role", (one) => one.patch(role("c"), { spec: { sessionName: "new" } }), ["role/a"], ["a", "b", "c"]],
  [
    "the Secret", ({ cluster }) => cluster.request("PUT", `${SECRETS}/one-creds`, secretObject("one-creds", "rotated")),
    ["static/one", "role/a"], ["?", "a", "b", "c"],
  ],
  [
    "another source", (one) => one.patch(role("a"), { spec: { sourceIdentityRef: refTo("static/two") } }),
    ["role/a"], ["a"],
  ],
];

async function testChanges(t: Test, subject: Subject): Promise<void> {
  let before = await subject.requestAll();
  for (const [name, change, changed, calls] of CHANGES) {
    const start = subject.sts.calls.length;
    await change(subject);
    const startMs = performance.now();
    let after = before;
    const isDone = async (): Promise<boolean> => {
      after = await subject.requestAll();
      const isNewKey = (one: string): boolean => after[one] !== before[one] && /^A[KS]IA/.test(after[one] ?? "");
      return changed.every(isNewKey);
    };
    t.ok(await until(isDone, EFFECT_LIMIT_MS), `${name}: changed after ${Math.round(performance.now() - startMs)} ms`);
    t.same(ALL.filter((reference) => after[reference] !== before[reference]), changed, name);
    t.same(subject.callsSince(start), calls, `${name}: the calls to STS`);
    before = after;
  }
  t.equal(before["static/one"], KEYS.rotated.accessKeyID);
  const calls = subject.sts.calls.length;
  await subject.patch(role("direct"), { spec: { allowedNamespaces: { list: ["team-b"] } } });
  await untilAnswer(t, subject, "role/direct", "ERR_IDENTITY_NAMESPACE");
  await subject.patch(role("direct"), { spec: { allowedNamespaces: { list: null } } });
  await untilAnswer(t, subject, "role/direct", String(before["role/direct"]));
  t.equal(subject.sts.calls.length, calls, "a restored identity has its session, without a call to STS");
}

async function testMetadata(t: Test, subject: Subject): Promise<void> {
  const before = await subject.requestAll();
  const [calls, reads] = [subject.sts.calls.length, await subject.secretReads()];
  const labels = { metadata: { labels: { changed: "true" } } };
  for (const path of [`${SECRETS}/one-creds`, role("c"), `${IDENTITIES}/awsclusterstaticidentities/two`]) {
    await subject.patch(path, labels);
  }
  const isRead = async (): Promise<boolean> => (await subject.secretReads()) > reads;
  t.ok(await until(isRead, EFFECT_LIMIT_MS), "the changed Secret is read, without a request of a client");
  t.same(await subject.requestAll(), before);
  t.equal(subject.sts.calls.length, calls);
}

async function testRights(t: Test, subject: Subject): Promise<void> {
  const { cluster } = subject;
  const user = `system:serviceaccount:${ACCOUNT.namespace}:${ACCOUNT.name}`;
  const lines = (await readFile(cluster.auditLog, "utf8")).split("\n").filter((line) => line.includes(user));
  const forbidden = lines.filter((line) => line.includes('"code":403'));
  t.same(forbidden, [], "the sidecar needs no other right");
  const secrets = lines.filter((line) => line.includes('"resource":"secrets"'));
  const used = new Set(secrets.map((line) => {
    const [, verb] = /"verb":"(\w+)"/.exec(line) ?? [];
    const [, namespace] = /"namespace":"([\w-]+)"/.exec(line) ?? [];
    return `${verb} ${namespace}`;
  }));
  t.same([...used].toSorted(), ["get capa-system", "list capa-system", "watch capa-system"]);
  await cluster.request("PUT", `${SECRETS}/two-creds`, secretObject("two-creds", "revoked"));
  await untilAnswer(t, subject, "role/over-two", "ERR_IDENTITY_SECRET");
  const { body } = await subject.request("role/over-two");
  t.match(body, { message: /^STS rejected the access key in the Secret of AWSClusterStaticIdentity "two"\. / });
  await cluster.request("DELETE", `${SECRETS}/two-creds`);
  const isMissing = async (): Promise<boolean> => (
    stringAt((await subject.request("static/two")).body, "message")?.includes("the Secret does not exist") === true
  );
  t.ok(await until(isMissing, EFFECT_LIMIT_MS), "a deleted Secret");
  const bindings = `/apis/${RBAC_VERSION}/namespaces/capa-system/rolebindings`;
  await cluster.request("DELETE", `${bindings}/sidecar-${nameOf("identity-secrets")}`);
  const isDenied = async (): Promise<boolean> => (
    (await cluster.request("GET", `${SECRETS}/one-creds`, undefined, { user: "controller" })).status === 403
  );
  t.ok(await until(isDenied, EFFECT_LIMIT_MS), "only this Role grants the right");
  await subject.patch(`${SECRETS}/one-creds`, { metadata: { labels: { changed: "again" } } });
  await untilAnswer(t, subject, "static/one", "ERR_CLUSTER_UNREADABLE");
}

/** Moto is an independent STS. Its GetCallerIdentity returns the identity of the credentials that sign the call. */
async function testMoto(t: Test, cluster: Cluster): Promise<void> {
  const folders = await findPrograms(t, MOTO);
  if (folders === null) return;
  const endpoint = await startMoto(t, await wheelsIn(folders[0]));
  await cluster.request("PUT", `${SECRETS}/one-creds`, secretObject("one-creds", "one"));
  const subject = new Subject(cluster, await startSidecar(t, cluster, endpoint), { calls: [] });
  await subject.patch(role("a"), { spec: { sourceIdentityRef: refTo("role/b") } });
  await untilAnswer(t, subject, "static/one", KEYS.one.accessKeyID);
  const { body } = await subject.request("role/a");
  const arn = "arn:aws:sts::111122223333:assumed-role/a/ack-role-resolver";
  t.equal(await callerOf(endpoint, body), arn);
  const line = {
    identity: "AWSClusterRoleIdentity/a", arn, session_name: "ack-role-resolver", sts_request_id: /^\w+$/,
    access_key_id: stringAt(body, "AccessKeyId"),
  };
  const isLogged = async (): Promise<boolean> => audited(subject, "AWSClusterRoleIdentity/a").length === 2;
  t.ok(await until(isLogged, EFFECT_LIMIT_MS));
  t.match(audited(subject, "AWSClusterRoleIdentity/a"), [
    { ...line, msg: "session obtained from STS" }, { ...line, msg: "credentials issued to a client" },
  ], "the audit log has the access key ID of the session, and the ID of moto's response");
  t.match((await subject.request("static/one")).body, { AccessKeyId: KEYS.one.accessKeyID });
  await t.test("records the account that moto returns, for the webhook", (tt) => recordsAccount(tt, subject));
  await cluster.request("PUT", `${SECRETS}/one-creds`, secretObject("one-creds", "rotated"));
  await untilAnswer(t, subject, "static/one", KEYS.rotated.accessKeyID);
  const before = stringAt(body, "AccessKeyId");
  const isRotated = async (): Promise<boolean> => (await subject.request("role/a")).text !== before;
  t.ok(await until(isRotated, EFFECT_LIMIT_MS), "the chain has new sessions");
  const { body: rotated } = await subject.request("role/a");
  t.equal(await callerOf(endpoint, rotated), arn);
}

/** Returns the lines of the audit log about the identity. */
function audited({ sidecar }: Subject, identity: string): readonly Readonly<Record<string, unknown>>[] {
  return sidecar.log.filter((line) => line["identity"] === identity && "expiration" in line);
}

/** Reads the record with the rights of the webhook. A change of the Secret makes the record invalid. */
async function recordsAccount(t: Test, subject: Subject): Promise<void> {
  const { cluster } = subject;
  const source = new ClusterSource({
    runtime: "ack", clock: FAST_RETRY_CLOCK, identitySecretNamespace: "capa-system",
    api: await connectKubernetes({ kubeconfig: cluster.kubeconfig, context: "webhook" }),
  });
  t.teardown(() => source.stop());
  await source.start();
  const identityAccounts = source.inventory.of(IDENTITY_ACCOUNTS_STORE);
  const isRecorded = (accountID: unknown): Promise<boolean> => (
    until(async () => identityAccounts.accountOf("capa-system", "one-creds") === accountID)
  );
  const { body: { AccountId: account } } = await subject.request("static/one");
  t.match(account, /^\d{12}$/);
  t.ok(await isRecorded(account));
  await subject.patch(`${SECRETS}/one-creds`, { metadata: { labels: { recorded: "true" } } });
  t.ok(await isRecorded(account), "the record follows a change of the metadata");
  await cluster.request("PUT", `${SECRETS}/one-creds`, secretObject("one-creds", "two"));
  t.ok(await isRecorded(null), "the account of another key is unknown until a client uses it");
}

async function testNoSecrets(t: Test, { sidecar, errors }: Subject): Promise<void> {
  const { body: metrics } = await get(`http://${sidecar.healthAddress}/metrics`);
  const outputs = { log: JSON.stringify(sidecar.log), metrics, errors: errors.join("\n") };
  for (const [where, text] of Object.entries(outputs)) {
    t.ok(text.length > 0, where);
    t.notMatch(text, new RegExp(PLANTED, "i"), where);
  }
}
