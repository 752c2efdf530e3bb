import { type Test, test } from "tap";
import { bucketObject, mapObject, namespaceObject, ROLE, roleIn, SECOND, selectorObject } from "../shared/objects.ts";
import type { FakeCluster } from "../shared/api/fake-cluster.ts";
import { clusterOf, controller, kubeconfigOf } from "./broken-resources.ts";
import { type CommandResult, runCommand } from "./run-command.ts";

const CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ack-role-resolver";
const DEPLOYMENTS_OF_ACK = "/apis/apps/v1/namespaces/ack-system/deployments";
const DEPLOYMENT = "/apis/apps/v1/namespaces/platform/deployments/resolver-webhook";
const SELECTOR = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
const OBJECTS = [namespaceObject("team-a"), bucketObject(), SELECTOR];

interface Installed {
  readonly args?: readonly string[];
  readonly clientConfig?: object;
  readonly errors?: Parameters<typeof clusterOf>[0]["errors"];
}

/** Returns a cluster whose webhook was given the arguments. */
async function withWebhook(installed: Installed, objects = OBJECTS): Promise<FakeCluster> {
  const { args = [], clientConfig, errors = {} } = installed;
  const cluster = await clusterOf({ objects, errors });
  const service = { namespace: "platform", name: "resolver-webhook", path: "/validate" };
  cluster.named.set(CONFIGURATION, { webhooks: [{ name: "other" }, { clientConfig: clientConfig ?? { service } }] });
  cluster.named.set(DEPLOYMENT, {
    spec: { template: { spec: { containers: [{ name: "webhook", args: ["webhook", "--cluster", ...args] }] } } },
  });
  return cluster;
}

async function run(t: Test, cluster: FakeCluster, argv: readonly string[]): Promise<CommandResult> {
  return await runCommand([...argv, "--cluster", "--kubeconfig", kubeconfigOf(t, cluster)]);
}

test("each command judges with the settings of the webhook in the cluster", async (t) => {
  const args = ["--allowed-accounts=444455556666", "--runtime=ack", "--profile=enforce", "--check=IRS-15=off"];
  const notice = "Settings from the webhook platform/resolver-webhook: --allowed-accounts=444455556666 "
    + "--check=IRS-15=off\n";
  for (const argv of [
    ["lint"], ["audit"], ["resolve"], ["map", "--html", "-"], ["why", "bucket/b1", "-n", "team-a"],
  ] as const) {
    const { stdout, stderr, status } = await run(t, await withWebhook({ args }), argv);
    t.equal(stderr.split(notice).length, 2, `${argv[0]}: ${stderr}`);
    if (argv[0] === "resolve") continue;
    t.match(stdout, "IRS-04", argv[0]);
    t.equal(status, 1, argv[0]);
  }
  const impact = await run(t, await withWebhook({ args }), ["impact", "--delete", "manifests/examples"]);
  t.match(impact.stderr, notice);
});

test("each command judges with the settings in which all controllers agree", async (t) => {
  const namespace = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": SECOND });
  const objects = [
    namespace, bucketObject(), mapObject("ack-role-account-map", { [SECOND]: roleIn(SECOND) }),
    controller("ServiceLevelCARM=true", true),
  ];
  const notice = "Settings from the Deployments: --mode=carm --service-level-carm=true --region=eu-west-1\n";
  for (const argv of [["lint"], ["resolve"], ["map", "--html", "-"], ["impact", "--delete", "manifests/examples"]]) {
    const { stdout, stderr } = await run(t, await clusterOf({ objects }), argv);
    t.equal(stderr.split(notice).length, 2, `${argv[0]}: ${stderr}`);
    if (argv[0] === "resolve") t.match(stdout, new RegExp(`team-a +Bucket/b1 +selected +${SECOND}/`));
  }
  const { stderr } = await run(t, await clusterOf({ objects }), ["resolve", "--mode", "selectors"]);
  t.notMatch(stderr, "--mode=carm", "what the user states wins");
  const forbidden = { "/apis/apps/v1/deployments": { status: 403 }, [DEPLOYMENTS_OF_ACK]: { status: 403 } };
  const unread = await run(t, await clusterOf({ objects, errors: forbidden }), ["resolve"]);
  t.notMatch(unread.stderr, "Settings from the Deployments");
});

test("what the user states wins over the webhook, and a common default is not named", async (t) => {
  const cluster = await withWebhook({ args: ["--allowed-accounts=444455556666", "--mode=selectors"] });
  const { stderr, status } = await run(t, cluster, ["lint", "--allowed-accounts=111122223333"]);
  t.notMatch(stderr, "Settings from the webhook");
  t.equal(status, 0);
});

test("annotations of the webhook are up to date with its controllerAccount", async (t) => {
  const message = "No IAMRoleSelector selects the resource, so the controller's own role is used. Drift: the status "
    + `records account ${SECOND}, but its role is in account 777788889999.`;
  const annotations = { "ack-role-resolver.io/outcome": "default", "ack-role-resolver.io/reason": message };
  const bucket = bucketObject({ annotations }, { status: { ackResourceMetadata: { ownerAccountID: SECOND } } });
  const objects = [namespaceObject("team-a"), bucket];
  const installed = { args: ["--controller-account=777788889999"] };
  const known = await run(t, await withWebhook(installed, objects), ["audit"]);
  t.match(known.stdout, "ACK-08");
  t.notMatch(known.stdout, "ACK-02");
  const unknown = await run(t, await withWebhook({}, objects), ["audit"]);
  t.notMatch(unknown.stdout, /ACK-0[28]/);
});

test("uses no settings of a webhook outside the cluster, and says why those of another are unknown", async (t) => {
  const args = ["--allowed-accounts=444455556666"];
  const outside = await run(t, await withWebhook({ args, clientConfig: { url: "https://a:9443" } }), ["lint"]);
  t.same([outside.status, /webhook (platform|are)/.test(outside.stderr)], [0, false], outside.stderr);
  for (const path of [CONFIGURATION, DEPLOYMENT]) {
    const { stderr, status } = await run(t, await withWebhook({ args, errors: { [path]: { status: 403 } } }), ["lint"]);
    t.equal(status, 0);
    t.match(stderr, `note: the settings of the webhook are unknown: GET ${path}: the API server returned 403 (no `
      + "reason); state them with flags\n");
    const absent = await run(t, await withWebhook({ args, errors: { [path]: { status: 404 } } }), ["lint"]);
    t.notMatch(absent.stderr, "note: ", "no webhook is installed");
  }
  const newer = await run(t, await withWebhook({ args: [...args, "--mode=new"] }), ["lint"]);
  t.match(newer.stderr, /note: the settings of the webhook are unknown: --mode: expected one of selectors, /);
  t.equal(newer.status, 0);
});

test("says that a command does not support the mode of the webhook", async (t) => {
  const cluster = await withWebhook({ args: ["--mode=carm"] });
  const { stderr, stdout } = await run(t, cluster, ["resolve", "--explain"]);
  t.match(stderr, "--explain: not supported with --mode carm");
  t.match(stdout, /^Bucket team-a\/b1: selected/);
});
