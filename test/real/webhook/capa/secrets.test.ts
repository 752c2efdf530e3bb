import type { Test } from "tap";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { installCAPA } from "./installed-capa.ts";
import { create, identity, LIST, outcomeOf, patch, send, STATICS } from "./objects.ts";

const SECRETS = "/api/v1/namespaces/capa-system/secrets";
const PLANTED = "UExBTlRFRC1WQUxVRQ==";
const SPEC = { secretRef: "creds", allowedNamespaces: LIST };
const IDENTITY = create(`${STATICS}?dryRun=All`, identity("Static", "s", SPEC));

onCluster("the Secrets of static identities, on a real API server", async (t, cluster) => {
  await installCAPA(t, cluster, ["--identity-secret-namespace", "capa-system"]);
  const admits = async (message: RegExp): Promise<void> => becomes(t, cluster, /^201 /, message);
  await admits(/CI-10 .*the Secret capa-system\/creds does not exist CI-10 fix: create/);
  await write(cluster, "POST", { accessKeyID: PLANTED, secretAccessKey: PLANTED });
  await becomes(t, cluster, /^422 /,
    /CI-10 .*has the key "accessKeyID", not AccessKeyID: the names are case-sensitive\. Write the keys/);
  await write(cluster, "PATCH", { accessKeyID: null, AccessKeyID: PLANTED, secretAccessKey: null });
  await admits(/CI-10 .*the Secret capa-system\/creds has no key SecretAccessKey CI-10 fix: write/);
  await write(cluster, "PATCH", { SecretAccessKey: PLANTED });
  await becomes(t, cluster, /^201 *$/, /^(?!.*CI-1)/);
});

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
