import { test } from "tap";
import { field, type JsonObject } from "../../../shared/formats/json.ts";
import { POD_IDENTITY, WEB_IDENTITY, withEKSIdentity } from "../../fixtures/eks-identity.ts";
import { CONTROLLER, controllerPod } from "../../fixtures/pods.ts";
import { objectAt } from "../../webhook/reviews.ts";
import { containerOf, injected, INJECTION } from "../core/injected.ts";
import { type Fields, lines, withVariables } from "./pod-lines.ts";

const LABEL = "ack-role-resolver.io/inject";
const SIDECAR_FIX = "Set --sidecar-image of the webhook, or add the sidecar to the Pod as docs/sidecar.md describes.";

function annotated(annotations: Fields, spec: Fields = {}): JsonObject {
  return controllerPod({ metadata: { labels: { [LABEL]: "true" }, annotations }, spec });
}

test("accepts an injected Pod, in both orders of the webhooks", async (t) => {
  t.same(lines(injected(controllerPod())), []);
  for (const identity of [WEB_IDENTITY, POD_IDENTITY]) {
    t.same(lines(injected(withEKSIdentity(controllerPod(), identity))), []);
    t.same(lines(withEKSIdentity(injected(controllerPod()), identity)), []);
  }
});

test("accepts a Pod with a sidecar that a user wrote, also with several containers", async (t) => {
  const pod = renamed(injected(controllerPod()));
  const sidecar = { ...containerOf(pod, "resolver"), args: ["sidecar", "--group", "any"] };
  const metadata = { labels: { [LABEL]: "true" } };
  const written = { ...pod, metadata, spec: { ...objectAt(pod, "spec"), initContainers: [sidecar] } };
  t.same(lines(written), []);
  const containers = [containerOf(pod, "controller"), { name: "proxy", image: "proxy:1" }];
  t.same(lines({ ...written, spec: { ...written.spec, containers } }), []);
  const asContainer = { ...written.spec, containers: [...containers, sidecar], initContainers: [] };
  t.same(lines({ ...written, spec: asContainer }), [], "a sidecar next to the controller");
});

/** Returns an injected Pod as a user would write it: without the names that the webhook reserves. */
function renamed(pod: JsonObject): JsonObject {
  return objectAt(JSON.parse(JSON.stringify(pod).replaceAll(/"ack-role-resolver(-token|-state)?"/g, '"resolver$1"')));
}

test("POD-01 denies a label with an unknown value, and no other check runs", async (t) => {
  const metadata = { labels: { [LABEL]: "yes" } };
  t.same(lines(controllerPod({ metadata, spec: { hostNetwork: true, containers: [] } })), [
    `POD-01 metadata.labels[${LABEL}]: the value "yes" is not "true" or "false". `
      + 'Write "true".',
  ]);
  t.match(lines(controllerPod({ metadata: { labels: { [LABEL]: "2" } } })), [/If "false" is meant, .* "true"\.$/]);
  t.same(lines(controllerPod({ metadata: { labels: { [LABEL]: "false" } } })), []);
});

test("POD-02 denies a Pod whose controller is unknown, and lists its containers", async (t) => {
  const key = "ack-role-resolver.io/inject-container";
  const fix = `Set the annotation ${key} to the name of the controller's container.`;
  t.same(lines(annotated({ [key]: "manager" })), [
    `POD-02 metadata.annotations[${key}]: the Pod has no container "manager"; its containers are "controller". ${fix}`,
  ]);
  t.same(lines(annotated({}, { containers: [CONTROLLER, { name: "proxy" }] })), [
    'POD-02 spec.containers: the Pod has several containers ("controller", "proxy"), and no annotation names the '
      + `container of the controller. ${fix}`,
  ]);
  t.same(lines(annotated({}, { containers: [] })), [
    `POD-02 spec.containers: the Pod has no container of a controller. ${fix}`,
  ]);
  const many = Array.from({ length: 12 }, (_, i) => ({ name: `c${i}` }));
  t.match(lines(annotated({ [key]: "x".repeat(300) }, { containers: many })), [/"x{200}"….*"c9" and 2 more\. Set/]);
  const sidecar = containerOf(injected(controllerPod()), "ack-role-resolver");
  const withoutClient = { containers: [{ name: "a" }, { name: "b" }], initContainers: [sidecar] };
  t.match(lines(annotated({}, withoutClient)), [/^POD-02 spec\.containers: .* several containers \("a", "b"\)/]);
});

test("POD-03 denies a Pod whose API group is unknown", async (t) => {
  const key = "ack-role-resolver.io/inject-group";
  const path = `POD-03 metadata.annotations[${key}]`;
  t.same(lines(annotated({ [key]: "s4.services.k8s.aws" })), [
    `${path}: "s4.services.k8s.aws" is not the API group of a known ACK controller. Use s3.services.k8s.aws, or set `
      + "--extra-groups of the webhook if this release does not know the group.",
  ]);
  t.same(lines(annotated({ [key]: "" })), [
    `${path}: "" is not the API group of a known ACK controller. Use the API group of the controller, or set `
      + "--extra-groups of the webhook if this release does not know the group.",
  ]);
  const capa = "infrastructure.cluster.x-k8s.io";
  t.same(lines(annotated({ [key]: capa }), { ...INJECTION, extraGroups: [capa] }), [
    `${path}: "${capa}" is not the API group of a known ACK controller. Remove the label ${LABEL}. CAPA does not use `
      + "the sidecar; for another program, add the sidecar to the Pod yourself.",
  ]);
  const extended = { ...INJECTION, extraGroups: ["new.services.k8s.aws"] };
  t.same(lines(injected(annotated({ [key]: "new.services.k8s.aws" }), extended), extended), []);
  const image = "registry.example.com/backup-controller:1";
  t.same(lines(controllerPod({ controller: { image } })), [
    `POD-03 spec.containers[0].image: the image "${image}" is not a known image of an ACK controller. `
      + `Set the annotation ${key} to the API group of the controller, such as s3.services.k8s.aws; if the Pod needs `
      + `no sidecar, set its label ${LABEL} to "false".`,
  ]);
});

test("derives the group only from images of ACK, in any registry", async (t) => {
  const denied = (image: string): boolean => lines(injected(controllerPod({ controller: { image } }))).length > 0;
  for (const image of [
    "aws-controllers-k8s/s3-controller", "public.ecr.aws/aws-controllers-k8s/s3-controller:1.0.0",
    "1.dkr.ecr.eu-west-1.amazonaws.com/ecr-public/aws-controllers-k8s/s3-controller@sha256:abc",
  ]) t.notOk(denied(image), image);
  for (const image of [
    "s3-controller:1", "not-aws-controllers-k8s/s3-controller:1", "aws-controllers-k8s/s3-controller/proxy:1",
    "aws-controllers-k8s/unknown-controller:1", "registry/aws-controllers-k8s:5000/s3-controller:1", "",
  ]) t.ok(denied(image), image);
});

test("POD-04 denies a Pod without a sidecar, and states why it has none", async (t) => {
  t.same(lines(controllerPod(), { ...INJECTION, image: null }), [
    "POD-04 spec.initContainers: the Pod has no sidecar, and the webhook injects none because --sidecar-image is not "
      + `set. ${SIDECAR_FIX}`,
  ]);
  t.match(lines(controllerPod()), [/^POD-04 spec\.initContainers: the Pod has no sidecar: the mutating webhook was/]);
});

test("POD-04 denies a sidecar that would block the start of the controller", async (t) => {
  const pod = renamed(injected(controllerPod()));
  const initContainers = [{ ...containerOf(pod, "resolver"), restartPolicy: undefined }];
  t.same(lines({ ...pod, spec: { ...objectAt(pod, "spec"), initContainers } }), [
    'POD-04 spec.initContainers[0]: the init container "resolver" never completes, so the controller never '
      + "starts. Set restartPolicy of the init container to Always.",
  ]);
});

test("POD-05 denies a controller that does not use the sidecar", async (t) => {
  const wrong = { name: "AWS_CONTAINER_CREDENTIALS_FULL_URI", value: "http://169.254.170.2/v1" };
  t.same(lines(withVariables(wrong)), [
    'POD-05 spec.containers[0].env[1]: the value "http://169.254.170.2/v1" of AWS_CONTAINER_CREDENTIALS_FULL_URI is '
      + "not an http URL on loopback, such as those of the sidecar. Remove the variable from the container; the "
      + "webhook sets it.",
  ]);
  const valueFrom = { secretKeyRef: { name: "a", key: "b" } };
  const external = { name: "AWS_ENDPOINT_URL_STS", value: "https://sts.example.com" };
  t.match(lines(withVariables(external)), [/^POD-05 .*loopback/]);
  for (const name of ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL_STS"]) {
    t.same(lines(withVariables({ name, valueFrom })), [
      `POD-05 spec.containers[0].env[1]: the value of ${name} comes from another object, so it is unknown whether it `
        + "names the sidecar. Remove the variable from the container; the webhook sets it.",
    ]);
  }
  const pod = injected(controllerPod());
  const controller = { ...containerOf(pod, "controller"), env: [] };
  t.match(lines({ ...pod, spec: { ...objectAt(pod, "spec"), containers: [controller] } }), [
    /FULL_URI is not set/, /the file "" of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE is not in a volume/, /\(warn\)$/,
  ]);
  t.match(lines(withVariables({ name: "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", value: "/tmp/token" })), [
    /^POD-05 .*: the file "\/tmp\/token" of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE is not in a volume that the sidecar/,
  ]);
});

test("POD-05 warns about a controller that calls AWS STS itself", async (t) => {
  const pod = renamed(injected(controllerPod()));
  const controller = containerOf(pod, "controller");
  const env = [field(controller, "env")].flat().filter((one) => field(one, "name") !== "AWS_ENDPOINT_URL_STS");
  const spec = { ...objectAt(pod, "spec"), containers: [{ ...controller, env }] };
  t.same(lines({ ...pod, spec }), [
    "POD-05 spec.containers[0].env: AWS_ENDPOINT_URL_STS is not set, so the controller assumes roles at AWS and not at "
      + "the sidecar. Set AWS_ENDPOINT_URL_STS to http://127.0.0.1:9780/sts. (warn)",
  ]);
  t.match(lines({ ...pod, spec: { ...spec, containers: [{ ...controller, env: undefined }] } }), [
    /^POD-05 spec\.containers\[0\]\.env: AWS_CONTAINER_CREDENTIALS_FULL_URI is not set, so SDKs do not use the sidecar/,
    /the file "" of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE is not in a volume/, /AWS_ENDPOINT_URL_STS is not set/,
  ]);
});

test("POD-05 denies variables with which SDKs ignore the STS endpoint or use the role of the node", async (t) => {
  const cases = [
    ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false", "SDKs ignore AWS_ENDPOINT_URL_STS, and the controller assumes "
      + "roles at AWS and not at the sidecar", ["", "False"], ["true", "TRUE", "1", "$(X)"]],
    ["AWS_EC2_METADATA_DISABLED", "true", "some SDKs use the role of the node while the sidecar is not available",
      ["true", "TRUE"], ["", "false", "1"]],
  ] as const;
  for (const [name, expected, effect, accepted, denied] of cases) {
    const line = `POD-05 spec.containers[0].env[1]: ${name} is not "${expected}", so ${effect}. `
      + "Remove the variable from the container.";
    for (const value of accepted) t.same(lines(withVariables({ name, value })), [], `${name}=${value}`);
    for (const value of denied) t.same(lines(withVariables({ name, value })), [line], `${name}=${value}`);
    t.same(lines(withVariables({ name, valueFrom: { configMapKeyRef: { name: "a", key: "b" } } })), [line]);
    t.same(lines(withVariables({ name, value: "true" }, { name, value: expected })), [], "the last definition counts");
  }
});

test("POD-09 denies a sidecar without a region", async (t) => {
  const pod = injected(controllerPod({ controller: { env: [] } }));
  t.same(lines(pod), [
    "POD-09 spec.containers[0].env: the region of the sidecar is unknown: the container has no value of AWS_REGION "
      + "that can be copied. Set the variable AWS_REGION of the controller's container, or add --region=REGION to "
      + "--sidecar-args of the webhook.",
  ]);
  const empty = { env: [{ name: "AWS_REGION", value: "" }] };
  t.match(lines(injected(controllerPod({ controller: empty }))), [/^POD-09 .*env\[0\]/]);
  t.same(lines(withEKSIdentity(pod, WEB_IDENTITY)), [], "the identity webhook adds the region");
});

test("POD-10 denies a Pod that exceeds a limit, and no other check runs", async (t) => {
  const env = Array.from({ length: 7_000 }, (_, i) => ({ name: `V${i}`, value: "" }));
  t.same(lines(controllerPod({ controller: { env } })), [
    "POD-10 : the object has more than 20000 values. Remove containers, variables or volumes from the Pod.",
  ]);
});

test("POD-11 denies what uses a reserved name, and states what to rename", async (t) => {
  const volume = { name: "ack-role-resolver-token", hostPath: { path: "/tmp" } };
  const mounted = { name: "proxy", volumeMounts: [{ name: "ack-role-resolver-token", mountPath: "/token" }] };
  const container = { name: "ack-role-resolver", image: "example.com/other:1" };
  const key = "ack-role-resolver.io/inject-container";
  const pod = annotated({ [key]: "controller" }, {
    volumes: [volume], containers: [CONTROLLER, mounted], initContainers: [container],
  });
  t.same(injected(pod), pod, "the webhook does not change the Pod");
  t.match(lines(pod).filter((line) => line.startsWith("POD-11")), [
    'POD-11 spec.containers[1].volumeMounts[0]: the volume "ack-role-resolver-token" is reserved: only the mounts that '
      + "the webhook adds may use it. Remove the mount, or mount a volume with another name.",
    'POD-11 spec.initContainers[0].image: the container "ack-role-resolver" has a reserved name, and is not what the '
      + 'webhook adds: "image" differs. Rename or remove the container, and let the webhook add the sidecar.',
    'POD-11 spec.volumes[0]: the volume "ack-role-resolver-token" has a reserved name, and is not the volume that the '
      + "webhook adds. Rename the volume.",
  ]);
  t.same(lines(controllerPod({ spec: { volumes: [volume] } })).map((line) => line.slice(0, 6)), ["POD-11"]);
  const beside = controllerPod({ spec: { containers: [CONTROLLER, container] } });
  t.match(lines(beside).filter((line) => line.startsWith("POD-11")), [/is not what the webhook adds\. Rename/]);
});

test("treats fields of the wrong type as missing", async (t) => {
  const container = { name: 1, env: [null, { name: 2 }, 3], args: [4], volumeMounts: [null, { name: 5 }] };
  for (const containers of [[container], [null, container], 6, null]) {
    const pod = controllerPod({ spec: { containers, volumes: [null, { name: 7 }], initContainers: "x" } });
    t.match(lines(pod), [/^POD-0[23] /]);
    t.same(injected(pod), pod);
  }
  const annotations = { "ack-role-resolver.io/inject-group": "s3.services.k8s.aws" };
  const pod = injected(annotated(annotations, { containers: [container], volumes: [null] }));
  t.match(lines(pod), [/^POD-09 /]);
});
