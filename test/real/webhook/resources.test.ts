import type { Test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { bucket, buckets, createForeignBucket, createObjects, GOLD, patch, warnings } from "./buckets.ts";
import { installWebhook } from "./installed-webhook.ts";

const FLAGS = [
  "--controller-users", "ack-system/ack-s3-controller", "--controller-account", "777788889999",
  "--region", "eu-west-1", "--check", "ACK-09=deny",
];
const JANE = { user: "jane" } as const;
const CONTROLLER = { user: "controller" } as const;
const POLICY = "services.k8s.aws/deletion-policy";

onCluster("changes of ACK resources on a real API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster, FLAGS);
  await createObjects(t, cluster);
  await t.test("allows changes that break no check, without a warning", async (tt) =>
    allowsOrdinaryChanges(tt, cluster),
  );
  await t.test("kubectl prints the denials and warnings of the webhook", async (tt) => printsMessages(tt, cluster));
  await t.test("returns the same result for server-side apply and for dry runs", async (tt) =>
    answersApply(tt, cluster),
  );
  await t.test("denies labels that match a selector that the requester is not allowed to use", async (tt) =>
    reviewsAccess(tt, cluster),
  );
  await t.test("returns warnings but no denial to an ACK controller", async (tt) => warnsControllers(tt, cluster));
  await t.test("receives no review of status changes, and allows changes of finalizers", async (tt) =>
    allowsBookkeeping(tt, cluster, webhook),
  );
  await t.test(
    "denies deleting a resource of another account unless a waiver or a cleanup controller allows it",
    async (tt) => deniesDeletions(tt, cluster),
  );
  await t.test("allows every deletion in a namespace that is being deleted", async (tt) =>
    allowsDeletionInTerminating(tt, cluster),
  );
  await t.test("denies the deletion of a CustomResourceDefinition that has resources", async (tt) =>
    deniesKindDeletion(tt, cluster),
  );
  await t.test("while the webhook is stopped, the API server allows all changes of resources", async (tt) =>
    blocksNothing(tt, cluster, webhook),
  );
});

async function allowsOrdinaryChanges(t: Test, cluster: Cluster): Promise<void> {
  const kubectl = async (args: readonly string[], object?: object): Promise<void> => {
    const { code, stderr } = await cluster.kubectl(args, {
      user: "jane",
      ...(object !== undefined && { input: JSON.stringify(object) }),
    });
    t.equal(code, 0, args.join(" "));
    t.equal(stderr, "", args.join(" "));
  };
  await kubectl(["apply", "-f", "-"], bucket("life", GOLD));
  await kubectl(
    ["apply", "-f", "-"],
    bucket("life", { labels: { tier: "gold", app: "shop" }, annotations: { "services.k8s.aws/region": "eu-west-1" } }),
  );
  await kubectl(["-n", "team-a", "annotate", "bucket", "life", `${POLICY}=delete`]);
  await kubectl(["-n", "team-a", "label", "bucket", "life", "app-"]);
  await kubectl(["-n", "team-a", "patch", "bucket", "life", "--type=merge", "-p", '{"spec": {"acl": "private"}}']);
  await kubectl(["-n", "team-a", "delete", "bucket", "life"]);
}

const DENIAL = `The Bucket "b1" is invalid: 
* metadata.annotations[services.k8s.aws/region]: ACK-10 "Frankfurt" is not a region. Set a region of the role's \
partition, such as eu-west-1, or remove the annotation.
* metadata.annotations[services.k8s.aws/deletion-policy]: ACK-11 "Delete" is neither delete nor retain, so controllers \
treat it as retain. Set the deletion policy to delete or retain, in lower case.
`;

async function printsMessages(t: Test, cluster: Cluster): Promise<void> {
  const apply = async (object: object): Promise<{ readonly code: unknown; readonly stderr: string }> =>
    await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(object) });
  const denied = await apply(
    bucket("b1", { ...GOLD, annotations: { "services.k8s.aws/region": "Frankfurt", [POLICY]: "Delete" } }),
  );
  t.equal(denied.code, 1);
  t.equal(denied.stderr, DENIAL);

  const conflict = await apply(bucket("b2", { labels: { tier: "gold", late: "yes" } }));
  t.equal(conflict.code, 0);
  t.equal(
    conflict.stderr,
    "Warning: ACK-03 Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [gold, late]; " +
      "controllers do not\nWarning: ACK-03 … reconcile the resource\nWarning: ACK-03 fix: restrict or delete " +
      "selectors until only one selects the resource, " +
      "or change the labels of the resource\n",
  );
  const resolved = await apply(bucket("b2", { labels: { tier: "gold" } }));
  t.equal(resolved.stderr, "", "labels can resolve the conflict of a resource that does not exist in AWS yet");

  const typo = await apply(bucket("b3", { annotations: { "services.k8s.aws/deletion-polcy": "retain" } }, "sandbox"));
  t.equal(typo.code, 0);
  t.equal(
    typo.stderr,
    `Warning: ACK-05 No IAMRoleSelector selects the resource, so the controller's own role is used
Warning: ACK-05 fix: label the resource or its namespace so that a selector matches, unless the controller's \
account is intended
Warning: ACK-15 services.k8s.aws/deletion-polcy: controllers do not know this annotation
Warning: ACK-15 fix: set services.k8s.aws/deletion-policy if you meant that, or remove the annotation
`,
  );
  const annotations = { "ack-role-resolver.io/role-arn": "arn:aws:iam::999988887777:role/forged" };
  const forged = await apply(bucket("b4", { ...GOLD, annotations }));
  t.equal(forged.code, 0, "a forged annotation is not denied");
  t.equal(
    forged.stderr,
    "Warning: ACK-02 ack-role-resolver.io/role-arn: submitted values are overwritten; " +
      "only the webhook writes these annotations\n",
  );

  const strict = await apply(bucket("b5", {}, "strict"));
  t.equal(strict.code, 1);
  t.equal(
    strict.stderr,
    `The Bucket "b5" is invalid: metadata: ACK-05b namespace strict requires a selector, but the resource would ` +
      `use the controller's own role. Label the resource to match a selector, or create a selector that selects the `
        + `resource.\n`,
  );
}

async function answersApply(t: Test, cluster: Cluster): Promise<void> {
  const apply = async (
    object: object,
    ...flags: readonly string[]
  ): Promise<{ readonly code: unknown; readonly stderr: string }> =>
    await cluster.kubectl(["apply", "--server-side", ...flags, "-f", "-"], { input: JSON.stringify(object) });
  t.match(await apply(bucket("ssa", GOLD)), { code: 0, stderr: "" });
  t.match(await apply(bucket("ssa", GOLD)), { code: 0, stderr: "" }, "the second apply succeeds");
  const typo = bucket("ssa", { ...GOLD, annotations: { [POLICY]: "keep" } });
  t.match(await apply(typo), { code: 1, stderr: /ACK-11 "keep" is neither delete nor retain/ });
  t.match(await apply(typo, "--dry-run=server"), { code: 1, stderr: /ACK-11/ });
  t.match(await apply(bucket("ssa-dry", GOLD), "--dry-run=server"), { code: 0, stderr: "" });
  t.equal((await cluster.request("GET", buckets("team-a", "ssa-dry"))).status, 404);
}

async function reviewsAccess(t: Test, cluster: Cluster): Promise<void> {
  t.equal(
    (await cluster.request("POST", buckets("team-a"), bucket("used", GOLD), JANE)).status,
    201,
    "Jane is allowed to use the selector gold",
  );
  const denied = await cluster.request(
    "POST",
    buckets("team-a"),
    bucket("unused", { labels: { tier: "silver" } }),
    JANE,
  );
  t.equal(denied.status, 422);
  t.match(
    stringAt(denied.body, "message"),
    /ACK-09 metadata: the requester may not use IAMRoleSelector silver, which selects the resource/,
  );

  const relabelled = await patch(
    cluster,
    buckets("team-a", "used"),
    { metadata: { labels: { tier: "silver" } } },
    JANE,
  );
  t.equal(relabelled.status, 422);
  t.match(
    stringAt(relabelled.body, "message"),
    'ACK-06 metadata.labels: the new labels move the resource from the role "arn:aws:iam::111122223333:role/gold" ' +
      'to the role "arn:aws:iam::444455556666:role/silver"',
  );
  const unlabelled = await patch(cluster, buckets("team-a", "used"), { metadata: { labels: { tier: null } } }, JANE);
  t.match(stringAt(unlabelled.body, "message"), /ACK-06 .* to the controller's own role/);
  t.equal(
    (await patch(cluster, buckets("team-a", "used"), { metadata: { labels: { tier: "silver" } } })).status,
    200,
    "an administrator is allowed to use every selector",
  );
}

async function warnsControllers(t: Test, cluster: Cluster): Promise<void> {
  const typo = bucket("own", { ...GOLD, annotations: { [POLICY]: "Delete" } });
  const created = await cluster.request("POST", buckets("team-a"), typo, CONTROLLER);
  t.equal(created.status, 201);
  t.match(warnings(created), [/^ACK-11 /]);
  const others = bucket("others", { ...GOLD, annotations: { [POLICY]: "Delete" } });
  t.equal((await cluster.request("POST", buckets("team-a"), others, JANE)).status, 422);
}

/** The bucket `own` has a fault that only an ACK controller may store. */
async function allowsBookkeeping(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const reviewsBefore = reviewCount(webhook);
  const status = {
    status: { ackResourceMetadata: { arn: "arn:aws:s3:::own", ownerAccountID: "111122223333", region: "eu-west-1" } },
  };
  const written = await patch(cluster, `${buckets("team-a", "own")}/status`, status, CONTROLLER);
  t.equal(written.status, 200);
  t.same(warnings(written), []);
  t.equal(reviewCount(webhook), reviewsBefore, "the webhook receives no review");
  for (const finalizers of [["finalizers.s3.services.k8s.aws/Bucket"], null]) {
    const patched = await patch(cluster, buckets("team-a", "own"), { metadata: { finalizers } }, JANE);
    t.equal(patched.status, 200);
    t.same(warnings(patched), [], "the change causes no warning");
  }
  const region = await patch(
    cluster,
    buckets("team-a", "own"),
    { metadata: { annotations: { "services.k8s.aws/region": "us-east-1" } } },
    JANE,
  );
  t.match(
    stringAt(region.body, "message"),
    new RegExp(
      'ACK-10b .*: the resource exists in region "eu-west-1", ' +
        'but its desired region is "us-east-1" \\(set by the resource\\)',
    ),
  );
  const claimed = await patch(
    cluster,
    buckets("team-a", "own"),
    { spec: { acl: "private" }, status: { ackResourceMetadata: { ownerAccountID: "999988887777" } } },
    JANE,
  );
  t.equal(claimed.status, 200, "a submitted status is ignored");
  t.equal(stringAt(field(claimed.body, "status"), "ackResourceMetadata", "ownerAccountID"), "111122223333");
}

function reviewCount({ log }: ServerProcess): number {
  return log.filter(({ path }) => path === "/validate/resources").length;
}

async function deniesDeletions(t: Test, cluster: Cluster): Promise<void> {
  const path = await createForeignBucket(cluster, "f1", "sandbox");
  const denied = await cluster.kubectl(["-n", "sandbox", "delete", "bucket", "f1"]);
  t.equal(denied.code, 1);
  t.match(
    denied.stderr,
    'ACK-30 the resource is in account "111122223333", ' +
      'but the controller would look for it in account "777788889999" and leave it behind. ',
  );
  const collection = await cluster.request("DELETE", buckets("sandbox"));
  t.equal(collection.status, 422, "a request that deletes the collection is also denied");

  await patch(cluster, path, { metadata: { annotations: { "ack-role-resolver.io/allow": "ACK-30" } } });
  t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 422, "Jane is not allowed to waive checks");
  const waived = await cluster.request("DELETE", path);
  t.equal(waived.status, 200, "an administrator is allowed to waive checks");
  t.match(warnings(waived), [/^ACK-30 \(waived\) /]);

  const second = await createForeignBucket(cluster, "f2", "sandbox");
  const collector = {
    "impersonate-user": "system:serviceaccount:kube-system:generic-garbage-collector",
    "impersonate-group": "system:masters",
  };
  const collected = await cluster.request("DELETE", second, undefined, { headers: collector });
  t.equal(collected.status, 200);
  t.match(warnings(collected), [/^ACK-30 /]);
}

async function allowsDeletionInTerminating(t: Test, cluster: Cluster): Promise<void> {
  const path = await createForeignBucket(cluster, "f3", "going");
  t.equal((await cluster.request("DELETE", path)).status, 422);
  await cluster.request("DELETE", "/api/v1/namespaces/going");
  let answer: ApiResponse | null = null;
  t.ok(await until(async () => {
    answer = await cluster.request("DELETE", path);
    return answer.status === 200;
  }), "when the inventory has the deletion");
  t.equal((await cluster.request("GET", path)).status, 404);
}

async function deniesKindDeletion(t: Test, cluster: Cluster): Promise<void> {
  const denied = await cluster.kubectl(["delete", "crd", "buckets.s3.services.k8s.aws"]);
  t.equal(denied.code, 1);
  t.match(denied.stderr, /ACK-34 .* also deletes 5 resources: Bucket /);
  t.equal(
    (await cluster.kubectl(["delete", "crd", "topics.sns.services.k8s.aws"])).code,
    0,
    "no resource is of that kind",
  );
}

async function blocksNothing(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await webhook.stop("SIGKILL");
  const admitted = await cluster.request(
    "POST",
    buckets("team-a"),
    bucket("open", { annotations: { [POLICY]: "Delete" } }),
  );
  t.equal(admitted.status, 201);
  t.equal((await cluster.request("DELETE", buckets("team-a", "open"))).status, 200);
}
