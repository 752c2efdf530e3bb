import type { Test } from "tap";
import { field, stringAt, stringMap } from "../../../shared/formats/json.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { bucket, buckets, patch } from "./buckets.ts";
import { completesSelector, validatesFixtures } from "./crd-cases.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const BUCKETS = buckets("team-a");
const STRICT = "fieldValidation=Strict";
const PREFIX = "ack-role-resolver.io/";

for (const crd of ["ACK", "own"] as const) {
  onCluster(`the webhook on a real API server, with the CRD ${crd}`, async (t, cluster) => {
    // ACK-06 denies moves of resources. This test moves resources.
    const webhook = await installWebhook(t, cluster, ["--check", "ACK-06=off"], crd);
    await t.test("with the CRD, denies every malformed selector and accepts every valid selector", async (tt) =>
      validatesFixtures(tt, cluster, crd));
    await t.test("adds the fields that ACK's CRD requires", async (tt) => completesSelector(tt, cluster));
    if (crd === "own") {
      await t.test("rewrites a type entry that has an apiVersion", async (tt) => rewrites(tt, cluster));
    } else {
      await testMessages(t, cluster, webhook);
    }
  });
}

async function testMessages(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await cluster.kubectl(["create", "namespace", "team-a"]);
  await t.test("kubectl prints the denials and warnings of the webhook", async (tt) => printsMessages(tt, cluster));
  await t.test("annotates a resource with its resolution and overwrites forged annotations", async (tt) =>
    annotates(tt, cluster));
  await t.test("returns no patch if an identical request is repeated", async (tt) =>
    changesNothingTwice(tt, cluster, webhook));
  await t.test("accepts label keys that are special in JavaScript as ordinary keys", async (tt) =>
    acceptsSpecialKeys(tt, cluster));
}

/** Returns a selector. Each test must use a different name. */
function selector(name: string, spec: object, metadata: object = {}): object {
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name, ...metadata }, spec };
}

const DENIAL = `The IAMRoleSelector "team-a" is invalid: 
* spec.arn: IRS-03 "arn:aws:iam::111122223333:user/jane" is not the ARN of an IAM role: its resource is "user/jane", \
not role/NAME. Write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME.
* spec.namespaceSelector.names[2]: IRS-08 "team-a" is already listed. Remove this entry.
* spec.namespaceSelector.names[1]: IRS-09 "Team-B" is not a valid namespace name: a namespace name must consist of \
lower-case letters, digits and '-', and start and end with a letter or digit. Write "team-b".
`;

async function printsMessages(t: Test, cluster: Cluster): Promise<void> {
  const bad = selector("team-a", {
    arn: "arn:aws:iam::111122223333:user/jane",
    namespaceSelector: { names: ["team-a", "Team-B", "team-a"] },
  });
  const denied = await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(bad) });
  t.equal(denied.code, 1);
  t.equal(denied.stderr, DENIAL);

  const broad = selector("buckets", {
    arn: "arn:aws:iam::111122223333:role/buckets",
    namespaceSelector: { names: [] },
    resourceTypeSelector: [{ group: "sns.services.k8s.aws", version: "", kind: "" }],
  });
  const warned = await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(broad) });
  t.equal(warned.code, 0);
  t.equal(
    warned.stderr,
    "Warning: IRS-15 spec.namespaceSelector: the field is empty, so it matches everything. Set or remove the field.\n",
  );
  await cluster.kubectl(["delete", "iamroleselector", "buckets"]);
}

async function rewrites(t: Test, cluster: Cluster): Promise<void> {
  const submitted = selector("queues", {
    arn: "arn:aws:iam::111122223333:role/queues",
    resourceTypeSelector: [{ apiVersion: "sqs.services.k8s.aws/v1alpha1", kind: "Queue" }],
  });
  t.match(await cluster.request("POST", `${SELECTORS}?${STRICT}`, submitted), {
    status: 201,
    body: { spec: { resourceTypeSelector: [{ group: "sqs.services.k8s.aws", version: "v1alpha1", kind: "Queue" }] } },
  });
  await cluster.request("DELETE", `${SELECTORS}/queues`);
}

/** Returns the annotations of the webhook, without their prefix. */
function resolutionOf(body: unknown): Readonly<Record<string, string>> {
  const annotations = stringMap(field(field(body, "metadata"), "annotations"));
  return Object.fromEntries(
    [...annotations].flatMap(([key, value]) =>
      key.startsWith(PREFIX) ? [[key.slice(PREFIX.length), value] as const] : [],
    ),
  );
}

const BY_DEFAULT = {
  outcome: "default",
  reason: "No IAMRoleSelector selects the resource, so the controller's own role is used.",
};

async function annotates(t: Test, cluster: Cluster): Promise<void> {
  const forged = {
    [`${PREFIX}outcome`]: "selected",
    [`${PREFIX}role-arn`]: "arn:aws:iam::999988887777:role/forged",
    "example.com/other": "yes",
  };
  const created = await cluster.request("POST", BUCKETS, bucket("b1", { annotations: forged }));
  t.equal(created.status, 201);
  t.strictSame(resolutionOf(created.body), BY_DEFAULT, "forged annotations are overwritten or removed");
  t.equal(field(field(field(created.body, "metadata"), "annotations"), "example.com/other"), "yes");

  const gold = selector("gold", {
    arn: "arn:aws:iam::111122223333:role/gold",
    namespaceSelector: { names: ["team-a"] },
    resourceLabelSelector: { matchLabels: { tier: "gold" } },
  });
  const stored = await cluster.request("POST", SELECTORS, gold);
  t.equal(stored.status, 201);
  const labels = { tier: "gold" };
  let resolution: Readonly<Record<string, string>> = {};
  await until(async () => {
    resolution = resolutionOf((await patch(cluster, buckets("team-a", "b1"), { metadata: { labels } })).body);
    return resolution["outcome"] === "selected";
  });
  t.strictSame(resolution, {
    outcome: "selected",
    via: "selector",
    selector: "gold",
    "selector-resource-version": stringAt(stored.body, "metadata", "resourceVersion"),
    "role-arn": "arn:aws:iam::111122223333:role/gold",
    reason: "IAMRoleSelector gold selects the resource.",
  }, "the resource is annotated again when its labels change");
}

async function changesNothingTwice(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const input = JSON.stringify(bucket("b2"));
  const applied = await cluster.kubectl(["apply", "--server-side", "-f", "-"], { input });
  t.equal(applied.code, 0, applied.stderr);
  const first = await cluster.request("GET", `${BUCKETS}/b2`);
  const { length: linesBefore } = await webhook.settledLog();
  t.equal((await cluster.kubectl(["apply", "--server-side", "-f", "-"], { input })).code, 0);
  const second = await cluster.request("GET", `${BUCKETS}/b2`);
  t.equal(stringAt(second.body, "metadata", "resourceVersion"), stringAt(first.body, "metadata", "resourceVersion"));
  const again = (await webhook.settledLog()).slice(linesBefore).filter((line) => line["path"] === "/mutate/resources");
  t.match(again, [{ answer: "allowed", outcome: "default" }], "the second review returns no patch");
}

async function acceptsSpecialKeys(t: Test, cluster: Cluster): Promise<void> {
  const spec = '{"__proto__": {"a": "1"}, "constructor": {"prototype": {"b": "2"}}}';
  const body = JSON.stringify(bucket("b3")).replace('"spec":{"name":"b3"}', `"spec":${spec}`);
  const { code, stderr } = await cluster.kubectl(["create", "-f", "-"], { input: body });
  t.equal(code, 0, stderr);
  const stored = await cluster.request("GET", `${BUCKETS}/b3`);
  t.equal(resolutionOf(stored.body)["outcome"], "default");
  t.equal(JSON.stringify(field(stored.body, "spec")), JSON.stringify(JSON.parse(spec)));

  const named = selector("keys", {
    arn: "arn:aws:iam::111122223333:role/keys",
    namespaceSelector: { names: ["team-a"], labelSelector: { matchLabels: { constructor: "x" } } },
  });
  t.equal(
    (await cluster.request("POST", `${SELECTORS}?dryRun=All`, named)).status,
    201,
    "constructor is an ordinary label key",
  );
}
