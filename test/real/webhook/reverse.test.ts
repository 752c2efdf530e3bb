import type { Test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { FIRST, OWN, replacesMetadata, SECOND, selectorFor } from "../../shared/decisions/checks/account-fixtures.ts";
import { bucketObject } from "../../shared/decisions/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import type { ServerProcess } from "../server-process.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

onCluster("checks of deleted and changed selectors on a real API server", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster, ["--controller-account", OWN]);
  for (const name of ["team-a", "team-b"]) await cluster.kubectl(["create", "namespace", name]);
  await cluster.request("POST", SELECTORS, selectorFor("team-a", FIRST, ["team-a"]));
  await createBucket(cluster, "team-a", "b1", FIRST);
  await createBucket(cluster, "team-b", "b2", OWN);
  await t.test("denies the deletion or restriction of a selector in use, and kubectl prints the fix", async (tt) =>
    deniesDeletionInUse(tt, cluster),
  );
  await t.test("returns the same result for a dry run, and a dry run changes nothing", async (tt) =>
    answersDryRuns(tt, cluster),
  );
  await t.test("denies a selector change that causes a conflict or moves resources to another account", async (tt) =>
    deniesOverlapAndMove(tt, cluster),
  );
  await t.test("reviews each selector under its own name if a request deletes all selectors", async (tt) =>
    validatesCollections(tt, cluster, webhook),
  );
  await t.test("allows a selector to be replaced by another selector", async (tt) => allowsReplacement(tt, cluster));
  await t.test(
    "allows the deletion of one of two overlapping selectors but not of both, when a collection is deleted",
    async (tt) => deletesOnlyOne(tt, cluster),
  );
  await t.test("allows changes of the finalizers of a selector", async (tt) => allowsFinalizers(tt, cluster));
  await t.test(
    "denies the deletion of the IAMRoleSelector CRD while selectors are in use, and receives no review of other CRDs",
    async (tt) => deniesKindDeletion(tt, cluster, webhook),
  );
  await t.test("allows the deletion of a namespace and of its resources", async (tt) =>
    allowsNamespaceDeletion(tt, cluster),
  );
  await t.test("denies the garbage collector's deletion of a selector in use", async (tt) =>
    deniesGarbageCollection(tt, cluster, webhook),
  );
});

function buckets(namespace: string): string {
  return `/apis/s3.services.k8s.aws/v1alpha1/namespaces/${namespace}/buckets`;
}

/** Creates a bucket with the status and finalizer of a controller. */
async function createBucket(cluster: Cluster, namespace: string, name: string, ownerAccountID: string): Promise<void> {
  const created = await cluster.request(
    "POST",
    buckets(namespace),
    bucketObject({ name, namespace, finalizers: ["finalizers.s3.services.k8s.aws/Bucket"] }),
  );
  const status = { ackResourceMetadata: { ownerAccountID, region: "eu-west-1", arn: `arn:aws:s3:::${name}` } };
  const patched = await cluster.request("PATCH", `${buckets(namespace)}/${name}/status`, { status }, MERGE);
  if (created.status !== 201 || patched.status !== 200)
    throw new Error(`${name}: ${stringAt(created.body, "message")} ${stringAt(patched.body, "message")}`);
}

async function remove(cluster: Cluster, name: string, query = ""): Promise<ApiResponse> {
  return cluster.request("DELETE", `${SELECTORS}/${name}${query}`);
}

/** Sends dry runs until the inventory is current and the webhook returns these codes. */
async function untilCodes(t: Test, send: () => Promise<ApiResponse>, codes: string): Promise<void> {
  let last = "";
  const matches = async (): Promise<boolean> => {
    const response = await send();
    last = [...new Set(messagesOf(response).map((line) => line.split(" ")[0]))].join();
    return last === codes;
  };
  t.ok(await until(matches), `${codes}, last ${last}`);
}

/** Returns the causes of a denial, and the warnings. */
function messagesOf({ body, headers }: ApiResponse): string[] {
  const causes = field(field(body, "details"), "causes");
  const denied = Array.isArray(causes) ? causes.map((cause: unknown) => stringAt(cause, "message") ?? "") : [];
  const warnings = [headers["warning"] ?? []].flat().join(", ");
  return [...denied, ...Array.from(warnings.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g), ([, text = ""]) => text)];
}

const DENIAL = `The IAMRoleSelector "team-a" is invalid: 
* metadata.name: IRS-30 1 resource would fall back to the controller's own role and account, because no other \
selector matches: Bucket team-a/b1 in account ${FIRST}. Delete the resources first, or create a replacement: a \
selector with another name, the spec of team-a, a role in the same account and the annotation \
ack-role-resolver.io/replaces: team-a. Then retry the deletion of team-a.
* metadata.name: IRS-31 1 resource would be deleted or orphaned with the controller's own credentials for account \
${OWN}: Bucket team-a/b1 in account ${FIRST} (deletion policy delete). Create a replacement selector with a role in \
the same account and the annotation ack-role-resolver.io/replaces: NAME of this selector. Otherwise, wait until the \
resources that are being deleted no longer exist, and annotate all other resources with \
services.k8s.aws/deletion-policy: retain.
`;

async function deniesDeletionInUse(t: Test, cluster: Cluster): Promise<void> {
  await untilCodes(t, () => remove(cluster, "team-a", "?dryRun=All"), "IRS-30,IRS-31");
  const { code, stderr } = await cluster.kubectl(["delete", "iamroleselector", "team-a"]);
  t.equal(code, 1);
  t.equal(stderr, DENIAL);
  const narrowed = await cluster.request(
    "PATCH",
    `${SELECTORS}/team-a`,
    { spec: { namespaceSelector: { names: ["team-c"] } } },
    MERGE,
  );
  t.equal(narrowed.status, 422);
  t.match(messagesOf(narrowed)[0], /^IRS-20 1 resource would fall back to the controller's own role and account/);
  t.equal((await cluster.request("GET", `${SELECTORS}/team-a`)).status, 200);
}

async function answersDryRuns(t: Test, cluster: Cluster): Promise<void> {
  t.equal((await cluster.request("POST", SELECTORS, selectorFor("unused", FIRST, ["nowhere"]))).status, 201);
  t.equal((await remove(cluster, "unused", "?dryRun=All")).status, 200);
  t.equal((await cluster.request("GET", `${SELECTORS}/unused`)).status, 200, "the selector still exists");
  t.equal((await remove(cluster, "team-a", "?dryRun=All")).status, 422);
}

async function deniesOverlapAndMove(t: Test, cluster: Cluster): Promise<void> {
  const overlap = await cluster.request("POST", SELECTORS, selectorFor("overlap", FIRST, ["team-a"]));
  t.equal(overlap.status, 422);
  t.match(
    messagesOf(overlap)[0],
    new RegExp(
      "^IRS-17 1 resource would be selected by more than one IAMRoleSelector.*" +
        "annotate overlap with ack-role-resolver\\.io/replaces: team-a, apply overlap, then delete team-a\\.$",
    ),
  );
  const move = await cluster.request("POST", SELECTORS, selectorFor("move", SECOND, ["team-b"]));
  t.equal(move.status, 422);
  t.match(
    messagesOf(move)[0],
    `IRS-19 1 resource would move to a different account, which controllers reject: Bucket team-b/b2 from `
      + `account ` +
      `${OWN} to account ${SECOND}. `,
  );
}

async function validatesCollections(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const { status, body } = await cluster.request("DELETE", SELECTORS);
  t.equal(status, 422);
  t.equal(stringAt(body, "details", "name"), "team-a", "the name comes from the stored object");
  t.equal((await cluster.request("GET", `${SELECTORS}/team-a`)).status, 200);
  t.ok(
    webhook.log.some(
      (line) =>
        line["operation"] === "DELETE" && line["answer"] === "denied" && stringAt(line, "object", "name") === "team-a",
    ),
  );
}

async function allowsReplacement(t: Test, cluster: Cluster): Promise<void> {
  const created = await cluster.request(
    "POST",
    SELECTORS,
    selectorFor("team-a-new", FIRST, ["team-a"], replacesMetadata("team-a")),
  );
  t.equal(created.status, 201);
  t.ok(messagesOf(created).some((line) => line.startsWith("IRS-17 ")), "the overlap causes a warning");
  t.ok(await until(async () => (await remove(cluster, "team-a", "?dryRun=All")).status === 200));
  t.equal((await remove(cluster, "team-a")).status, 200);
  await untilCodes(t, () => remove(cluster, "team-a-new", "?dryRun=All"), "IRS-30,IRS-31");
}

async function deletesOnlyOne(t: Test, cluster: Cluster): Promise<void> {
  t.equal(
    (
      await cluster.request(
        "POST",
        SELECTORS,
        selectorFor("team-a-2", FIRST, ["team-a"], replacesMetadata("team-a-new")),
      )
    ).status,
    201,
  );
  t.ok(await until(async () => (await remove(cluster, "team-a-new", "?dryRun=All")).status === 200));
  t.equal((await cluster.request("DELETE", SELECTORS)).status, 422);
  t.equal((await cluster.request("GET", `${SELECTORS}/team-a-2`)).status, 404);
  t.equal((await cluster.request("GET", `${SELECTORS}/team-a-new`)).status, 200);
}

async function allowsFinalizers(t: Test, cluster: Cluster): Promise<void> {
  const finalized = { finalizers: ["example.com/hold"] };
  t.equal(
    (await cluster.request("POST", SELECTORS, selectorFor("leaving", FIRST, ["nowhere"], finalized))).status,
    201,
  );
  t.equal((await remove(cluster, "leaving")).status, 200);
  t.equal((await remove(cluster, "leaving")).status, 200, "a second deletion is exempt");
  t.equal(
    (await cluster.request("PATCH", `${SELECTORS}/leaving`, { metadata: { finalizers: null } }, MERGE)).status,
    200,
  );
  t.equal((await cluster.request("GET", `${SELECTORS}/leaving`)).status, 404);
  t.equal(
    (await cluster.request("PATCH", `${SELECTORS}/team-a-new`, { metadata: finalized }, MERGE)).status,
    200,
    "the finalizers of a selector in use can change",
  );
  t.equal(
    (await cluster.request("PATCH", `${SELECTORS}/team-a-new`, { metadata: { finalizers: null } }, MERGE)).status,
    200,
  );
}

async function deniesKindDeletion(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const denied = await cluster.request("DELETE", `${DEFINITIONS}/iamroleselectors.services.k8s.aws?dryRun=All`);
  t.equal(denied.status, 422);
  t.match(
    messagesOf(denied)[0],
    new RegExp(
      "^IRS-34 \\d IAMRoleSelectors? would be deleted with the CustomResourceDefinition, " +
        "and the controller's own role and account would apply to 1 resource: Bucket team-a/b1 ",
    ),
  );
  const ofBuckets = await cluster.request("DELETE", `${DEFINITIONS}/buckets.s3.services.k8s.aws?dryRun=All`);
  t.match(
    messagesOf(ofBuckets)[0],
    /^ACK-34 the deletion of the CustomResourceDefinition also deletes 2 resources: Bucket team-a\/b1 /,
  );
  const other = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
  t.equal((await cluster.request("POST", DEFINITIONS, other)).status, 201);
  const linesBefore = webhook.log.length;
  t.equal((await cluster.request("DELETE", `${DEFINITIONS}/widgets.example.com`)).status, 200);
  t.notOk(
    webhook.log.slice(linesBefore).some((line) => stringAt(line, "object", "name") === "widgets.example.com"),
    "the webhook receives no review",
  );
}

/** Impersonates a controller of kube-controller-manager. */
function impersonating(controller: string): { readonly headers: Readonly<Record<string, string>> } {
  return {
    headers: {
      "impersonate-user": `system:serviceaccount:kube-system:${controller}`,
      "impersonate-group": "system:masters",
    },
  };
}

async function allowsNamespaceDeletion(t: Test, cluster: Cluster): Promise<void> {
  t.equal((await cluster.request("DELETE", "/api/v1/namespaces/team-a")).status, 200);
  t.equal(
    (await cluster.request("DELETE", buckets("team-a"), undefined, impersonating("namespace-controller"))).status,
    200,
  );
  const finalized = await cluster.request(
    "PATCH",
    `${buckets("team-a")}/b1`,
    { metadata: { finalizers: null } },
    { ...MERGE, user: "admin" },
  );
  t.equal(finalized.status, 200, "the ACK controller removes its finalizer");
  t.equal((await cluster.request("GET", `${buckets("team-a")}/b1`)).status, 404);
  await untilCodes(t, () => remove(cluster, "team-a-new", "?dryRun=All"), "");
  t.equal((await remove(cluster, "team-a-new")).status, 200, "no resource uses the selector");
}

async function deniesGarbageCollection(t: Test, cluster: Cluster, webhook: ServerProcess): Promise<void> {
  const selector: JsonObject = selectorFor("team-b", OWN, ["team-b"]);
  t.equal((await cluster.request("POST", SELECTORS, selector)).status, 201);
  await untilCodes(t, () => remove(cluster, "team-b", "?dryRun=All"), "IRS-30");
  const deleted = await cluster.request(
    "DELETE",
    `${SELECTORS}/team-b`,
    undefined,
    impersonating("generic-garbage-collector"),
  );
  t.equal(deleted.status, 422);
  t.match(messagesOf(deleted), [/^IRS-30 1 resource would fall back to/]);
  t.ok(
    webhook.log.some(
      (line) =>
        line["user"] === "system:serviceaccount:kube-system:generic-garbage-collector" &&
        line["answer"] === "denied" &&
        String(line["codes"]) === "IRS-30",
    ),
  );
}
