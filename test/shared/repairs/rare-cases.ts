import { isJsonObject, type JsonObject, parseJSON } from "../../../shared/formats/json.ts";
import { adoptedBucket } from "../../fixtures/ack-adopted-resource-crd.ts";
import { controllerDeployment, gatedDeployment } from "../../fixtures/controllers.ts";
import { CONTROLLER, controllerPod } from "../../fixtures/pods.ts";
import { owned, SILVER, tiered } from "../ack/resource-lines.ts";
import { roleIdentity } from "../capa-objects.ts";
import { injected } from "../core/injected.ts";
import type { Circumstances } from "../core/findings.ts";
import { bucketObject, namespaceObject, selectorFor } from "../objects.ts";

type Case = readonly [code: string, object: JsonObject, circumstances?: Circumstances];

const LIST = { list: ["team-a"] };
const SETTINGS = { region: "eu-west-1" };
const RECORDED = {
  "ack-role-resolver.io/role-arn": SILVER, "ack-role-resolver.io/selector": "gold",
};
const moved = bucketObject({ labels: { gold: "yes" }, annotations: RECORDED });

const LIMITED = {
  name: "limited",
  annotations: { "ack-role-resolver.io/session-policy-arns": "arn:aws:iam::aws:policy/AmazonS3FullAccess" },
};

/** Cases of the checks that random inventories seldom or never reach. */
export const CASES: readonly Case[] = [
  ["ACK-07", owned("444455556666", tiered("gold")), { old: owned("444455556666", tiered("silver")) }],
  ["ACK-32", owned("444455556666", moved), { operation: "DELETE" }],
  ["ACK-41", adoptedBucket({ namespace: "team-b" })],
  ["AUD-15", gatedDeployment("IAMRoleSelector=true", true), { operation: "AUDIT" }],
  ["AUD-15", controllerDeployment({ args: ["--feature-gates=IAMRoleSelector=true"] }), { operation: "AUDIT" }],
  ["CI-06", roleIdentity("r", "controller", { selector: { matchLabels: { a: " b" } } })],
  ["CI-20", roleIdentity("r", "controller", LIST, { roleARN: "arn:aws:sts::111122223333:assumed-role/a/s" })],
  ["CI-22", roleIdentity("r", "controller", LIST, { policyARNs: [" arn:aws:iam::aws:policy/ReadOnlyAccess"] })],
  ["NS-07", namespaceObject("team-a", {}, { "services.k8s.aws/default-region": "EU-West-1" }), { settings: SETTINGS }],
  ["IRS-57", selectorFor("limited", "111122223333", ["team-a"]), {
    old: { ...selectorFor("limited", "111122223333", ["team-a"]), metadata: LIMITED },
    known: [{ ...selectorFor("limited", "111122223333", ["team-a"]), metadata: LIMITED }, bucketObject()],
  }],
  ["ACK-05b", bucketObject({ namespace: "strict" }), {
    known: [
      namespaceObject("strict", {}, { "ack-role-resolver.io/selector-required": "true" }),
      selectorFor("typo", "111122223333", ["srtict"]),
    ],
  }],
];

const LABEL = "ack-role-resolver.io/inject";

/** Returns a Pod with a sidecar of its own that never completes. */
function blocking(): JsonObject {
  const text = JSON.stringify(injected(controllerPod())).replaceAll(/"ack-role-resolver(-token|-state)?"/g, '"own$1"');
  const pod = parseJSON(text.replace(/"restartPolicy":"Always",?/, ""));
  return isJsonObject(pod) ? pod : {};
}

/** Pods with faults that random inventories seldom have. */
export const PODS: readonly (readonly [code: string, pod: JsonObject])[] = [
  ["POD-01", controllerPod({ metadata: { labels: { [LABEL]: "True" } } })],
  ["POD-02", controllerPod({ spec: { containers: [CONTROLLER, { name: "proxy", image: "x:1" }] } })],
  ["POD-04", blocking()],
  ["POD-09", injected(controllerPod({ controller: { env: [], args: ["--aws-region=eu-west-1"] } }))],
];
