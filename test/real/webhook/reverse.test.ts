import type { Test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/decisions/kubernetes/json.ts";
import { FIRST, OWN, replacing, SECOND, selecting } from "../../shared/decisions/checks/company.ts";
import { bucketObject } from "../../shared/decisions/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const EFFECT_LIMIT_MS = 15_000;
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

onCluster("reverse checks on a real API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster, ["--controller-account", OWN]);
  for (const name of ["team-a", "team-b"]) await cluster.kubectl(["create", "namespace", name]);
  await cluster.request("POST", SELECTORS, selecting("team-a", FIRST, ["team-a"]));
  await make(cluster, "team-a", "b1", FIRST);
  await make(cluster, "team-b", "b2", OWN);
  await t.test("a selector in use can neither be deleted nor narrowed, and kubectl prints the way out", async (tt) => keepsWhatIsInUse(tt, cluster));
  await t.test("a dry run is answered alike, and changes nothing", async (tt) => answersDryRuns(tt, cluster));
  await t.test("an overlap and a move to another account are refused", async (tt) => refusesOverlapAndMove(tt, cluster));
  await t.test("a collection is judged one by one, each by its name", async (tt) => judgesCollections(tt, cluster, webhook));
  await t.test("a selector is renamed and its role rotated without being held up", async (tt) => letsReplace(tt, cluster));
  await t.test("of two that overlap, a collection that is deleted whole leaves one", async (tt) => leavesOne(tt, cluster));
  await t.test("controllers take their finalizers off", async (tt) => letsFinalize(tt, cluster));
  await t.test("the definition of selectors stays while they select anything; others do not wait for us", async (tt) => keepsDefinition(tt, cluster, webhook));
  await t.test("a namespace goes with all that is in it", async (tt) => letsNamespaceGo(tt, cluster));
  await t.test("what the garbage collector deletes is warned about, in the log too, and goes", async (tt) => letsCollectorClean(tt, cluster, webhook));
});

function buckets(namespace: string): string {
  return `/apis/s3.services.k8s.aws/v1alpha1/namespaces/${namespace}/buckets`;
}

/** A bucket as a controller leaves it: in AWS, with its finalizer. */
async function make(cluster: Cluster, namespace: string, name: string, ownerAccountID: string): Promise<void> {
  const created = await cluster.request("POST", buckets(namespace), bucketObject({ name, namespace, finalizers: ["finalizers.s3.services.k8s.aws/Bucket"] }));
  const status = { ackResourceMetadata: { ownerAccountID, region: "eu-west-1", arn: `arn:aws:s3:::${name}` } };
  const patched = await cluster.request("PATCH", `${buckets(namespace)}/${name}/status`, { status }, MERGE);
  if (created.status !== 201 || patched.status !== 200) throw new Error(`${name}: ${stringAt(created.body, "message")} ${stringAt(patched.body, "message")}`);
}

async function remove(cluster: Cluster, name: string, query = ""): Promise<ApiResponse> {
  return cluster.request("DELETE", `${SELECTORS}/${name}${query}`);
}

/** The webhook hears of what is stored a moment later: asks, dry, until it answers as it will from then on. */
async function untilAnswered(t: Test, ask: () => Promise<ApiResponse>, codes: string): Promise<void> {
  let last = "";
  const answered = async (): Promise<boolean> => {
    const response = await ask();
    last = [...new Set(told(response).map((line) => line.split(" ")[0]))].join();
    return last === codes;
  };
  t.ok(await until(answered, EFFECT_LIMIT_MS), `${codes}, last ${last}`);
}

/** What a denial's causes and the warnings say. */
function told({ body, headers }: ApiResponse): string[] {
  const causes = field(field(body, "details"), "causes");
  const denied = Array.isArray(causes) ? causes.map((cause: unknown) => stringAt(cause, "message") ?? "") : [];
  const warnings = [headers["warning"] ?? []].flat().join(", ");
  return [...denied, ...Array.from(warnings.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g), ([, text = ""]) => text)];
}

const DENIAL = `The IAMRoleSelector "team-a" is invalid: 
* metadata.name: IRS-30 1 resource would fall to the controller's own role and account, since nothing else selects them: Bucket team-a/b1 in account ${FIRST}. \
Delete the resources first, or create a selector that takes them over: the spec of team-a under another name, with a role of the same account \
and the annotation ack-role-resolver.io/replaces: team-a; then delete team-a again.
* metadata.name: IRS-31 1 resource would be deleted or orphaned with the controller's own credentials, which are of account ${OWN}: \
Bucket team-a/b1 in account ${FIRST} (deletion policy delete). Wait until those that are being deleted are gone, annotate the others with \
services.k8s.aws/deletion-policy: retain, or create a selector that takes them over, with a role of the same account and the annotation \
ack-role-resolver.io/replaces: NAME of this one.
`;

async function keepsWhatIsInUse(t: Test, cluster: Cluster): Promise<void> {
  await untilAnswered(t, () => remove(cluster, "team-a", "?dryRun=All"), "IRS-30,IRS-31");
  const { code, stderr } = await cluster.kubectl(["delete", "iamroleselector", "team-a"]);
  t.equal(code, 1);
  t.equal(stderr, DENIAL);
  const narrowed = await cluster.request("PATCH", `${SELECTORS}/team-a`, { spec: { namespaceSelector: { names: ["team-c"] } } }, MERGE);
  t.equal(narrowed.status, 422);
  t.match(told(narrowed)[0], /^IRS-20 1 resource would fall to the controller's own role and account/);
  t.equal((await cluster.request("GET", `${SELECTORS}/team-a`)).status, 200);
}

async function answersDryRuns(t: Test, cluster: Cluster): Promise<void> {
  t.equal((await cluster.request("POST", SELECTORS, selecting("unused", FIRST, ["nowhere"]))).status, 201);
  t.equal((await remove(cluster, "unused", "?dryRun=All")).status, 200);
  t.equal((await cluster.request("GET", `${SELECTORS}/unused`)).status, 200, "it is still there");
  t.equal((await remove(cluster, "team-a", "?dryRun=All")).status, 422);
}

async function refusesOverlapAndMove(t: Test, cluster: Cluster): Promise<void> {
  const overlap = await cluster.request("POST", SELECTORS, selecting("overlap", FIRST, ["team-a"]));
  t.equal(overlap.status, 422);
  t.match(told(overlap)[0], /^IRS-17 1 resource would be selected by another IAMRoleSelector too.*put the annotation ack-role-resolver\.io\/replaces: team-a on overlap, apply it, then delete team-a\.$/);
  const move = await cluster.request("POST", SELECTORS, selecting("move", SECOND, ["team-b"]));
  t.equal(move.status, 422);
  t.match(told(move)[0], `IRS-19 1 existing resource would have to change accounts, which controllers refuse: Bucket team-b/b2 from account ${OWN} to ${SECOND}. `);
}

async function judgesCollections(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const { status, body } = await cluster.request("DELETE", SELECTORS);
  t.equal(status, 422);
  t.equal(stringAt(body, "details", "name"), "team-a", "the review of a collection's object names none");
  t.equal((await cluster.request("GET", `${SELECTORS}/team-a`)).status, 200);
  t.ok(webhook.log.some((line) => line["operation"] === "DELETE" && line["answer"] === "denied" && stringAt(line, "object", "name") === "team-a"));
}

async function letsReplace(t: Test, cluster: Cluster): Promise<void> {
  const created = await cluster.request("POST", SELECTORS, selecting("team-a-new", FIRST, ["team-a"], replacing("team-a")));
  t.equal(created.status, 201);
  t.ok(told(created).some((line) => line.startsWith("IRS-17 ")), "the overlap only warns");
  await untilAnswered(t, () => remove(cluster, "team-a", "?dryRun=All"), "IRS-32,IRS-33");
  t.equal((await remove(cluster, "team-a")).status, 200);
  await untilAnswered(t, () => remove(cluster, "team-a-new", "?dryRun=All"), "IRS-30,IRS-31");
}

async function leavesOne(t: Test, cluster: Cluster): Promise<void> {
  t.equal((await cluster.request("POST", SELECTORS, selecting("team-a-2", FIRST, ["team-a"], replacing("team-a-new")))).status, 201);
  await untilAnswered(t, () => remove(cluster, "team-a-new", "?dryRun=All"), "IRS-32,IRS-33");
  t.equal((await cluster.request("DELETE", SELECTORS)).status, 422);
  t.equal((await cluster.request("GET", `${SELECTORS}/team-a-2`)).status, 404);
  t.equal((await cluster.request("GET", `${SELECTORS}/team-a-new`)).status, 200);
}

async function letsFinalize(t: Test, cluster: Cluster): Promise<void> {
  const held = { finalizers: ["example.com/hold"] };
  t.equal((await cluster.request("POST", SELECTORS, selecting("leaving", FIRST, ["nowhere"], held))).status, 201);
  t.equal((await remove(cluster, "leaving")).status, 200);
  t.equal((await remove(cluster, "leaving")).status, 200, "a second call decides nothing");
  t.equal((await cluster.request("PATCH", `${SELECTORS}/leaving`, { metadata: { finalizers: null } }, MERGE)).status, 200);
  t.equal((await cluster.request("GET", `${SELECTORS}/leaving`)).status, 404);
  t.equal((await cluster.request("PATCH", `${SELECTORS}/team-a-new`, { metadata: held }, MERGE)).status, 200, "on one in use too");
  t.equal((await cluster.request("PATCH", `${SELECTORS}/team-a-new`, { metadata: { finalizers: null } }, MERGE)).status, 200);
}

async function keepsDefinition(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const refused = await cluster.request("DELETE", `${DEFINITIONS}/iamroleselectors.services.k8s.aws?dryRun=All`);
  t.equal(refused.status, 422);
  t.match(told(refused)[0], /^IRS-34 \d IAMRoleSelectors? would be deleted with it, and 1 resource fall to the controller's own role and account: Bucket team-a\/b1 /);
  const ofBuckets = await cluster.request("DELETE", `${DEFINITIONS}/buckets.s3.services.k8s.aws?dryRun=All`);
  t.match(told(ofBuckets)[0], /^ACK-34 2 resources would be deleted with it: Bucket team-a\/b1 /);
  const other = {
    apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "widgets.example.com" },
    spec: { group: "example.com", scope: "Namespaced", names: { kind: "Widget", plural: "widgets" }, versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }] },
  };
  t.equal((await cluster.request("POST", DEFINITIONS, other)).status, 201);
  const answers = webhook.log.length;
  t.equal((await cluster.request("DELETE", `${DEFINITIONS}/widgets.example.com`)).status, 200);
  t.notOk(webhook.log.slice(answers).some((line) => stringAt(line, "object", "name") === "widgets.example.com"), "nobody asked us");
}

/** As kube-controller-manager's controllers are: by their service accounts, with every right. */
function as(controller: string): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { "impersonate-user": `system:serviceaccount:kube-system:${controller}`, "impersonate-group": "system:masters" } };
}

async function letsNamespaceGo(t: Test, cluster: Cluster): Promise<void> {
  t.equal((await cluster.request("DELETE", "/api/v1/namespaces/team-a")).status, 200);
  t.equal((await cluster.request("DELETE", buckets("team-a"), undefined, as("namespace-controller"))).status, 200);
  const finalized = await cluster.request("PATCH", `${buckets("team-a")}/b1`, { metadata: { finalizers: null } }, { ...MERGE, user: "admin" });
  t.equal(finalized.status, 200, "the ACK controller has deleted it in AWS");
  t.equal((await cluster.request("GET", `${buckets("team-a")}/b1`)).status, 404);
  await untilAnswered(t, () => remove(cluster, "team-a-new", "?dryRun=All"), "");
  t.equal((await remove(cluster, "team-a-new")).status, 200, "nothing needs the selector any more");
}

async function letsCollectorClean(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const owned: JsonObject = selecting("team-b", OWN, ["team-b"]);
  t.equal((await cluster.request("POST", SELECTORS, owned)).status, 201);
  await untilAnswered(t, () => remove(cluster, "team-b", "?dryRun=All"), "IRS-30");
  const cleaned = await cluster.request("DELETE", `${SELECTORS}/team-b`, undefined, as("generic-garbage-collector"));
  t.equal(cleaned.status, 200);
  t.match(told(cleaned), [/^IRS-30 metadata\.name: 1 resource would fall to/]);
  t.ok(webhook.log.some((line) => line["user"] === "system:serviceaccount:kube-system:generic-garbage-collector" && line["answer"] === "allowed" && String(line["codes"]) === "IRS-30"));
}
