import type { Test } from "tap";
import { field, stringAt, stringMap } from "../../../shared/formats/json.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { completesSelector, validatesFixtures } from "./crd-cases.ts";
import { installWebhook, type SelectorCRD, SELECTORS } from "./installed-webhook.ts";

const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";
const STRICT = "fieldValidation=Strict";
const PREFIX = "ack-role-resolver.io/";

onCluster("the webhook on a real API server with the CRD of ACK's charts", async (t, cluster) => {
  await testWebhook(t, cluster, "ACK");
});
onCluster("the webhook on a real API server with the CRD of this project", async (t, cluster) => {
  await testWebhook(t, cluster, "own");
});

async function testWebhook(t: Test, cluster: Cluster, crd: SelectorCRD): Promise<void> {
  // Turns off the checks that deny moves of resources, because this test moves resources. The checks for moves have
  // their own tests.
  const webhook = await installWebhook(t, cluster, ["--check", "ACK-06=off", "--check", "IRS-17=warn"], crd);
  await cluster.kubectl(["create", "namespace", "team-a"]);
  await t.test(
    "denies every malformed selector, prints the path and the fix, and accepts every valid selector",
    async (tt) => validatesFixtures(tt, cluster, crd),
  );
  await t.test("kubectl prints the denials and warnings of the webhook", async (tt) => printsMessages(tt, cluster));
  await t.test("adds the fields that ACK's CRD requires", async (tt) => completesSelector(tt, cluster));
  if (crd === "own") {
    await t.test("rewrites a type entry that has an apiVersion", async (tt) => rewrites(tt, cluster));
  }
  await t.test("annotates a resource with its resolution and overwrites forged annotations", async (tt) =>
    annotates(tt, cluster),
  );
  await t.test("returns no patch if an identical request is repeated", async (tt) =>
    changesNothingTwice(tt, cluster, webhook),
  );
  await t.test("accepts label keys that are special in JavaScript as ordinary keys", async (tt) =>
    acceptsSpecialKeys(tt, cluster),
  );
  await t.test("the webhook has no permission to write selectors or to read Secrets", async (tt) =>
    hasNoOtherPermission(tt, cluster),
  );
  await t.test(
    "while the webhook is stopped, the API server rejects changes of selectors and allows changes of resources",
    async (tt) => failsWhileStopped(tt, cluster, webhook),
  );
}

/** Returns a selector. Each test must use a different name. */
function selector(name: string, spec: object, metadata: object = {}): object {
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name, ...metadata }, spec };
}

const DENIAL = `The IAMRoleSelector "team-a" is invalid: 
* spec.arn: IRS-03 "arn:aws:iam::111122223333:user/jane" is not the ARN of an IAM role: its resource is "user/jane", \
not role/NAME. Write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME.
* spec.namespaceSelector.names[2]: IRS-08 "team-a" is already listed. List each namespace once, or remove the field \
names to select every namespace.
* spec.namespaceSelector.names[1]: IRS-09 "Team-B" is not a valid namespace name: a namespace name must consist of \
lower-case letters, digits and '-', and start and end with a letter or digit. Use the exact name of a namespace, or \
select namespaces by label with labelSelector.
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
  const selected = {
    outcome: "selected",
    via: "selector",
    selector: "gold",
    "selector-resource-version": stringAt(stored.body, "metadata", "resourceVersion"),
    "role-arn": "arn:aws:iam::111122223333:role/gold",
    reason: "IAMRoleSelector gold selects the resource.",
  };
  t.strictSame(
    await relabelUntil(cluster, "b1", "gold", "selected"),
    selected,
    "the resource is annotated again when its labels change",
  );
  await annotatesConflict(t, cluster);
  t.strictSame(await relabelUntil(cluster, "b1", "silver", "default"), BY_DEFAULT);
}

/** This selector temporarily overlaps selector gold, which selects bucket b1. */
async function annotatesConflict(t: Test, cluster: Cluster): Promise<void> {
  // Without this annotation, the webhook would deny the overlap.
  const replacing = { annotations: { [`${PREFIX}replaces`]: "gold" } };
  const overlap = selector(
    "overlap",
    {
      arn: "arn:aws:iam::444455556666:role/overlap",
      namespaceSelector: { names: ["team-a"] },
      resourceTypeSelector: [{ kind: "Bucket" }],
    },
    replacing,
  );
  t.equal((await cluster.request("POST", SELECTORS, overlap)).status, 201);
  t.strictSame(await relabelUntil(cluster, "b1", "gold", "conflict"), {
    outcome: "conflict", "conflicting-selectors": "gold,overlap",
    reason: "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [gold, overlap]",
  });
  await cluster.request("DELETE", `${SELECTORS}/overlap`);
  t.equal(
    (await relabelUntil(cluster, "b1", "gold", "selected"))["selector"],
    "gold",
    "deleting the selector ends the conflict",
  );
}

function bucket(name: string, metadata: object = {}): object {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1",
    kind: "Bucket",
    metadata: { name, namespace: "team-a", ...metadata },
    spec: { name },
  };
}

/** Writes the label repeatedly, until the inventory is current and the outcome is as expected. */
async function relabelUntil(
  cluster: Cluster,
  name: string,
  tier: string,
  outcome: string,
): Promise<Readonly<Record<string, string>>> {
  let annotations: Readonly<Record<string, string>> = {};
  const headers = { "content-type": "application/merge-patch+json" };
  await until(async () => {
    annotations = resolutionOf(
      (await cluster.request("PATCH", `${BUCKETS}/${name}`, { metadata: { labels: { tier } } }, { headers })).body,
    );
    return annotations["outcome"] === outcome;
  });
  return annotations;
}

async function changesNothingTwice(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const input = JSON.stringify(bucket("b2"));
  const applied = await cluster.kubectl(["apply", "--server-side", "-f", "-"], { input });
  t.equal(applied.code, 0, applied.stderr);
  const first = await cluster.request("GET", `${BUCKETS}/b2`);
  const linesBefore = webhook.log.length;
  t.equal((await cluster.kubectl(["apply", "--server-side", "-f", "-"], { input })).code, 0);
  const second = await cluster.request("GET", `${BUCKETS}/b2`);
  t.equal(stringAt(second.body, "metadata", "resourceVersion"), stringAt(first.body, "metadata", "resourceVersion"));
  const again = webhook.log.slice(linesBefore).filter((line) => line["path"] === "/mutate/resources");
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

async function hasNoOtherPermission(t: Test, cluster: Cluster): Promise<void> {
  for (const verb of ["create", "update", "patch", "delete"]) {
    const { stdout } = await cluster.kubectl(["auth", "can-i", verb, "iamroleselectors"], { user: "webhook" });
    t.equal(stdout.trim(), "no", verb);
  }
  const { stdout } = await cluster.kubectl(["auth", "can-i", "get", "secrets"], { user: "webhook" });
  t.equal(stdout.trim(), "no", "the webhook cannot read Secrets");
}

async function failsWhileStopped(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await webhook.stop("SIGKILL");
  const failed = await cluster.request("POST", SELECTORS, selector("late", { arn: "not-an-arn" }));
  t.equal(failed.status, 500);
  t.match(stringAt(failed.body, "message"), /failed calling webhook "iamroleselectors\.mutate\.ack-role-resolver\.io"/);
  const admitted = await cluster.request("POST", BUCKETS, bucket("b4"));
  t.equal(admitted.status, 201);
  t.strictSame(resolutionOf(admitted.body), {});
}
