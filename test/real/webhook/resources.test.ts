import type { Test } from "tap";
import { field, stringAt } from "../../../shared/decisions/kubernetes/json.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const EFFECT_LIMIT_MS = 10_000;
const FLAGS = ["--controller-service-accounts", "ack-system/ack-s3-controller", "--controller-account", "777788889999", "--region", "eu-west-1", "--check", "ACK-09=deny"];
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
const JANE = { user: "jane" } as const;
const CONTROLLER = { user: "controller" } as const;
const POLICY = "services.k8s.aws/deletion-policy";

onCluster("steps of ACK resources on a real API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster, FLAGS);
  await prepare(t, cluster);
  await t.test("ordinary life goes on without a word", async (tt) => livesOn(tt, cluster));
  await t.test("kubectl prints denials and warnings for people", async (tt) => printsForPeople(tt, cluster));
  await t.test("server-side apply and dry runs are judged alike", async (tt) => judgesApply(tt, cluster));
  await t.test("labels move a resource for whoever may use the selector, and for nobody else", async (tt) => asksForUse(tt, cluster));
  await t.test("an ACK controller is only warned", async (tt) => warnsControllers(tt, cluster));
  await t.test("status and finalizers go through untouched", async (tt) => leavesBookkeeping(tt, cluster, webhook));
  await t.test("a deletion that would go wrong is refused, unless it is waived or the cluster cleans up", async (tt) => judgesDeletions(tt, cluster));
  await t.test("in a namespace that goes everything may go", async (tt) => letsNamespacesGo(tt, cluster));
  await t.test("the definition of a kind that is in use is kept", async (tt) => keepsKinds(tt, cluster));
  await t.test("while it is stopped everything is admitted", async (tt) => failsOpen(tt, cluster, webhook));
});

function buckets(namespace: string, name?: string): string {
  const path = `/apis/s3.services.k8s.aws/v1alpha1/namespaces/${namespace}/buckets`;
  return name === undefined ? path : `${path}/${name}`;
}

function bucket(name: string, metadata: object = {}, namespace = "team-a"): object {
  return { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name, namespace, ...metadata }, spec: { name } };
}

const gold = { labels: { tier: "gold" } };

function selector(name: string, arn: string, matchLabels: object = { tier: name }): object {
  const spec = { arn, namespaceSelector: { names: ["team-a"] }, resourceLabelSelector: { matchLabels } };
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name }, spec };
}

/** Namespaces, selectors of gold, silver and late buckets in team-a, and Jane, who may write buckets and use gold. */
async function prepare(t: Test, cluster: Cluster): Promise<void> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const required = { "ack-role-resolver.io/selector-required": "true" };
  const objects: readonly (readonly [path: string, object: object])[] = [
    ...["team-a", "sandbox", "going"].map((name) => ["/api/v1/namespaces", { metadata: { name } }] as const),
    ["/api/v1/namespaces", { metadata: { name: "strict", annotations: required } }],
    [SELECTORS, selector("gold", "arn:aws:iam::111122223333:role/gold")],
    [SELECTORS, selector("silver", "arn:aws:iam::444455556666:role/silver")],
    [SELECTORS, selector("late", "arn:aws:iam::111122223333:role/late", { late: "yes" })],
    [`${rbac}/clusterroles`, {
      metadata: { name: "bucket-writer" },
      rules: [
        { apiGroups: ["s3.services.k8s.aws"], resources: ["buckets", "buckets/status"], verbs: ["*"] },
        { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], resourceNames: ["gold"], verbs: ["use"] },
      ],
    }],
    [`${rbac}/clusterrolebindings`, {
      metadata: { name: "bucket-writer" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "bucket-writer" },
      subjects: [
        { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }, { kind: "ServiceAccount", namespace: "ack-system", name: "ack-s3-controller" },
      ],
    }],
  ];
  for (const [path, object] of objects) {
    const { status, body } = await cluster.request("POST", path, object);
    t.equal(status, 201, stringAt(body, "message") ?? path);
  }
  const lateOne = bucket("probe", { labels: { late: "yes" } });
  const heard = async (): Promise<boolean> => warnings(await cluster.request("POST", `${buckets("team-a")}?dryRun=All`, lateOne)).length === 0;
  t.ok(await until(heard, EFFECT_LIMIT_MS), "the webhook has heard of the last selector");
}

/** The warnings that came with an answer, as the API server sends them: `299 - "TEXT"`. */
function warnings({ headers }: ApiResponse): string[] {
  const sent = [headers["warning"] ?? []].flat().join(", ");
  return Array.from(sent.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g), ([, text = ""]) => text);
}

async function patch(cluster: Cluster, path: string, change: object, options: RequestOptions = {}): Promise<ApiResponse> {
  return await cluster.request("PATCH", path, change, { ...options, headers: MERGE_PATCH });
}

async function livesOn(t: Test, cluster: Cluster): Promise<void> {
  const kubectl = async (args: readonly string[], object?: object): Promise<void> => {
    const { code, stderr } = await cluster.kubectl(args, { user: "jane", ...(object !== undefined && { input: JSON.stringify(object) }) });
    t.equal(code, 0, args.join(" "));
    t.equal(stderr, "", args.join(" "));
  };
  await kubectl(["apply", "-f", "-"], bucket("life", gold));
  await kubectl(["apply", "-f", "-"], bucket("life", { labels: { tier: "gold", app: "shop" }, annotations: { "services.k8s.aws/region": "eu-west-1" } }));
  await kubectl(["-n", "team-a", "annotate", "bucket", "life", `${POLICY}=delete`]);
  await kubectl(["-n", "team-a", "label", "bucket", "life", "app-"]);
  await kubectl(["-n", "team-a", "patch", "bucket", "life", "--type=merge", "-p", '{"spec": {"acl": "private"}}']);
  await kubectl(["-n", "team-a", "delete", "bucket", "life"]);
}

const DENIAL = `The Bucket "b1" is invalid: 
* metadata.annotations[services.k8s.aws/region]: ACK-10 "Frankfurt" is not a region. Write a region of the role's partition, such as eu-west-1, or leave the annotation out.
* metadata.annotations[services.k8s.aws/deletion-policy]: ACK-11 "Delete" is neither delete nor retain, and reads as retain. Write delete or retain, in lower case.
`;

async function printsForPeople(t: Test, cluster: Cluster): Promise<void> {
  const apply = async (object: object): Promise<{ readonly code: unknown; readonly stderr: string }> => await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(object) });
  const denied = await apply(bucket("b1", { ...gold, annotations: { "services.k8s.aws/region": "Frankfurt", [POLICY]: "Delete" } }));
  t.equal(denied.code, 1);
  t.equal(denied.stderr, DENIAL);

  const conflict = await apply(bucket("b2", { labels: { tier: "gold", late: "yes" } }));
  t.equal(conflict.code, 0);
  t.equal(conflict.stderr, "Warning: ACK-03 metadata: 2 IAMRoleSelectors select it, and controllers stop there: gold and late. Narrow or delete all selector…\n");
  const healed = await apply(bucket("b2", { labels: { tier: "gold" } }));
  t.equal(healed.stderr, "", "and may be healed by its labels, since it was never made");

  const typo = await apply(bucket("b3", { annotations: { "services.k8s.aws/deletion-polcy": "retain" } }, "sandbox"));
  t.equal(typo.code, 0);
  t.equal(typo.stderr, `Warning: ACK-05 metadata: No IAMRoleSelector selects it, so the controller's own role is used. Label it or its namespace so that…
Warning: ACK-15 metadata.annotations[services.k8s.aws/deletion-polcy]: controllers know no such annotation. Write services.k8s.a…
`);
  const forged = await apply(bucket("b4", { ...gold, annotations: { "ack-role-resolver.io/role-arn": "arn:aws:iam::999988887777:role/forged" } }));
  t.equal(forged.code, 0, "never refused");
  t.equal(forged.stderr, "Warning: ACK-02 ack-role-resolver.io/role-arn: the webhook alone writes these, so what was given is overwritten\n");

  const strict = await apply(bucket("b5", {}, "strict"));
  t.equal(strict.code, 1);
  t.equal(strict.stderr, `The Bucket "b5" is invalid: metadata: ACK-05b namespace strict requires a selector for each of its resources, and the controller's own role would be used. Label it so that a selector selects it, or have a selector made that does.\n`);
}

async function judgesApply(t: Test, cluster: Cluster): Promise<void> {
  const apply = async (object: object, ...flags: readonly string[]): Promise<{ readonly code: unknown; readonly stderr: string }> => (
    await cluster.kubectl(["apply", "--server-side", ...flags, "-f", "-"], { input: JSON.stringify(object) })
  );
  t.match(await apply(bucket("ssa", gold)), { code: 0, stderr: "" });
  t.match(await apply(bucket("ssa", gold)), { code: 0, stderr: "" }, "a second time");
  const typo = bucket("ssa", { ...gold, annotations: { [POLICY]: "keep" } });
  t.match(await apply(typo), { code: 1, stderr: /ACK-11 "keep" is neither delete nor retain/ });
  t.match(await apply(typo, "--dry-run=server"), { code: 1, stderr: /ACK-11/ });
  t.match(await apply(bucket("ssa-dry", gold), "--dry-run=server"), { code: 0, stderr: "" });
  t.equal((await cluster.request("GET", buckets("team-a", "ssa-dry"))).status, 404);
}

async function asksForUse(t: Test, cluster: Cluster): Promise<void> {
  t.equal((await cluster.request("POST", buckets("team-a"), bucket("used", gold), JANE)).status, 201, "she may use gold");
  const refused = await cluster.request("POST", buckets("team-a"), bucket("unused", { labels: { tier: "silver" } }), JANE);
  t.equal(refused.status, 422);
  t.match(stringAt(refused.body, "message"), /ACK-09 metadata: the requester may not use IAMRoleSelector silver, which selects it/);

  const relabelled = await patch(cluster, buckets("team-a", "used"), { metadata: { labels: { tier: "silver" } } }, JANE);
  t.equal(relabelled.status, 422);
  t.match(stringAt(relabelled.body, "message"), /ACK-06 metadata\.labels: these labels move it from the role "arn:aws:iam::111122223333:role\/gold" to the role "arn:aws:iam::444455556666:role\/silver"/);
  const unlabelled = await patch(cluster, buckets("team-a", "used"), { metadata: { labels: { tier: null } } }, JANE);
  t.match(stringAt(unlabelled.body, "message"), /ACK-06 .* to the controller's own role/);
  t.equal((await patch(cluster, buckets("team-a", "used"), { metadata: { labels: { tier: "silver" } } })).status, 200, "an administrator may use any");
  const edited = await patch(cluster, buckets("team-a", "used"), { spec: { acl: "private" } }, JANE);
  t.equal(edited.status, 200, "what has the role already is only warned of");
  t.match(warnings(edited), [/^ACK-09 /]);
}

async function warnsControllers(t: Test, cluster: Cluster): Promise<void> {
  const typo = bucket("own", { ...gold, annotations: { [POLICY]: "Delete" } });
  const created = await cluster.request("POST", buckets("team-a"), typo, CONTROLLER);
  t.equal(created.status, 201);
  t.match(warnings(created), [/^ACK-11 /]);
  t.equal((await cluster.request("POST", buckets("team-a"), bucket("others", { ...gold, annotations: { [POLICY]: "Delete" } }), JANE)).status, 422);
}

/** `own` carries a fault that nobody but its controller could have stored. */
async function leavesBookkeeping(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const judgedBefore = judged(webhook);
  const status = { status: { ackResourceMetadata: { arn: "arn:aws:s3:::own", ownerAccountID: "111122223333", region: "eu-west-1" } } };
  const written = await patch(cluster, `${buckets("team-a", "own")}/status`, status, CONTROLLER);
  t.equal(written.status, 200);
  t.same(warnings(written), []);
  t.equal(judged(webhook), judgedBefore, "the webhook is not even asked");
  for (const finalizers of [["finalizers.s3.services.k8s.aws/Bucket"], null]) {
    const { status: code, ...rest } = await patch(cluster, buckets("team-a", "own"), { metadata: { finalizers } }, JANE);
    t.equal(code, 200);
    t.same(warnings({ status: code, ...rest }), [], "not a word");
  }
  const region = await patch(cluster, buckets("team-a", "own"), { metadata: { annotations: { "services.k8s.aws/region": "us-east-1" } } }, JANE);
  t.match(stringAt(region.body, "message"), /ACK-10b .*: it exists in region "eu-west-1", and "us-east-1" is wanted \(by the resource\)/);
  const claimed = await patch(cluster, buckets("team-a", "own"), { spec: { acl: "private" }, status: { ackResourceMetadata: { ownerAccountID: "999988887777" } } }, JANE);
  t.equal(claimed.status, 200, "a status that is claimed counts for nothing");
  t.equal(stringAt(field(claimed.body, "status"), "ackResourceMetadata", "ownerAccountID"), "111122223333");
}

function judged({ log }: ServerProcess): number {
  return log.filter(({ path }) => path === "/validate/resources").length;
}

/** A bucket that exists in an account that nothing selects any more. */
async function foreign(cluster: Cluster, name: string, namespace: string): Promise<string> {
  const path = buckets(namespace, name);
  await cluster.request("POST", buckets(namespace), bucket(name, {}, namespace));
  await patch(cluster, `${path}/status`, { status: { ackResourceMetadata: { arn: `arn:aws:s3:::${name}`, ownerAccountID: "111122223333" } } });
  return path;
}

async function judgesDeletions(t: Test, cluster: Cluster): Promise<void> {
  const path = await foreign(cluster, "f1", "sandbox");
  const refused = await cluster.kubectl(["-n", "sandbox", "delete", "bucket", "f1"]);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /ACK-30 it is of account "111122223333", and the controller's own role, of account "777788889999", would look for it there and leave it behind\. /);
  const collection = await cluster.request("DELETE", buckets("sandbox"));
  t.equal(collection.status, 422, "nor by deleting all of them");

  await patch(cluster, path, { metadata: { annotations: { "ack-role-resolver.io/allow": "ACK-30" } } });
  t.equal((await cluster.request("DELETE", path, undefined, JANE)).status, 422, "Jane may not waive");
  const waived = await cluster.request("DELETE", path);
  t.equal(waived.status, 200, "an administrator may");
  t.match(warnings(waived), [/^ACK-30 \(waived\) /]);

  const second = await foreign(cluster, "f2", "sandbox");
  const collector = { "impersonate-user": "system:serviceaccount:kube-system:generic-garbage-collector", "impersonate-group": "system:masters" };
  const collected = await cluster.request("DELETE", second, undefined, { headers: collector });
  t.equal(collected.status, 200);
  t.match(warnings(collected), [/^ACK-30 /]);
}

async function letsNamespacesGo(t: Test, cluster: Cluster): Promise<void> {
  const path = await foreign(cluster, "f3", "going");
  t.equal((await cluster.request("DELETE", path)).status, 422);
  await cluster.request("DELETE", "/api/v1/namespaces/going");
  let answer: ApiResponse | null = null;
  t.ok(await until(async () => {
    answer = await cluster.request("DELETE", path);
    return answer.status === 200;
  }, EFFECT_LIMIT_MS), "once the webhook has heard of it");
  t.equal((await cluster.request("GET", path)).status, 404);
}

async function keepsKinds(t: Test, cluster: Cluster): Promise<void> {
  const refused = await cluster.kubectl(["delete", "crd", "buckets.s3.services.k8s.aws"]);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /ACK-34 .*would be deleted with it: Bucket /);
  t.equal((await cluster.kubectl(["delete", "crd", "topics.sns.services.k8s.aws"])).code, 0, "nothing is of that kind");
}

async function failsOpen(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  await webhook.stop("SIGKILL");
  const admitted = await cluster.request("POST", buckets("team-a"), bucket("open", { annotations: { [POLICY]: "Delete" } }));
  t.equal(admitted.status, 201);
  t.equal((await cluster.request("DELETE", buckets("team-a", "open"))).status, 200);
}
