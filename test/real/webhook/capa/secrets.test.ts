import type { Test } from "tap";
import { stringAt } from "../../../../shared/formats/json.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { MANIFEST_OPTIONS } from "../installed-webhook.ts";
import { installCAPA } from "./installed-capa.ts";
import {
  type Change, collection, create, identity, LIST, outcomeOf, patch, referrer, refTo, send, STATICS,
} from "./objects.ts";

/** The time in which docs/events.md promises the Event. */
const EVENT_MS = 5_000;
const SECRETS = "/api/v1/namespaces/capa-system/secrets";
const PLANTED = "UExBTlRFRC1WQUxVRQ==";
const SPEC = { secretRef: "creds", allowedNamespaces: LIST };
const IDENTITY = create(`${STATICS}?dryRun=All`, identity("Static", "s", SPEC));

onCluster("the Secrets of static identities, on a real API server", async (t, cluster) => {
  const namespace = ["--namespace", MANIFEST_OPTIONS.namespace];
  await installCAPA(t, cluster, ["--identity-secret-namespace", "capa-system", ...namespace]);
  await becomes(t, cluster, /^201 .*CI-10 .*the Secret capa-system\/creds does not exist CI-10 fix: create/);
  await write(cluster, "POST", { accessKeyID: PLANTED, secretAccessKey: PLANTED });
  await becomes(t, cluster,
    /^422 .*CI-10 .*has the key "accessKeyID", not AccessKeyID: the names are case-sensitive\. Write the keys/);
  await write(cluster, "PATCH", { accessKeyID: null, AccessKeyID: PLANTED, secretAccessKey: null });
  await becomes(t, cluster, /^201 .*CI-10 .*the Secret capa-system\/creds has no key SecretAccessKey CI-10 fix: write/);
  await write(cluster, "PATCH", { SecretAccessKey: PLANTED });
  await becomes(t, cluster, /^201 *$/);
  await t.test("AC-04 uses the recorded account of a Secret", (tt) => comparesAccounts(tt, cluster));
  await t.test("an Event on the identity reports a Secret that an update makes useless", (tt) => reports(tt, cluster));
});

/** Moves a cluster from a static identity to a role in account 111122223333. */
async function comparesAccounts(t: Test, cluster: Cluster): Promise<void> {
  const clusters = collection("AWSCluster");
  const record = async (accountID: string): Promise<unknown> => {
    const { body } = await cluster.request("GET", `${SECRETS}/creds`);
    const [uid, version] = ["uid", "resourceVersion"].map((name) => stringAt(body, "metadata", name));
    const entry = `${accountID} as of ${uid}/${version}`;
    const path = "/api/v1/namespaces/capa-system/configmaps/ack-role-resolver-identity-accounts";
    return await send(cluster, patch(path, { data: { creds: entry } }));
  };
  await send(cluster, create(STATICS, identity("Static", "s", SPEC)));
  const reference = { kind: "AWSClusterStaticIdentity", name: "s" };
  const created = create(clusters, referrer("AWSCluster", "moving", reference));
  t.ok(await until(async () => outcomeOf(await send(cluster, created)).startsWith("201")));
  const move = patch(`${clusters}/moving?dryRun=All`, { spec: { identityRef: refTo("used") } });
  await becomes(t, cluster, /^200 .*AC-04 .*moves from the account of Secret creds to account 111122223333 /, move);
  await record("111122223333");
  await becomes(t, cluster, /^200(?!.*AC-04)/, move);
  await record("444455556666");
  await becomes(t, cluster, /^422 .*AC-04 .* from account 444455556666 to account 111122223333\. Keep/, move);
  await send(cluster, patch(`${SECRETS}/creds`, { metadata: { labels: { changed: "true" } } }));
  await becomes(t, cluster, /^200 .*AC-04 .*moves from the account of Secret creds to/, move);
}

/** Renames a key of the Secret of a stored identity. Only a fault reaches the limit, which is three times the goal. */
async function reports(t: Test, cluster: Cluster): Promise<void> {
  await write(cluster, "PATCH", { AccessKeyID: null, accessKeyID: PLANTED });
  const startedMs = Date.now();
  let text = "";
  const isReported = async (): Promise<boolean> => {
    text = (await cluster.kubectl(["describe", "awsclusterstaticidentity", "s"])).stdout;
    return text.includes("UnusableSecret");
  };
  t.ok(await until(isReported, 3 * EVENT_MS));
  t.comment(`reported after ${Date.now() - startedMs} ms; the goal is ${EVENT_MS} ms`);
  t.match(text, /UnusableSecret [^]*CAPA cannot use the Secret of this identity: .*"accessKeyID", not AccessKeyID/);
  t.notMatch(text, PLANTED);
}

async function write(cluster: Cluster, method: "POST" | "PATCH", data: object): Promise<void> {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "creds" }, data };
  await send(cluster, method === "POST" ? create(SECRETS, secret) : patch(`${SECRETS}/creds`, { data }));
}

/** Sends the change, by default the new identity, until the webhook has received what was written before. */
async function becomes(t: Test, cluster: Cluster, expected: RegExp, change: Change = IDENTITY): Promise<void> {
  let outcome = "";
  const isExpected = async (): Promise<boolean> => {
    outcome = outcomeOf(await send(cluster, change));
    return expected.test(outcome);
  };
  t.ok(await until(isExpected), outcome);
  t.notMatch(outcome, PLANTED);
}
