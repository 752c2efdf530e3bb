import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { installWebhook, SELECTORS } from "./installed-webhook.ts";

const ROLE = "arn:aws:iam::111122223333:role/team-a";
const MERGE_PATCH = { headers: { "content-type": "application/merge-patch+json" } };
const FLAGS = [
  "--controller-users",
  "ack-system/ack-s3-controller",
  "--allowed-accounts",
  "111122223333",
  "--tenant-labels",
  "team",
];

onCluster("the checks of a selector on a real API server", async (t, cluster) => {
  await installWebhook(t, cluster, FLAGS, "own");
  await cluster.kubectl(["create", "namespace", "team-a"]);
  await t.test("denies each write of a selector by an ACK controller although RBAC allows the write", async (tt) =>
    deniesControllers(tt, cluster),
  );
  await t.test("kubectl prints warnings about missing objects and denials of forbidden accounts", async (tt) =>
    printsUnknownObjects(tt, cluster),
  );
  await t.test("validates an update that changes only annotations, and does not print the external ID", async (tt) =>
    validatesAnnotations(tt, cluster),
  );
  await t.test("accepts a type entry that has an apiVersion, because the webhook rewrites the entry", async (tt) =>
    acceptsRewritten(tt, cluster),
  );
  await t.test("validates selectors if the cluster has the CRD from ACK's charts", async (tt) => {
    await cluster.installCRDs([ACK_SELECTOR_CRD]);
    tt.ok(
      await until(
        async () =>
          (await apply(cluster, narrowed("probe"), "--validate=false", "--dry-run=server")).stderr.includes("IRS-16")),
      "the inventory has the CRD",
    );
    await tt.test(
      "denies a selector whose fields the API server dropped, and names the path of each field",
      async (ttt) => deniesDroppedFields(ttt, cluster),
    );
    await tt.test("denies a selector change that removes the role", async (ttt) => deniesRoleRemoval(ttt, cluster));
  });
});

function selector(name: string, spec: object | undefined, annotations = {}): object {
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name, annotations }, spec };
}

async function apply(
  cluster: Cluster,
  object: object,
  ...flags: readonly string[]
): Promise<Awaited<ReturnType<Cluster["kubectl"]>>> {
  return await cluster.kubectl(["apply", ...flags, "-f", "-"], { input: JSON.stringify(object) });
}

async function deniesControllers(t: Test, cluster: Cluster): Promise<void> {
  await cluster.kubectl([
    "create",
    "clusterrole",
    "ack-writer",
    "--verb=*",
    "--resource=iamroleselectors.services.k8s.aws",
  ]);
  await cluster.kubectl([
    "create",
    "clusterrolebinding",
    "ack-writer",
    "--clusterrole=ack-writer",
    "--serviceaccount=ack-system:ack-s3-controller",
  ]);
  const controller = { user: "controller" } as const;
  const mine = selector(
    "mine",
    { arn: ROLE, namespaceSelector: { names: ["team-a"] } },
    { "ack-role-resolver.io/allow": "IRS-24" },
  );
  const denial =
    'IRS-24 spec: the requester "system:serviceaccount:ack-system:ack-s3-controller" is an ACK controller, ' +
    "and ACK controllers must not write selectors.";
  const created = await cluster.request("POST", SELECTORS, mine, controller);
  t.equal(created.status, 422);
  t.match(stringAt(created.body, "message"), denial);
  t.equal((await cluster.request("POST", SELECTORS, mine)).status, 201, "an administrator can write selectors");
  const changed = await cluster.request(
    "PATCH",
    `${SELECTORS}/mine`,
    { metadata: { labels: { a: "b" } } },
    { ...MERGE_PATCH, ...controller },
  );
  t.equal(changed.status, 422);
  t.match(stringAt(changed.body, "message"), denial, "a change of a label is a write");
  const finalized = await cluster.request(
    "PATCH",
    `${SELECTORS}/mine`,
    { metadata: { finalizers: ["example.com/f"] } },
    { ...MERGE_PATCH, ...controller },
  );
  t.equal(finalized.status, 200, "a change of finalizers is allowed");
  await cluster.request("PATCH", `${SELECTORS}/mine`, { metadata: { finalizers: null } }, MERGE_PATCH);
  const removed = await cluster.request("DELETE", `${SELECTORS}/mine`, undefined, controller);
  t.equal(removed.status, 422);
  t.match(stringAt(removed.body, "message"), denial);
  t.equal((await cluster.request("DELETE", `${SELECTORS}/mine`)).status, 200);
}

const WARNED = `Warning: IRS-10 spec.namespaceSelector.names[0]: namespace "team-z" does not exist. Correct the name, \
or create the namespace.
Warning: IRS-13 spec.resourceTypeSelector[0].kind: kind "Bukcet" is not installed; perhaps Bucket was meant
Warning: IRS-13 fix: copy group, version and kind from kubectl get crd, or install the controller that provides the kind
Warning: IRS-22 spec: the selector selects no existing namespace and no existing resource
Warning: IRS-22 fix: compare it with kubectl get namespaces --show-labels; ignore the warning if a namespace is \
created later
Warning: IRS-25 spec.namespaceSelector.labelSelector.matchLabels[team]: tenants can set the label "team" on their \
namespaces
Warning: IRS-25 fix: select by names, by kubernetes.io/metadata.name, or by a label that tenants cannot set
`;

async function printsUnknownObjects(t: Test, cluster: Cluster): Promise<void> {
  const unknown = {
    arn: ROLE,
    namespaceSelector: { names: ["team-z"], labelSelector: { matchLabels: { team: "z" } } },
    resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "", kind: "Bukcet" }],
  };
  const warned = await apply(cluster, selector("unknown", unknown), "--dry-run=server");
  t.equal(warned.code, 0);
  t.equal(warned.stderr, WARNED);

  const elsewhere = await apply(
    cluster,
    selector("elsewhere", {
      arn: ROLE.replace("111122223333", "444455556666"),
      namespaceSelector: { names: ["team-a"] },
    }),
    "--dry-run=server",
  );
  t.equal(elsewhere.code, 1);
  t.equal(
    elsewhere.stderr,
    'The IAMRoleSelector "elsewhere" is invalid: spec.arn: IRS-04 account 444455556666 is not one of the allowed ' +
      "accounts: 111122223333. Use a role in one of the accounts that --allowed-accounts lists.\n",
  );
}

async function validatesAnnotations(t: Test, cluster: Cluster): Promise<void> {
  const annotate = (annotation: string): ReturnType<Cluster["kubectl"]> =>
    cluster.kubectl(["annotate", "--overwrite", "iamroleselector", "assumed", `ack-role-resolver.io/${annotation}`]);
  t.equal(
    (
      await cluster.request(
        "POST",
        SELECTORS,
        selector("assumed", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }),
      )
    ).status,
    201,
  );
  const denied = await annotate("external-id=planted id");
  t.equal(denied.code, 1);
  t.match(
    denied.stderr,
    "metadata.annotations[ack-role-resolver.io/external-id]: IRS-42 the external ID contains characters other " +
      "than letters, digits and _+=,.@:/-. ",
  );
  t.notMatch(denied.stderr, "planted");
  t.match(
    (await annotate("duration-seconds=7200")).stderr,
    new RegExp(
      "^Warning: IRS-46 ack-role-resolver\\.io/duration-seconds: " +
        "7200 s exceeds the 3600 s limit",
      "m",
    ),
  );
  t.equal((await annotate("external-id=planted-id")).code, 0);
  const other = await apply(
    cluster,
    selector("other", { arn: ROLE, namespaceSelector: { names: ["team-b"] } }),
    "--dry-run=server",
  );
  t.match(
    other.stderr,
    "metadata.annotations[ack-role-resolver.io/external-id]: IRS-40 the selector has the same role as assumed, " +
      "but a different external-id. ",
  );
  t.notMatch(other.stderr, "planted");
  t.equal((await cluster.request("DELETE", `${SELECTORS}/assumed`)).status, 200);
}

async function acceptsRewritten(t: Test, cluster: Cluster): Promise<void> {
  const spec = {
    arn: ROLE,
    namespaceSelector: { names: ["team-a"] },
    resourceTypeSelector: [{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket" }],
  };
  const applied = await apply(cluster, selector("rewritten", spec));
  t.equal(applied.code, 0, applied.stderr);
  t.equal((await apply(cluster, selector("rewritten", spec))).code, 0, "applying the selector again succeeds");
  t.equal((await cluster.request("DELETE", `${SELECTORS}/rewritten`)).status, 200);
}

/** Selects namespaces that have no team label. The CRD of ACK's charts cannot express such a selector. */
function narrowed(name: string): object {
  const labelSelector = { matchLabels: {}, matchExpressions: [{ key: "team", operator: "DoesNotExist" }] };
  return selector(name, {
    arn: ROLE,
    namespaceSelector: { names: [], labelSelector },
    resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "", kind: "" }],
  });
}

async function deniesDroppedFields(t: Test, cluster: Cluster): Promise<void> {
  const strict = await apply(cluster, narrowed("narrowed"));
  t.match(
    strict.stderr,
    /strict decoding error: unknown field "spec\.namespaceSelector\.labelSelector\.matchExpressions"/,
    "with kubectl's default, the API server rejects the field",
  );
  const lenient = await apply(cluster, narrowed("narrowed"), "--validate=false");
  t.equal(lenient.code, 1);
  t.match(
    lenient.stderr,
    'The IAMRoleSelector "narrowed" is invalid: spec.namespaceSelector.labelSelector.matchExpressions: IRS-16 ' +
      "the API server pruned this field of the applied manifest: the CRD does not define it. " +
      "Use the fields that the CRD defines (kubectl explain iamroleselector.spec), or install the CRD that "
        + "the command `ack-role-resolver manifests crds` prints.\n",
  );
  const typed = selector("typed", {
    arn: ROLE,
    namespaceSelector: { names: ["team-a"] },
    resourceTypeSelector: [{ apiVersion: "s3.services.k8s.aws/v1alpha1", group: "", version: "", kind: "Bucket" }],
  });
  t.match(
    (await apply(cluster, typed, "--validate=false")).stderr,
    "spec.resourceTypeSelector[0].apiVersion: IRS-16 the API server pruned this field of the applied manifest",
    "the entry is dropped before the rewrite",
  );
  const known = selector("known", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
  t.equal((await apply(cluster, known, "--dry-run=server")).code, 0);
  const waived = {
    ...narrowed("narrowed"),
    metadata: { name: "narrowed", annotations: { "ack-role-resolver.io/allow": "IRS-16" } },
  };
  t.equal(
    (await apply(cluster, waived, "--validate=false", "--dry-run=server")).code,
    0,
    "an administrator can waive the check",
  );
}

async function deniesRoleRemoval(t: Test, cluster: Cluster): Promise<void> {
  t.equal(
    (
      await cluster.request(
        "POST",
        SELECTORS,
        selector("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }),
      )
    ).status,
    201,
  );
  const changed = await cluster.request("PATCH", `${SELECTORS}/team-a`, { spec: { arn: `${ROLE}-2` } }, MERGE_PATCH);
  t.match(stringAt(changed.body, "message"), /Value is immutable once set/, "the CRD rejects the direct change");
  const removed = await cluster.request("PATCH", `${SELECTORS}/team-a`, { spec: null }, MERGE_PATCH);
  t.equal(removed.status, 422);
  t.match(
    stringAt(removed.body, "message"),
    /^admission webhook .*IRS-07 spec\.arn: the role "arn:aws:iam::111122223333:role\/team-a" is removed\./s,
  );
  const other = { spec: { arn: ROLE, namespaceSelector: { names: ["team-a", "team-b"] } } };
  t.equal(
    (await cluster.request("PATCH", `${SELECTORS}/team-a`, other, MERGE_PATCH)).status,
    200,
    "other fields can change",
  );
}
