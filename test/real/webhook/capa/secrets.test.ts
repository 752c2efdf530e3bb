import type { Test } from "tap";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { MANIFEST_OPTIONS } from "../installed-webhook.ts";
import { installCAPA } from "./installed-capa.ts";
import { create, identity, LIST, outcomeOf, patch, send, STATICS } from "./objects.ts";

/** The time in which docs/events.md promises the Event. */
const EVENT_MS = 5_000;
const SECRETS = "/api/v1/namespaces/capa-system/secrets";
const PLANTED = "UExBTlRFRC1WQUxVRQ==";
const SPEC = { secretRef: "creds", allowedNamespaces: LIST };
const IDENTITY = create(`${STATICS}?dryRun=All`, identity("Static", "s", SPEC));

onCluster("the Secrets of static identities, on a real API server", async (t, cluster) => {
  const namespace = ["--namespace", MANIFEST_OPTIONS.namespace];
  await installCAPA(t, cluster, ["--identity-secret-namespace", "capa-system", ...namespace]);
  const admits = async (message: RegExp): Promise<void> => becomes(t, cluster, /^201 /, message);
  await admits(/CI-10 .*the Secret capa-system\/creds does not exist CI-10 fix: create/);
  await write(cluster, "POST", { accessKeyID: PLANTED, secretAccessKey: PLANTED });
  await becomes(t, cluster, /^422 /,
    /CI-10 .*has the key "accessKeyID", not AccessKeyID: the names are case-sensitive\. Write the keys/);
  await write(cluster, "PATCH", { accessKeyID: null, AccessKeyID: PLANTED, secretAccessKey: null });
  await admits(/CI-10 .*the Secret capa-system\/creds has no key SecretAccessKey CI-10 fix: write/);
  await write(cluster, "PATCH", { SecretAccessKey: PLANTED });
  await becomes(t, cluster, /^201 *$/, /^(?!.*CI-1)/);
  await t.test("an Event on the identity reports a Secret that an update makes useless", (tt) => reports(tt, cluster));
});

/** Renames a key of the Secret of a stored identity. Only a fault reaches the limit, which is three times the goal. */
async function reports(t: Test, cluster: Cluster): Promise<void> {
  await send(cluster, create(STATICS, identity("Static", "s", SPEC)));
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

/** Creates the identity in dry runs until the webhook has received the change of the Secret. */
async function becomes(t: Test, cluster: Cluster, status: RegExp, message: RegExp): Promise<void> {
  let outcome = "";
  const isExpected = async (): Promise<boolean> => {
    outcome = outcomeOf(await send(cluster, IDENTITY));
    return status.test(outcome) && message.test(outcome);
  };
  t.ok(await until(isExpected), outcome);
  t.notMatch(outcome, PLANTED);
}
