import { describeRepairs } from "../../../shared/core/repair.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { runChecks } from "../../../shared/judges.ts";
import { CONTROLLER, controllerPod } from "../../fixtures/pods.ts";
import { injected, INJECTION } from "../core/injected.ts";
import { SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";
import { type Fields, lines, withVariables } from "./pod-lines.ts";

const SETTINGS = { ...SETTINGS_BY_DEFAULT, injection: INJECTION };
const CONTAINER = "ack-role-resolver.io/inject-container";
const GROUP = "ack-role-resolver.io/inject-group";
const LABEL = "ack-role-resolver.io/inject";
const TOKEN = "ack-role-resolver-token";

/** Returns what the repairs of each finding of the code do. Applies each repair. */
function repairsOf([code, object]: readonly [code: string, object: JsonObject]): string[] {
  lines(object);
  const { findings } = runChecks({ object, old: null, requester: null, origin: "cluster" }, SETTINGS);
  return findings.filter((one) => one.code === code)
    .flatMap(({ repairs = [], path }) => describeRepairs(repairs, path) ?? []);
}

function annotated(annotations: Fields, spec: Fields = {}, controller: Fields = {}): JsonObject {
  return controllerPod({ metadata: { labels: { [LABEL]: "true" }, annotations }, spec, controller });
}

const named = (name: string): Fields => ({ ...CONTROLLER, name });
const other = { image: "example.com/proxy:1" };
const volume = { name: TOKEN, hostPath: { path: "/tmp" } };
const mount = { name: TOKEN, mountPath: "/t" };

const RENAMED = `set spec.volumes[0].name to "own-${TOKEN}" and set spec.containers[0].volumeMounts[0].name to `
  + `"own-${TOKEN}"`;

testRows("each repair of a Pod heals it", repairsOf, [
  ["POD-02: the container with the image of ACK",
    ["POD-02", annotated({}, { containers: [CONTROLLER, { name: "proxy", ...other }] })],
    `set metadata.annotations[${CONTAINER}] to "controller"`],
  ["POD-02: the container with a similar name",
    ["POD-02", annotated({ [CONTAINER]: "mangaer" }, { containers: [named("manager"), named("worker")] })],
    'write "manager"'],
  ["POD-02: two containers", ["POD-02", annotated({}, { containers: [named("a"), named("b")] })],
    `if "a" is meant, set metadata.annotations[${CONTAINER}] to "a"; or if "b" is meant, set `
      + `metadata.annotations[${CONTAINER}] to "b"`],
  ["POD-02: no container of ACK",
    ["POD-02", annotated({}, { containers: [{ name: "a", ...other }, { name: "b", ...other }] })]],
  ["POD-03: the group of the image", ["POD-03", annotated({ [GROUP]: "x" })], 'write "s3.services.k8s.aws"'],
  ["POD-03: a misspelled group of the image", ["POD-03", annotated({ [GROUP]: "s3.service.k8s.aws" })],
    'write "s3.services.k8s.aws"'],
  ["POD-03: a similar group", ["POD-03", annotated({ [GROUP]: "s3.service.k8s.aws" }, {}, other)],
    'write "s3.services.k8s.aws"'],
  ["POD-03: neither", ["POD-03", annotated({ [GROUP]: "" }, {}, other)]],
  ["POD-03: CAPA", ["POD-03", annotated({ [GROUP]: "infrastructure.cluster.x-k8s.io" })],
    `set metadata.labels[${LABEL}] to "false"`],
  ["POD-03: another image", ["POD-03", controllerPod({ controller: other })],
    `if the Pod needs no sidecar, set metadata.labels[${LABEL}] to "false"`],
  ["POD-05", ["POD-05", withVariables({ name: "AWS_ENDPOINT_URL_STS", value: "https://sts.example.com" })],
    "remove this entry"],
  ["POD-06", ["POD-06", withVariables({ name: "AWS_SECRET_ACCESS_KEY", value: "SECRET" })], "remove this entry"],
  ["POD-07", ["POD-07", injected(controllerPod({ controller: { envFrom: [{ secretRef: { name: "s" } }] } }))],
    "if the controller does not need its variables, remove this entry"],
  ["POD-08", ["POD-08", injected(controllerPod({ spec: { hostNetwork: true } }))], "write false"],
  ["POD-09: in one argument",
    ["POD-09", injected(controllerPod({ controller: { env: [], args: ["--aws-region=eu-west-1"] } }))],
    'set spec.containers[0].env[4] to {"name":"AWS_REGION","value":"eu-west-1"}'],
  ["POD-09: in two arguments", ["POD-09", injected(controllerPod({
    controller: { env: [{ name: "AWS_REGION", value: "" }], args: ["--aws-region", "eu-west-1"] },
  }))], 'write {"name":"AWS_REGION","value":"eu-west-1"}'],
  ["POD-09: in no argument", ["POD-09", injected(controllerPod({ controller: { env: [], args: [] } }))]],
  ["POD-11: a volume with its mount",
    ["POD-11", controllerPod({
      spec: { volumes: [volume, { name: "data", emptyDir: {} }] },
      controller: { volumeMounts: [mount, { name: "data", mountPath: "/data" }] },
    })],
    RENAMED, RENAMED],
  ["POD-11: only the mount", ["POD-11", controllerPod({ controller: { volumeMounts: [mount] } })],
    "remove this entry"],
  ["POD-11: a container",
    ["POD-11", controllerPod({ spec: { initContainers: [{ name: "ack-role-resolver", ...other }] } })],
    "remove spec.initContainers[0]"],
]);
