import { runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import { NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import { podProblem } from "../../../shared/controllers/pod-profile.ts";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { formatFieldPath, type JsonObject } from "../../../shared/formats/json.ts";
import { SETTINGS_BY_DEFAULT } from "../objects.ts";
import { applyRepairs } from "../core/repaired.ts";
import { testRows } from "../rows.ts";

const injection = { ...SETTINGS_BY_DEFAULT.injection, closures: { ...NOTHING_CLOSED, base: true, unmatched: true } };
const STRICT: DecisionSettings = { ...SETTINGS_BY_DEFAULT, injection, profileNamespaces: ["ack-role-resolver"] };

/** Returns `CODE PATH: MESSAGE; FIX` for each finding of an audit. */
function linesOf(object: JsonObject, settings = STRICT, id = "AUD-16"): string[] {
  const input = { object, old: object, operation: "AUDIT", requester: null, origin: "cluster" } as const;
  const result = runChecks(input, settings);
  applyRepairs({ input, settings, known: null }, result);
  return result.findings.filter(({ code }) => code === id)
    .map(({ path, message, fix }) => `${formatFieldPath(path)}: ${message}; ${fix}`);
}

interface Parts {
  readonly args?: readonly string[];
  readonly metadata?: JsonObject;
  readonly status?: JsonObject;
  readonly name?: string;
}

function spec({ args = [], name = "ack-role-resolver" }: Parts): JsonObject {
  return {
    containers: [{ name: "controller" }],
    initContainers: [{ name: "wait" }, { name, args: ["sidecar", "--cluster", ...args] }],
  };
}

function pod({ metadata = {}, status = {}, ...parts }: Parts = {}): JsonObject {
  const own = { name: "s3-6f7c9-x2x4z", namespace: "ack-system", uid: "uid-1", ...metadata };
  return { apiVersion: "v1", kind: "Pod", metadata: own, spec: spec(parts), status };
}

const ownedBy = (kind: string, name: string, labels: JsonObject = {}): { readonly metadata: JsonObject } => (
  { metadata: { ownerReferences: [{ kind: "Other", name: "other" }, { kind, name, controller: true }], labels } }
);
const HASH = { "pod-template-hash": "6f7c9" };
const deploymentOf = (args: readonly string[]): JsonObject => (
  { ...DEPLOYMENT, spec: { template: { spec: spec({ args }) } } }
);
const DEPLOYMENT: JsonObject = {
  apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "s3", namespace: "ack-system" },
  spec: { template: { spec: spec({}) } },
};

const ADD = "add --profile-namespace=ack-role-resolver to the arguments of the sidecar";
const MESSAGE = "the sidecar runs without --base=identity-only and --unmatched=deny, which the profile of the "
  + "installation requires, so it can hand out credentials that the installation forbids";
const found = (command: string, message = MESSAGE): string => (
  `spec.initContainers[1]: ${message}; run \`kubectl -n ack-system ${command}\`; if the webhook does not inject this `
    + `sidecar, first ${ADD}`
);

testRows("AUD-16 reports a sidecar that can hand out what the profile forbids, and how to replace it", linesOf, [
  ["follows", pod({ args: ["--profile-namespace=ack-role-resolver"] })],
  ["follows a ConfigMap of its own", pod({ args: ["--profile-namespace=ack-system"] }),
    found("delete pod s3-6f7c9-x2x4z")],
  ["closes everything", pod({ args: ["--profile=strict"] })],
  ["no sidecar", pod({ name: "other", args: [] })],
  ["has ended", pod({ status: { phase: "Succeeded" } })],
  ["is being deleted", pod({ metadata: { deletionTimestamp: "2026-11-28T00:00:00Z" } })],
  ["a Deployment without a template", { ...DEPLOYMENT, spec: {} }],
  ["of a Deployment", pod(ownedBy("ReplicaSet", "s3-6f7c9", HASH)), found("rollout restart deployment s3")],
  ["of a StatefulSet", pod(ownedBy("StatefulSet", "s3")), found("rollout restart statefulset s3")],
  ["of a ReplicaSet of its own", pod(ownedBy("ReplicaSet", "s3-6f7c9")), found("delete pod s3-6f7c9-x2x4z")],
  ["of nobody", pod(), found("delete pod s3-6f7c9-x2x4z")],
  ["of an invented owner", pod(ownedBy("StatefulSet", "a; rm -rf /")), found("delete pod s3-6f7c9-x2x4z")],
  ["half closed", pod({ args: ["--base=identity-only"] }), found("delete pod s3-6f7c9-x2x4z",
    "the sidecar runs without --unmatched=deny, which the profile of the installation requires, so it can hand out "
      + "credentials that the installation forbids")],
  ["a template", DEPLOYMENT, `spec.template.spec.initContainers[1]: ${MESSAGE}; ${ADD}`],
]);

test("requires nothing if the installation closes nothing", (t) => {
  t.same(linesOf(pod(), SETTINGS_BY_DEFAULT), []);
  t.equal(podProblem(pod(), SETTINGS_BY_DEFAULT), null);
  t.end();
});

test("the Event is about the Pod, with the command", (t) => {
  t.same(podProblem(pod(), STRICT), {
    subject: { apiVersion: "v1", kind: "Pod", namespace: "ack-system", name: "s3-6f7c9-x2x4z", uid: "uid-1" },
    reason: "ProfileNotFollowed",
    note: `T${MESSAGE.slice(1)}. Run \`kubectl -n ack-system delete pod s3-6f7c9-x2x4z\`; if the webhook does not `
      + `inject this sidecar, first ${ADD}.`,
  });
  t.end();
});

test("the other checks of Pods do not judge a stored Pod", (t) => {
  const labeled = pod({ metadata: { labels: { "ack-role-resolver.io/inject": "true" } } });
  const input = { object: labeled, old: labeled, operation: "AUDIT", requester: null, origin: "cluster" } as const;
  t.same(runChecks(input, STRICT).findings.map(({ code }) => code), ["AUD-16"]);
  t.end();
});

const scoped: DecisionSettings = {
  ...STRICT, injection: { ...injection, closures: { ...NOTHING_CLOSED, sessionScope: true } },
};
const limits = (object: JsonObject): string[] => linesOf(object, scoped, "AUD-17");
const groups = (...all: readonly string[]): Parts => ({
  args: [...all.map((group) => `--group=${group}.services.k8s.aws`), "--session-scope=service", "--base=identity-only"],
});
const OWN = "the sidecar hands out the credentials of its own role, which --session-scope=service does not limit, "
  + "unless it uses IRSA or its role may assume itself; ";

testRows("AUD-17 reports a sidecar that the session scope stops, or does not limit", limits, [
  ["a known group", pod(groups("s3"))],
  ["an unknown group", pod(groups("s3", "new")), /no session of a role: what the controllers of new\S+ need is/],
  ["too many groups", pod(groups("iam", "ec2", "rds", "eks", "sagemaker")), /Run a sidecar for each group, or/],
  ["in two words, and for Cluster API", pod({ args: [
    "--group", "new.services.k8s.aws,infrastructure.cluster.x-k8s.io", "--session-scope", "service", "--base=vend",
  ] }), /issues no session/, new RegExp(OWN)],
  ["a flag without a value", pod({ args: ["--session-scope=service", "--base=identity-only", "--group"] })],
  ["the own role", deploymentOf(["--group=s3.services.k8s.aws", "--session-scope=service"]),
    `spec.template.spec.initContainers[1]: ${OWN}set --base=identity-only of the sidecar`],
  ["without the scope", pod({ args: ["--group=new.services.k8s.aws", "--profile=enforce"] })],
]);

test("AUD-17 reports a sidecar that has the scope itself, and follows a profile without it", (t) => {
  const follows = deploymentOf([
    "--group=s3.services.k8s.aws", "--session-scope=service", "--profile-namespace=ack-role-resolver",
  ]);
  const open = { ...STRICT, injection: { ...injection, closures: NOTHING_CLOSED } };
  t.match(linesOf(follows, open, "AUD-17"), [/hands out the credentials of its own role/]);
  t.end();
});

test("AUD-16 does not choose between the namespaces of several installations", (t) => {
  const settings = { ...STRICT, installationNamespaces: ["a", "b"] };
  const input = { object: DEPLOYMENT, old: DEPLOYMENT, requester: null, origin: "cluster" } as const;
  const { findings } = runChecks({ ...input, operation: "AUDIT" }, settings);
  const finding = findings.find(({ code }) => code === "AUD-16");
  t.match(finding?.fix, /--profile-namespace=a or b/i);
  t.notOk(finding?.repairs);
  t.end();
});
