import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";
import { manifestObjects } from "../../../manifests/render.ts";
import { field, parseJSON, stringAt } from "../../../shared/formats/json.ts";
import { CAPA } from "../../programs/capa.ts";
import { MOTO, wheelsIn } from "../../programs/wheels.ts";
import { INFRASTRUCTURE, withFields } from "../../shared/capa-objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { findPrograms } from "../find-programs.ts";
import { SECRETS, secretObject } from "../identity-subject.ts";
import { startMoto } from "../sdks/moto.ts";
import { patch } from "../webhook/buckets.ts";
import { CONTROLLERS, ROLES, STATICS } from "../webhook/capa/objects.ts";
import { apply, installWebhook } from "../webhook/installed-webhook.ts";
import { OPTIONS } from "../webhook/reconciling/replicas.ts";
import { admissions, annotations, type Answers, predictions } from "./answers.ts";
import { CLUSTERS, collectionOf, IDENTITIES, MISSPELLED, nameOf, NAMESPACES, ownerOf } from "./examples.ts";
import { CAPA_USER, installCAPA, startManager } from "./manager.ts";
import { startRejectingEC2 } from "./rejecting-ec2.ts";
import { UsedCredentials } from "./used-credentials.ts";

/** The codes that AC-02 denies. A new cluster may also be created before its identity. */
const DENIED: ReadonlySet<string> = new Set(["ERR_IDENTITY_NAMESPACE", "ERR_IDENTITY_SELECTOR"]);
const LABELED = { metadata: { labels: { changed: "true" } } };

// Compares what the manager of CAPA does with what the webhook and the commands say. The manager stores no condition
// about an identity: its log states why it refuses one, and EC2 receives the credentials of the others.
onCluster("the manager of CAPA next to the webhook", async (t, cluster) => {
  const folders = await findPrograms(t, CAPA, MOTO);
  if (folders === null) return;
  const [folder, moto] = folders;
  const sts = await startMoto(t, await wheelsIn(moto));
  const { url: ec2, signers } = await startRejectingEC2(t);
  await installCAPA(cluster, folder);
  // The webhooks would deny some of the objects, so they are installed later.
  await createObjects(t, cluster);
  const secrets = ["--identity-secret-namespace", "capa-system"];
  await installWebhook(t, cluster, [`--namespace=${OPTIONS.namespace}`, ...secrets]);
  await apply(cluster, manifestObjects("policies", OPTIONS));
  const log = await startManager(t, cluster, folder, { sts, ec2 });
  const used = new UsedCredentials(log, signers, sts);
  await t.test("CAPA uses the predicted credentials for each example", async (tt) => predicts(tt, cluster, used));
  await t.test("a changed identity changes the annotations and what CAPA does", async (tt) =>
    followsIdentity(tt, cluster, used),
  );
  await t.test("the webhook denies an identity whose Secret CAPA cannot read", async (tt) =>
    findsMisspelled(tt, cluster, used),
  );
  await t.test("no write of CAPA is denied", async (tt) => deniesNothing(tt, cluster));
});

/** Creates the identities with POST, so that the API server prunes unknown fields. */
async function createObjects(t: Test, cluster: Cluster): Promise<void> {
  await apply(cluster, Object.entries(NAMESPACES).map(([name, labels]) => (
    { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } }
  )));
  const created = await Promise.all([
    ...IDENTITIES.map((one) => cluster.request("POST", collectionOf(one), one)),
    cluster.request("POST", SECRETS, secretObject("base-creds", "one")),
    cluster.request("POST", SECRETS, secretObject("test-account-creds", "two")),
  ]);
  t.same(created.filter(({ status }) => status !== 201), []);
  await apply(cluster, [...CLUSTERS.map(ownerOf), ...CLUSTERS]);
}

async function predicts(t: Test, cluster: Cluster, used: UsedCredentials): Promise<void> {
  const isCreated = async (): Promise<boolean> => (
    (await cluster.request("GET", `${CONTROLLERS}/default`)).status === 200
  );
  t.ok(await until(isCreated), "CAPA creates the controller identity");
  const updates = await Promise.all(CLUSTERS.map(async (one) => (
    patch(cluster, `${collectionOf(one)}/${nameOf(one)}`, LABELED)
  )));
  t.same(updates.filter(({ status }) => status !== 200), [], "the webhook annotates each cluster at a change");
  const predicted = await agreed(t, cluster, used);
  const { body } = await cluster.request("GET", `/apis/${INFRASTRUCTURE}/v1beta2/awsclusters`);
  t.notMatch(JSON.stringify(body), /"Principal(UsageAllowed|CredentialRetrieved)"/, "there is no condition to compare");
  const kinds = new Set(Object.values(predicted).map((answer) => answer.replace(/:role\/.*/, ":role")));
  t.same([...kinds].toSorted(), [
    "ERR_IDENTITY_NAMESPACE", "ERR_IDENTITY_SELECTOR", "ERR_IDENTITY_UNKNOWN", "arn:aws:iam::111122223333:role",
    "default", "static base", "static test-account",
  ]);
  const expected = Object.entries(predicted).map(([name, answer]) => (
    [name, DENIED.has(answer) ? "AC-02" : "admitted"]
  ));
  t.same(await admissions(cluster), Object.fromEntries(expected), "the webhook denies what CAPA refuses");
}

/** Waits until the annotations and CAPA agree with `resolve`. Returns the answers of `resolve`. */
async function agreed(t: Test, cluster: Cluster, used: UsedCredentials): Promise<Answers> {
  const predicted = await predictions(cluster);
  t.same(Object.keys(predicted).toSorted(), CLUSTERS.map(nameOf).toSorted());
  // An annotation states the reason of a refusal, but not its code.
  const expected = Object.fromEntries(Object.entries(predicted).map(([name, answer]) => (
    [name, answer.startsWith("ERR_") ? "refused" : answer]
  )));
  await until(async () => isDeepStrictEqual(await annotations(cluster), expected));
  t.same(await annotations(cluster), expected, "the annotations");
  await until(async () => isDeepStrictEqual(await used.answers(), predicted));
  t.same(await used.answers(), predicted, "what CAPA does");
  return predicted;
}

async function followsIdentity(t: Test, cluster: Cluster, used: UsedCredentials): Promise<void> {
  const before = await predictions(cluster);
  const changed = await patch(cluster, `${ROLES}/list`, {
    metadata: { annotations: { "ack-role-resolver.io/allow": "CI-07" } },
    spec: { allowedNamespaces: { list: ["labeled"] } },
  });
  t.equal(changed.status, 200);
  const after = await agreed(t, cluster, used);
  t.same(Object.keys(after).filter((name) => after[name] !== before[name]), ["list.labeled", "list.test"]);
}

/** The documentation of CAPA has these keys, but CAPA does not read them. */
async function findsMisspelled(t: Test, cluster: Cluster, used: UsedCredentials): Promise<void> {
  const { identity, secret, cluster: one } = MISSPELLED;
  for (const [path, object] of [[STATICS, identity], [SECRETS, secret]] as const) {
    t.match(await cluster.request("POST", path, object), { status: 201 });
  }
  await apply(cluster, [ownerOf(one), one]);
  const isFailed = async (): Promise<boolean> => (
    (await used.answers())[nameOf(one)]?.includes("static credentials are empty") === true
  );
  t.ok(await until(isFailed), "CAPA has no credentials");
  const copy = withFields(identity, "metadata", { name: "copy" });
  const denied = await cluster.request("POST", `${STATICS}?dryRun=All`, copy);
  t.match(denied, { status: 422, body: { message: /CI-10 .*has the key "accessKeyID", not AccessKeyID/ } });
}

/** A conflict (409) is no denial: CAPA reads the object again. */
async function deniesNothing(t: Test, cluster: Cluster): Promise<void> {
  const lines = (await readFile(cluster.auditLog, "utf8")).split("\n").filter((line) => line.includes(CAPA_USER));
  const writes = lines.map(parseJSON).filter((event) => (
    stringAt(event, "user", "username") === CAPA_USER && !/^(get|list|watch)$/.test(stringAt(event, "verb") ?? "")
  )).map((event) => ({
    what: `${stringAt(event, "verb")} ${stringAt(event, "objectRef", "resource")}`,
    status: Number(field(field(event, "responseStatus"), "code")),
  }));
  t.same(writes.filter(({ status }) => status >= 400 && status !== 409), []);
  const stored = new Set(writes.filter(({ status }) => status < 300).map(({ what }) => what));
  const expected = ["create awsclustercontrolleridentities", "patch awsclusters", "patch secrets"];
  t.same([...stored].filter((what) => !what.endsWith(" events")).toSorted(), expected);
}
