import { readFileSync, writeFileSync } from "node:fs";
import { type Test, test } from "tap";
import { type JsonObject, valueAt } from "../../shared/formats/json.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { updatesGolden } from "../programs/environment.ts";
import type { FakeCluster } from "../shared/api/fake-cluster.ts";
import { olderACKSelectorCRD } from "../fixtures/ack-selector-crd.ts";
import { gatedDeployment } from "../fixtures/controllers.ts";
import { bucketObject, namespaceObject, ROLE, roleIn, SECOND, selectorObject } from "../shared/objects.ts";
import { BROKEN, clusterOf, kubeconfigOf, wordsOf } from "./broken-resources.ts";
import { type CommandResult, runCommand } from "./run-command.ts";
import { STATE } from "./state.ts";

const GOLDEN = new URL("../golden/why.txt", import.meta.url);

async function why(t: Test, cluster: FakeCluster, words: readonly string[]): Promise<CommandResult> {
  return await runCommand(["why", ...words, "--cluster", "--kubeconfig", kubeconfigOf(t, cluster)]);
}

test("says what is wrong with broken resources, where, and what to do", async (t) => {
  const parts: string[] = [];
  for (const broken of BROKEN) {
    await t.test(broken.title, async (tt) => {
      const { stdout, stderr, status } = await why(tt, await clusterOf(broken), wordsOf(broken));
      tt.match(stdout + stderr, /kubectl |ack-role-resolver (trust|manifests)/, "names a command");
      tt.ok((stdout.split(/\n  fix\b/)[0] ?? "").split("\n").length <= 10, "explains the role in ten lines");
      tt.ok(stdout.split("\n").length <= 17, "and says in a few more what to do");
      parts.push(`# ${broken.title}\n$ why ${wordsOf(broken).join(" ")}\n${stdout}${stderr}exit status ${status}\n`);
    });
  }
  const actual = parts.join("\n");
  if (updatesGolden()) writeFileSync(GOLDEN, actual);
  t.equal(actual, readFileSync(GOLDEN, "utf8"));
});

const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";
const EVENTS = "/api/v1/namespaces/team-a/events";
const TEAM_A = [namespaceObject("team-a"), bucketObject()];
const SELECTOR = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }, {
  annotations: {
    "ack-role-resolver.io/external-id": "secret-id", "ack-role-resolver.io/session-tags": "team=a",
    "ack-role-resolver.io/session-name": "team-a", "ack-role-resolver.io/source-identity": "ack",
    "ack-role-resolver.io/duration-seconds": "900",
  },
});

test("accepts each name that kubectl accepts, and reads the namespace of the context", async (t) => {
  for (const words of [
    ["bucket/b1"], ["buckets/b1"], ["Bucket/b1"], ["bucket", "b1"], ["bucket.s3.services.k8s.aws/b1"],
    ["buckets.v1alpha1.s3.services.k8s.aws/b1"],
  ]) {
    const { stdout } = await why(t, await clusterOf({ objects: [...TEAM_A, SELECTOR] }), words);
    t.match(stdout, /^Bucket team-a\/b1: selected\n/, words.join(" "));
  }
  for (const words of [["b1"], ["bucket/"], ["bucket/b1/b2"], ["bucket", "b1", "b2"], ["/b1"]]) {
    const { status, stderr } = await runCommand(["why", ...words, "--from", "manifests/examples"]);
    t.equal(status, 2);
    t.match(stderr, "expected TYPE/NAME, such as bucket/logs or buckets.s3.services.k8s.aws/logs\n");
  }
});

test("describes the session without its external ID, and lists only the kinds of the name", async (t) => {
  const cluster = await clusterOf({ objects: [...TEAM_A, SELECTOR] });
  const { stdout } = await why(t, cluster, ["bucket/b1"]);
  t.match(stdout, "\n  session: name team-a, an external ID, source identity ack, tags team=a, 900 s\n  fix: nothing");
  t.notMatch(stdout, "secret-id");
  const lists = cluster.lists.filter((path) => path.includes("/buckets?")).map((path) => path.split("?")[0]);
  t.same(lists, [BUCKETS], "no other resource is read");
});

test("prints no command with a name that a shell would run", async (t) => {
  for (const name of ["$(id)", "--kubeconfig=/tmp/x"]) {
    const annotations = { "ack-role-resolver.io/selector": name };
    const cluster = await clusterOf({ objects: [namespaceObject("team-a"), bucketObject({ annotations })] });
    const { stdout } = await why(t, cluster, ["bucket/b1"]);
    t.match(stdout, /\n {6}printf %s '\{"apiVersion":[^']*' \| kubectl create -f -\n/, name);
    t.notMatch(stdout, /kubectl [^\n]*(?:id\)|tmp)/, name);
  }
});

test("prints the errors that controllers report, and says why Events are unknown", async (t) => {
  const conditions = [
    { type: "ACK.ResourceSynced", status: "False", message: "not synced" },
    { type: "ACK.Terminal", status: "True", message: "bad \u001B[1mspec", reason: "invalid" },
    { type: "ACK.Recoverable", status: "False", message: "gone" }, { type: "Ready", status: "True", message: "x" },
  ];
  const objects = [namespaceObject("team-a"), bucketObject({}, { status: { conditions } }), SELECTOR];
  const cluster = await clusterOf({ objects, errors: { [EVENTS]: { status: 403 } } });
  const { stdout, status } = await why(t, cluster, ["bucket/b1"]);
  t.equal(status, 1);
  t.match(stdout, "\n  condition ACK.Terminal: bad \\u001b[1mspec: invalid\n"
    + `  Events: unknown: GET ${EVENTS}: the API server returned 403 (no reason); ask for the verb `
    + "list on events in the namespace\n  fix: see above\n");
  t.notMatch(stdout, /gone|Ready|not synced/);
});

/** The conditions that a controller of ACK writes when all is well. */
const HEALTHY = [
  ["ACK.ResourceSynced", "Resource synced successfully", ""], ["Ready", "Resource synced successfully", ""],
  ["ACK.LateInitialized", "Late initialization successful", "Late initialization successful"],
  ["ACK.IAMRoleSelected", "Selected", `roleARN: ${ROLE}, selectorName: team-a, selectorResourceVersion: 7`],
].map(([type, message, reason]) => (
  { type, status: "True", message, reason, lastTransitionTime: new Date().toISOString().replace(/\.\d+/, "") }
));
const METADATA = { ownerAccountID: "111122223333", region: "eu-west-1" };
const refusalNote = "The role of IAMRoleSelector team-a cannot be assumed";

test("says that nothing is wrong if a controller reconciled the bucket after STS refused its role", async (t) => {
  const healthy = bucketObject({}, { status: { ackResourceMetadata: METADATA, conditions: HEALTHY } });
  const objects = [namespaceObject("team-a"), SELECTOR, healthy];
  const { stdout, status } = await why(t, await clusterOf({ objects, notes: [refusalNote] }), ["bucket/b1"]);
  t.equal(status, 0, stdout);
  t.match(stdout, /\n {2}exists in: account 111122223333\n.*\n {2}fix: nothing is wrong\n$/);
  t.notMatch(stdout, /refuses|cannot be assumed/);
  const cluster = await clusterOf({ objects, notes: [refusalNote] });
  t.match((await why(t, cluster, ["bucket/b1", "--log-level", "debug"])).stdout, refusalNote, "debug shows the past");
  const before = HEALTHY.map((one) => ({ ...one, lastTransitionTime: "2026-01-01T00:00:00Z" }));
  const older = bucketObject({}, { status: { conditions: before } });
  const refused = await why(t, await clusterOf({ objects: [...objects.slice(0, 2), older], notes: [refusalNote] }),
    ["bucket/b1"]);
  t.equal(refused.status, 1, "an Event that is newer than each condition counts");
  t.match(refused.stdout, "but STS refuses the role");
});

test("does not say that a bucket exists in AWS before its controller created it", async (t) => {
  const conditions = [{ type: "ACK.ResourceSynced", status: "False", message: "Resource not synced" }];
  const created = bucketObject({}, { status: { ackResourceMetadata: METADATA, conditions } });
  const objects = [namespaceObject("team-a"), created, SELECTOR];
  const { stdout, status } = await why(t, await clusterOf({ objects }), ["bucket/b1"]);
  t.equal(status, 0);
  t.notMatch(stdout, "exists in");
  t.match(stdout, "\n  condition ACK.ResourceSynced: Resource not synced\n  fix: wait until the controller has "
    + "finished\n");
});

function messageOf(bucket: JsonObject): string {
  return String(valueAt(bucket, ["status", "conditions", 0, "message"]));
}

test("prints how ACK adopts what exists in AWS already", async (t) => {
  const withTerminal = (message: string, annotations: JsonObject = {}): JsonObject => bucketObject({ annotations }, {
    status: { ackResourceMetadata: METADATA, conditions: [{ type: "ACK.Terminal", status: "True", message }] },
  });
  const annotate = "    kubectl annotate bucket.s3.services.k8s.aws/b1 -n team-a ";
  const policy = "services.k8s.aws/adoption-policy=adopt-or-create";
  const POLICY = { "services.k8s.aws/adoption-policy": "adopt-or-create" };
  const restart = "    then restart the controller, for the resources of all teams:\n      kubectl rollout restart "
    + "deployment/ack-s3 -n ack-system\n";
  const TERMINAL = "fix ACK.Terminal: status.conditions: ";
  for (const [bucket, fix, commands] of [
    [withTerminal("Resource already exists"), "If the existing AWS resource is that of this object, ",
      `${annotate}${policy} --overwrite\n${restart}`],
    [withTerminal("Resource already exists", POLICY), "Its annotation lets ACK adopt the AWS resource. Controllers do ",
      restart],
    [withTerminal("EntityAlreadyExists: x", { ...POLICY, "services.k8s.aws/adoption-fields": "{}" }), "Its ", restart],
    [withTerminal("Resource already exists", { "services.k8s.aws/adopted": "true" }), "If the existing ",
      `${annotate}${policy} services.k8s.aws/adopted- --overwrite\n`],
    [withTerminal("EntityAlreadyExists: x"), "Choose another name in the spec, or if ",
      `\n  ${annotate}${policy} 'services.k8s.aws/adoption-fields={"arn":"ARN"}' --overwrite\n    then restart `],
    [withTerminal("BucketAlreadyExists: x"), "Another account has a bucket of this name. ",
      "\n    kubectl edit bucket.s3.services.k8s.aws/b1 -n team-a\n"],
  ] as const) {
    const controller = gatedDeployment("IAMRoleSelector=true", false);
    const cluster = await clusterOf({ objects: [namespaceObject("team-a"), bucket, SELECTOR, controller] });
    const { stdout, status } = await why(t, cluster, ["bucket/b1"]);
    t.equal(status, 1);
    t.match(stdout, `${TERMINAL}${messageOf(bucket)}. ${fix}`);
    t.match(stdout, commands);
  }
});

test("never prints a command with text that a shell would run", async (t) => {
  for (const matchLabels of [{ tier: "$(reboot)" }, { "--server": "evil" }]) {
    const namespaceSelector = { names: [], labelSelector: { matchLabels } };
    const unsafe = selectorObject("gold", { arn: ROLE, namespaceSelector });
    const { stdout } = await why(t, await clusterOf({ objects: [...TEAM_A, unsafe] }), ["bucket/b1"]);
    t.match(stdout, /\n {6}printf %s '\{[^']*' \| kubectl create -f -\n/, "the webhook would deny such a label");
    t.notMatch(stdout, /kubectl [^\n]*(?:reboot|server)/);
  }
  const notes = ["`ack-role-resolver trust check --iam a.json; reboot`"];
  const refused = await why(t, await clusterOf({ objects: [...TEAM_A, SELECTOR], notes }), ["bucket/b1"]);
  t.match(refused.stdout, /\n {2}fix: change the policies as the Event above says\n$/);
  t.equal(refused.status, 1);
});

test("opens a file whose name a shell would run", async (t) => {
  const name = "x;touch evil;.yaml";
  const broken = selectorObject("team-a", { arn: "hello", namespaceSelector: { names: ["team-a"] } });
  const dir = t.testdir({ [name]: [...TEAM_A, broken].map((one) => JSON.stringify(one)).join("\n---\n") });
  const { stdout } = await runCommand(["why", "bucket/b1", "-n", "team-a", "--from", dir]);
  t.match(stdout, `\n    \${EDITOR:-vi} +5 '${dir}/${name}'\n`);
});

const OWN_ACCOUNT = ["--controller-account", "111122223333"];

test("reports the findings of audit about the controllers and about what chooses the role", async (t) => {
  const exits = gatedDeployment("IAMRoleSelector=true");
  const annotated = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111122223333" });
  const labeled = bucketObject({ labels: { tier: "gold" } });
  const byLabel = selectorObject("gold", {
    arn: roleIn(SECOND), resourceLabelSelector: { matchLabels: { tier: "gold" } },
  });
  for (const [what, objects, codes, argv] of [
    ["a controller that runs", [gatedDeployment("IAMRoleSelector=true", false), SELECTOR], []],
    ["a controller that exits", [exits, SELECTOR], ["AUD-15"]],
    ["a controller of unknown services",
      [gatedDeployment("IAMRoleSelector=true", true, { container: { image: "mirror/ack" } }), SELECTOR], ["AUD-15"]],
    ["the controller of another service, beside the right one",
      [gatedDeployment("IAMRoleSelector=true", false), SELECTOR, gatedDeployment("", false, {
        name: "ack-sqs", container: { image: "public.ecr.aws/aws-controllers-k8s/sqs-controller:1.0.0" },
      })], []],
    ["a Deployment of a tenant", [{ ...exits, metadata: { name: "ack-s3", namespace: "team-a" } }, SELECTOR], []],
    ["controllers that read CARM maps", [gatedDeployment("", true), annotated, SELECTOR], ["ACK-03"]],
    ["a role of the controller's account", [SELECTOR], ["IRS-05"], OWN_ACCOUNT],
    ["a warning beside one about the role", [exits, SELECTOR], ["AUD-15"], OWN_ACCOUNT],
    ["a CRD that prunes a field of the selector", [olderACKSelectorCRD(), byLabel, labeled], ["AUD-08"]],
    ["a CRD that lacks a field of ACK's charts", [olderACKSelectorCRD(), SELECTOR], ["AUD-08"]],
  ] as const) {
    const named = new Map([...TEAM_A, ...objects].map((object) => {
      const { kind, name } = objectReference(object);
      return [`${kind}/${name}`, JSON.stringify(object)];
    }));
    const stdin = [...named.values()].join("\n---\n");
    const { stdout } = await runCommand(
      ["why", "bucket/b1", "-n", "team-a", "--from", "-", "-o", "json", ...argv ?? []], { stdin },
    );
    t.same(JSON.parse(stdout).causes.map(({ code }: { readonly code: string }) => code), codes, what);
  }
});

test("reads manifests, names the lines to edit, and suggests what exists", async (t) => {
  const ran = await runCommand(["why", "queue/q1", "-n", "team-a", "--from", "-"], { stdin: STATE });
  t.equal(ran.status, 1);
  t.match(ran.stdout, /^Queue team-a\/q1: conflict\n/);
  t.match(ran.stdout, "\n    or to change IAMRoleSelector team-a:\n      edit line 12 of standard input\n");
  t.equal(ran.stderr, "", "--namespace has an effect");
  for (const [words, message] of [
    [["bucket/b2", "-n", "team-a"], "The manifests contain no bucket team-a/b2; did you mean team-a/b1?"],
    [["queue/q1"], "The manifests contain no queue default/q1; did you mean team-a/q1?"],
    [["topic/t1"], "The manifests contain no topic default/t1"],
  ] as const) {
    const missing = await runCommand(["why", ...words, "--from", "-"], { stdin: STATE });
    t.same([missing.status, missing.stderr], [2, `ack-role-resolver: ${message}\n`]);
  }
  const clusters = ["eks", "kafka"].map((service) => JSON.stringify({
    apiVersion: `${service}.services.k8s.aws/v1alpha1`, kind: "Cluster", metadata: { name: "c" },
  }));
  t.match((await runCommand(["why", "clusters/c", "--from", "-"], { stdin: clusters.join("\n---\n") })).stderr,
    "Several kinds have the name clusters: use cluster.eks.services.k8s.aws/c and cluster.kafka.services.k8s.aws/c.");
});

test("says what exists if the cluster lacks the object or the kind, or may not be read", async (t) => {
  for (const [words, message, errors] of [
    [
      ["bucket/b2"],
      "The cluster has no bucket team-a/b2; list the others with `kubectl get buckets.s3.services.k8s.aws -n team-a`",
      {},
    ],
    [
      ["policies.iam.services.k8s.aws/p"],
      'The cluster serves no kind "policies.iam.services.k8s.aws" of ACK or Cluster API. Check the kind and the '
      + "context, or install the ACK controller for iam. Show the kinds that it serves: `kubectl api-resources ", {},
    ],
    [["table/t"], /install the ACK controller for [\w ]*dynamodb or [\w ]*\. Show/, {}],
    [["thing/t"], 'The cluster serves no kind "thing" of ACK or Cluster API. Check the kind and the context. ', {}],
    [
      ["bucket/b1"], "The resource cannot be read: not allowed to list buckets.s3.services.k8s.aws",
      { [BUCKETS]: { status: 403 } },
    ],
  ] as const) {
    const objects = words[0] === "bucket/b2" ? [namespaceObject("team-a")] : TEAM_A;
    const { status, stderr } = await why(t, await clusterOf({ objects, errors }), words);
    t.equal(status, 2);
    t.match(stderr, message);
  }
});

test("--quiet prints nothing about the settings", async (t) => {
  const settled = { stdin: `${STATE}\n---\n${JSON.stringify(gatedDeployment("IAMRoleSelector=true", false))}` };
  const words = ["why", "bucket/b1", "-n", "team-b", "--from", "-"];
  t.match((await runCommand(words, settled)).stderr, "Settings from the Deployments: ");
  t.equal((await runCommand([...words, "--quiet"], settled)).stderr, "");
});

test("prints JSON, and text that fits a terminal of 60 columns except for its commands", async (t) => {
  const json = await runCommand(["why", "queue/q1", "-n", "team-a", "--from", "-", "-o", "json"], { stdin: STATE });
  t.match(JSON.parse(json.stdout), {
    outcome: "conflict", session: null, reported: [], explanation: [{ selector: "queues" }, { selector: "team-a" }],
    causes: [{ code: "ACK-03", severity: "deny", repairs: [{ when: "to keep team-a", changes: [{ file: "-" }] }] }],
  });
  const terminal = { stdin: STATE, terminal: true, columns: 60, environment: { NO_COLOR: "1" } };
  const { stdout } = await runCommand(["why", "bucket/b1", "-n", "team-b", "--from", "-"], terminal);
  const lines = stdout.split("\n").filter((line) => !/^ +edit /.test(line));
  t.ok(lines.length > 8);
  t.same(lines.filter((line) => line.length > 60 && line.trim().includes(" ")), [], "only long words are longer");
  t.match(stdout, /\n {2}fix IRS-02: IAMRoleSelector \S+:\n? *spec\.arn:\n/);
});
