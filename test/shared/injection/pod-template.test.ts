import { isChecked, runChecks } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import * as fc from "fast-check";
import { test } from "tap";
import { findingLine } from "../../../shared/core/check.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { controllerPod } from "../../fixtures/pods.ts";
import { objectAt } from "../../webhook/reviews.ts";
import { namespaceObject, put, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { containerOf, injected, INJECTION } from "../core/injected.ts";
import { parameters } from "../property.ts";

const LABEL = "ack-role-resolver.io/inject";

/** The manifests contain the Namespace ack-system with these labels. */
function inventoryOf(labels: Readonly<Record<string, string>> = {}): Inventory {
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  inventory.apply([put(namespaceObject("ack-system", labels))]);
  return inventory;
}

function linesOf(object: JsonObject, inventory: Inventory | null = inventoryOf()): readonly string[] {
  const input = { object, old: null, requester: null, origin: "file", inventory } as const;
  return runChecks(input, SETTINGS_BY_DEFAULT).findings.map(findingLine);
}

function workload(apiVersion: string, kind: string, pod: JsonObject): JsonObject {
  const { metadata, spec } = pod;
  return {
    apiVersion, kind, metadata: { name: "ack-s3-controller", namespace: "ack-system" },
    spec: { template: { metadata, spec } },
  };
}

function withVariable(name: string, value: string): JsonObject {
  return controllerPod({ controller: { env: [{ name: "AWS_REGION", value: "eu-west-1" }, { name, value }] } });
}

const PROFILE = withVariable("AWS_PROFILE", "default");

test("checks the template of every kind that creates Pods, with the path in the manifest", async (t) => {
  const kinds = [
    ["v1", "ReplicationController"], ["apps/v1", "Deployment"], ["apps/v1", "StatefulSet"], ["apps/v1", "DaemonSet"],
    ["apps/v1", "ReplicaSet"], ["batch/v1", "Job"],
  ] as const;
  const fault = (path: string): string => `POD-06 ${path}spec.containers[0].env[1]: the SDK of the controller would `
    + "use AWS_PROFILE and not the sidecar. Remove the variable; with a chart of ACK, remove "
    + "aws.credentials.secretName.";
  for (const [apiVersion, kind] of kinds) {
    t.same(linesOf(workload(apiVersion, kind, PROFILE)), [fault("spec.template.")], kind);
  }
  const job = workload("batch/v1", "CronJob", PROFILE);
  const cronJob = { ...job, spec: { jobTemplate: { spec: job["spec"] } } };
  t.same(linesOf(cronJob), [fault("spec.jobTemplate.spec.template.")]);
  t.same(linesOf(PROFILE), [fault("")]);
  t.same(linesOf(workload("example.com/v1", "Deployment", PROFILE)), [], "another group");
});

test("checks a template only if it or its Namespace requests a sidecar", async (t) => {
  const unlabeled = { ...PROFILE, metadata: { name: "a", namespace: "ack-system" } };
  const rejected = { ...PROFILE, metadata: { name: "a", namespace: "ack-system", labels: { [LABEL]: "false" } } };
  const [labeled, other] = [inventoryOf({ [LABEL]: "true" }), inventoryOf({ [LABEL]: "yes" })];
  const count = (pod: JsonObject, inventory: Inventory): number => {
    const object = workload("apps/v1", "Deployment", pod);
    const lines = linesOf(object, inventory);
    t.equal(isChecked(object, inventory), lines.length > 0);
    return lines.length;
  };
  t.same([PROFILE, unlabeled, rejected].map((pod) => count(pod, inventoryOf())), [1, 0, 0]);
  t.same([PROFILE, unlabeled, rejected].map((pod) => count(pod, labeled)), [1, 1, 0]);
  t.same([PROFILE, unlabeled, rejected].map((pod) => count(pod, other)), [1, 0, 0]);
  t.same(linesOf({ ...unlabeled, metadata: { name: "a" } }, labeled), [], "the namespace is default");
  t.same(linesOf(PROFILE, null), [], "without an inventory");
  t.same(linesOf({ apiVersion: "apps/v1", kind: "Deployment", spec: { template: "x" } }), [], "without a template");
});

test("accepts a labeled controller that has no sidecar yet, and checks a sidecar that a user wrote", async (t) => {
  t.same(linesOf(workload("apps/v1", "Deployment", controllerPod())), []);
  const pod = injected(controllerPod());
  const sidecar = { ...containerOf(pod, "ack-role-resolver"), restartPolicy: "OnFailure" };
  const written = { ...pod, spec: { ...objectAt(pod, "spec"), initContainers: [sidecar] } };
  t.match(linesOf(workload("apps/v1", "Deployment", written)), [
    /^POD-11 spec\.template\.spec\.initContainers\[0\]\.restartPolicy: /,
  ]);
});

test("POD-05 denies the variables that the injection would not replace", async (t) => {
  const pod = withVariable("AWS_ENDPOINT_URL_STS", "https://sts.example.com");
  t.same(linesOf(workload("apps/v1", "Deployment", pod)), [
    'POD-05 spec.template.spec.containers[0].env[1]: the value "https://sts.example.com" of AWS_ENDPOINT_URL_STS is '
      + "not an http URL on loopback, such as those of the sidecar. Remove the variable from the container; the "
      + "webhook sets it.",
  ]);
  t.same(linesOf(withVariable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/tmp/token")), [
    "POD-05 spec.containers[0].env[1]: AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE does not name the token file of the "
      + "sidecar, /run/ack-role-resolver/token. Remove the variable from the container; the webhook sets it.",
  ]);
});

const RESERVED_VOLUME = { volumes: [{ name: "ack-role-resolver-token", hostPath: { path: "/tmp" } }] };
const RESERVED_CONTAINER = { name: "ack-role-resolver", image: "example.com/other:1", restartPolicy: "Always" };

test("denies a template exactly if the webhook denies the Pod that it creates", async (t) => {
  const names = [
    "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_ENDPOINT_URL_STS",
    "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN", "OTHER",
  ];
  const values = ["", "x", "http://127.0.0.1:9780/sts", "https://sts.example.com", "/run/ack-role-resolver/token"];
  const variable = fc.record({ name: fc.constantFrom(...names), value: fc.constantFrom(...values) });
  const pods = fc.record({
    env: fc.uniqueArray(variable, { selector: ({ name }) => name, maxLength: 3 }),
    image: fc.constantFrom("public.ecr.aws/aws-controllers-k8s/s3-controller:1", "example.com/other:1"),
    reserved: fc.constantFrom({}, {}, RESERVED_VOLUME, { initContainers: [RESERVED_CONTAINER] }),
    envFrom: fc.constantFrom([], [{ secretRef: { name: "a" } }], [{ prefix: "APP_", secretRef: { name: "a" } }]),
    hostNetwork: fc.boolean(), label: fc.constantFrom("true", "yes"),
    annotations: fc.constantFrom({}, { "ack-role-resolver.io/inject-container": "manager" }),
  }).map(({ env, image, envFrom, hostNetwork, label, annotations, reserved }) => controllerPod({
    metadata: { name: "a", namespace: "ack-system", labels: { [LABEL]: label }, annotations },
    controller: { env: [{ name: "AWS_REGION", value: "eu-west-1" }, ...env], image, envFrom },
    spec: { hostNetwork, ...reserved },
  }));
  const settings = { ...SETTINGS_BY_DEFAULT, injection: INJECTION };
  fc.assert(fc.property(pods, (pod) => {
    const input = { object: injected(pod), old: null, requester: null, origin: "cluster" } as const;
    return runChecks(input, settings).denied === (linesOf(pod).length > 0);
  }), parameters(t, 300));
});
