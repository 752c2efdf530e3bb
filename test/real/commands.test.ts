import type { Test } from "tap";
import { iamRoleSelectorCRD } from "../../manifests/crds.ts";
import { ACK_CRDS } from "../fixtures/ack-crds.ts";
import { ACK_FIELD_EXPORT_CRD, fieldExport } from "../fixtures/ack-field-export-crd.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";
import { COMPILE_CACHE, type ProgramResult, runProgram } from "../programs/run-program.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };

const namespace = (name: string, labels: object = {}): object => (
  { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } }
);
const selector = (name: string, account: string, spec: object): object => ({
  apiVersion: "services.k8s.aws/v1alpha1",
  kind: "IAMRoleSelector",
  metadata: { name },
  spec: { arn: `arn:aws:iam::${account}:role/${name}`, ...spec },
});
const resource = (
  kind: string,
  group: string,
  where: { readonly namespace: string; readonly name: string; readonly labels?: object },
): object => ({
  apiVersion: `${group}.services.k8s.aws/v1alpha1`,
  kind,
  metadata: where,
  spec: { name: where.name },
});
const gold = { namespaceSelector: { labelSelector: { matchLabels: { tier: "gold" } } } };

const STATE: readonly object[] = [
  namespace("team-a", { tier: "gold" }),
  namespace("team-b"),
  namespace("team-c"),
  selector("gold", "111122223333", gold),
  selector("silver", "444455556666", { namespaceSelector: { labelSelector: { matchLabels: { tier: "silver" } } } }),
  selector("queues", "444455556666", {
    namespaceSelector: { names: ["team-b"] },
    resourceTypeSelector: [{ group: "sqs.services.k8s.aws", version: "v1alpha1", kind: "Queue" }],
  }),
  {
    apiVersion: "services.k8s.aws/v1alpha1",
    kind: "IAMRoleSelector",
    metadata: { name: "typo" },
    spec: { arn: "arn:aws:iam:111122223333:role/typo", namespaceSelector: { names: ["team-c"] } },
  },
  resource("Bucket", "s3", { namespace: "team-a", name: "b1", labels: { size: "xl" } }),
  resource("Queue", "sqs", { namespace: "team-b", name: "q1" }),
  resource("Table", "dynamodb", { namespace: "team-c", name: "t1" }),
  fieldExport("evil", "team-a", { kind: "configmap", name: "ack-role-account-map", namespace: "team-b" }),
];

onCluster("the commands on a real API server", async (t, cluster) => {
  await cluster.installCRDs([iamRoleSelectorCRD("ack"), ACK_FIELD_EXPORT_CRD, ...ACK_CRDS]);
  await apply(cluster, STATE);
  const ackResourceMetadata = { ownerAccountID: "111122223333", region: "eu-west-1" };
  const reason = "roleARN: arn:aws:iam::111122223333:role/old, selectorName: gold, selectorResourceVersion: 1";
  const conditions = [{ type: "ACK.IAMRoleSelected", status: "True", message: "Selected", reason }];
  await cluster.request("PATCH", `${BUCKETS}/b1/status`, { status: { ackResourceMetadata, conditions } }, MERGE);
  await t.test("audit reports problems of the objects in the cluster", async (tt) => audits(tt, cluster));
  await t.test("audit has the settings of the webhook", async (tt) => readsWebhook(tt, cluster));
  await t.test("impact predicts the changes that kubectl apply and kubectl delete cause", async (tt) =>
    predicts(tt, cluster),
  );
  await t.test(
    "audit, resolve and impact print only the missing permissions if the user has no permissions",
    async (tt) => isForbidden(tt, cluster),
  );
});

async function apply(cluster: Cluster, objects: readonly object[], verb: "apply" | "delete" = "apply"): Promise<void> {
  const { code, stderr } = await cluster.kubectl([verb, "-f", "-"], { input: list(objects) });
  if (code !== 0) throw new Error(stderr);
}

function list(objects: readonly object[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
}

/** Runs a command of this project as a child process with pipes, as in CI. */
async function run(
  cluster: Cluster,
  args: readonly string[],
  { input = "", context = "admin" } = {},
): Promise<ProgramResult> {
  const access = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", context];
  const argv = ["cli/main.ts", ...args, ...access];
  return await runProgram(process.execPath, argv, { cwd: ROOT, env: COMPILE_CACHE, input });
}

async function audits(t: Test, cluster: Cluster): Promise<void> {
  const { code, stdout, stderr } = await run(cluster, ["audit", "-o", "json", "--allowed-accounts", "111122223333"]);
  t.equal(code, 1);
  t.equal(stderr, "");
  t.match(JSON.parse(stdout), {
    summary: {
      selectors: 4, resources: 3, malformed: 1, conflicts: 0, drift: 0, unexpectedAccounts: 2, onDefault: 1,
      selectingNothing: 1, awaitingResync: 1, staleAnnotations: 0, unannotated: 3,
    },
    findings: [
      {
        section: "malformed",
        file: null,
        line: null,
        kind: "IAMRoleSelector",
        name: "typo",
        path: "spec.arn",
        code: "IRS-02",
        severity: "deny",
      },
      { section: "unexpectedAccounts", name: "queues", path: "spec.arn", code: "IRS-04" },
      { section: "unexpectedAccounts", name: "silver", path: "spec.arn", code: "IRS-04" },
      { section: "onDefault", kind: "Table", name: "t1", namespace: "team-c", code: "ACK-05", severity: "warn" },
      { section: "selectingNothing", name: "silver", code: "IRS-22", severity: "warn" },
      { section: "awaitingResync", kind: "Bucket", name: "b1", code: "ACK-40", severity: "warn" },
      { section: "crossNamespace", kind: "FieldExport", name: "evil", code: "FE-03", severity: "warn" },
      { section: "checks", kind: "FieldExport", name: "evil", namespace: "team-a", code: "FE-01", severity: "deny" },
    ],
  });
  const linted = await run(cluster, ["lint"]);
  t.equal(linted.code, 1);
  t.match(linted.stdout, "deny FE-01 FieldExport team-a/evil spec.to.name: ");
  const text = await run(cluster, ["audit"]);
  t.match(
    text.stdout,
    new RegExp(
      "^\\d+ objects: 4 selectors, 3 resources; 3 without resolution annotations; [^\n]+\n" +
        "1 {2}malformed selector \\(not effective\\)\n",
    ),
  );
  t.notMatch(text.stdout, "\u001b", "the output has no color and no progress if it is a pipe");
  t.notMatch(text.stderr, "\r");
}

interface Resolved {
  readonly resource: object;
  readonly outcome: string;
  readonly roleARN: string | null;
  readonly accountID: string | null;
  readonly selectors: readonly { readonly name: string }[];
}

interface Prediction {
  readonly changes: readonly { readonly resource: object; readonly change: string; readonly after: Resolved | null }[];
}

function resolutions(stdout: string): readonly Resolved[] {
  return JSON.parse(stdout);
}

function predictionOf(stdout: string): Prediction {
  return JSON.parse(stdout);
}

/** Returns the resolution of each resource without the resource versions of selectors, which are unpredictable. */
async function resolved(cluster: Cluster): Promise<Map<string, string>> {
  const { stdout, stderr } = await run(cluster, ["resolve", "-o", "json"]);
  if (stdout === "") throw new Error(stderr);
  const all = resolutions(stdout);
  return new Map(all.map((one) => [JSON.stringify(one.resource), described(one)]));
}

function described({ outcome, roleARN, accountID, selectors }: Resolved): string {
  return JSON.stringify({ outcome, roleARN, accountID, selectors: selectors.map(({ name }) => name) });
}

const STEPS: readonly (readonly [
  title: string,
  verb: "apply" | "delete",
  objects: readonly object[],
  changes: readonly string[],
  code: number,
])[] = [
  [
    "a changed namespace label moves resources to another account",
    "apply",
    [namespace("team-a", { tier: "silver" })],
    ["account"],
    1,
  ],
  [
    "a removed namespace label moves resources to the controller's own role",
    "apply",
    [namespace("team-a")],
    ["default"],
    1,
  ],
  [
    "a restored namespace label and a second selector cause a conflict",
    "apply",
    [
      namespace("team-a", { tier: "gold" }),
      selector("xl", "111122223333", { resourceLabelSelector: { matchLabels: { size: "xl" } } }),
    ],
    ["conflict"],
    1,
  ],
  [
    "a removed resource label resolves the conflict",
    "apply",
    [resource("Bucket", "s3", { namespace: "team-a", name: "b1" })],
    ["selected"],
    1, // ACK-06 denies the change, because the labels decide which of two roles manages the pinned resource
  ],
  [
    "a new selector matches a resource that no selector matched before",
    "apply",
    [selector("fixed", "111122223333", { namespaceSelector: { names: ["team-c"] } })],
    ["selected"],
    0,
  ],
  ["the deletion of a malformed selector changes nothing", "delete", [selector("typo", "111122223333", {})], [], 0],
  [
    "the deletion of a selector moves resources to the controller's own role",
    "delete",
    [selector("gold", "111122223333", gold)],
    ["default"],
    1,
  ],
  [
    "a new resource is reported as added",
    "apply",
    [resource("Topic", "sns", { namespace: "team-b", name: "new" })],
    ["added"],
    0,
  ],
];

async function predicts(t: Test, cluster: Cluster): Promise<void> {
  let before = await resolved(cluster);
  for (const [title, verb, objects, changes, code] of STEPS) {
    await t.test(title, async (tt) => {
      const expected = new Map(before);
      const impact = await run(cluster, ["impact", "-", "-o", "json", ...(verb === "delete" ? ["--delete"] : [])], {
        input: list(objects),
      });
      tt.equal(impact.code, code, impact.stderr);
      const { changes: predicted } = predictionOf(impact.stdout);
      tt.same(predicted.map(({ change }) => change), changes);
      for (const { resource: changed, after } of predicted)
        if (after !== null) expected.set(JSON.stringify(changed), described(after));
      await apply(cluster, objects, verb);
      before = await resolved(cluster);
      tt.same(before, expected);
    });
  }
}

/** The webhook of a chart whose release has another name. No object of the cluster matches its rules. */
const INSTALLED: readonly object[] = [
  {
    apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration",
    metadata: { name: "ack-role-resolver" },
    webhooks: [{
      name: "none.ack-role-resolver.io", sideEffects: "None", admissionReviewVersions: ["v1"],
      clientConfig: { service: { namespace: "team-c", name: "resolver-webhook" } },
      rules: [{ apiGroups: ["none.example"], apiVersions: ["v1"], resources: ["nones"], operations: ["CREATE"] }],
    }],
  },
  {
    apiVersion: "apps/v1", kind: "Deployment", metadata: { namespace: "team-c", name: "resolver-webhook" },
    spec: {
      selector: { matchLabels: { app: "w" } },
      template: {
        metadata: { labels: { app: "w" } },
        spec: { containers: [{
          name: "webhook", image: "w:1", args: ["webhook", "--cluster", "--allowed-accounts=111122223333,444455556666"],
        }] },
      },
    },
  },
];

async function readsWebhook(t: Test, cluster: Cluster): Promise<void> {
  await apply(cluster, INSTALLED);
  const { stdout, stderr } = await run(cluster, ["audit"]);
  t.match(stderr, "Settings from the webhook team-c/resolver-webhook: --allowed-accounts=111122223333,444455556666\n");
  t.notMatch(stdout, "IRS-04 ");
  t.match((await run(cluster, ["audit", "--allowed-accounts", "444455556666"])).stdout, "IRS-04 ");
  await apply(cluster, INSTALLED, "delete");
}

async function isForbidden(t: Test, cluster: Cluster): Promise<void> {
  for (const command of [["audit"], ["resolve"], ["lint"], ["impact", "-"]]) {
    const { code, stdout, stderr } = await run(cluster, command, { context: "jane", input: list([namespace("x")]) });
    t.equal(code, 2, command.join(" "));
    t.equal(stdout, "");
    t.match(
      stderr,
      new RegExp(
        "^note: the settings of the webhook are unknown: GET \\S+/ack-role-resolver: the API server returned 403 "
          + "\\(Forbidden\\); state them with flags\nack-role-resolver: The cluster cannot be read: " +
          "not allowed to list iamroleselectors\\.services\\.k8s\\.aws in the whole cluster; ",
      ),
    );
  }
}
