import * as fc from "fast-check";
import { test } from "tap";
import { field, formatFieldPath, isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { injectionPatch } from "../../../shared/injection/injection.ts";
import { decodePod } from "../../../shared/core/pod.ts";
import { controllersOf } from "../../../shared/injection/injection-request.ts";
import { reservedUses } from "../../../shared/injection/reserved-names.ts";
import type { InjectionSettings } from "../../../shared/core/sidecar-settings.ts";
import { POD_IDENTITY, WEB_IDENTITY, withEKSIdentity } from "../../fixtures/eks-identity.ts";
import { CONTROLLER, controllerPod } from "../../fixtures/pods.ts";
import { objectAt } from "../../webhook/reviews.ts";
import { parameters } from "../property.ts";
import { containerOf, injected, INJECTION } from "../core/injected.ts";

const SIDECAR = "ack-role-resolver";
const TOKEN = "ack-role-resolver-token";
const CONTAINER = "ack-role-resolver.io/inject-container";
const WITH_CA = { ...INJECTION, env: [{ name: "HTTPS_PROXY", value: "http://proxy:3128" }], caConfigMap: "ca" };

type Fields = Readonly<Record<string, unknown>>;

/** Returns the uses of reserved names as `FOUND PATH`. If there are any, the webhook must not change the Pod. */
function usesOf(object: JsonObject, settings: InjectionSettings = INJECTION): readonly string[] {
  const pod = decodePod(object);
  const uses = reservedUses(pod, controllersOf(pod), settings);
  if (uses.length > 0 && injectionPatch(pod, settings).length > 0) throw new Error("the webhook changes the Pod");
  return uses.map(({ found, path }) => `${found} ${formatFieldPath(path)}`);
}

/** Returns the injected Pod with other fields of the sidecar. */
function withSidecar(fields: Fields, pod: JsonObject = injected(controllerPod())): JsonObject {
  const spec = objectAt(pod, "spec");
  return { ...pod, spec: { ...spec, initContainers: [{ ...containerOf(pod, SIDECAR), ...fields }] } };
}

const API_MOUNT = {
  name: "kube-api-access-x7x2v", readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
};

/** Returns the sidecar with the defaults that the API server adds: pkg/apis/core/v1/defaults.go of Kubernetes. */
function withDefaults(pod: JsonObject): JsonObject {
  const sidecar = containerOf(pod, SIDECAR);
  const probe = (name: string): Fields => {
    const { httpGet, ...rest } = objectAt(sidecar, name);
    const defaults = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
    return { ...defaults, ...rest, httpGet: { ...objectAt(httpGet), scheme: "HTTP" } };
  };
  const mounts = [field(sidecar, "volumeMounts")].flat();
  return withSidecar({
    terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File", imagePullPolicy: "Always",
    ports: [{ name: "health", containerPort: 9781, protocol: "TCP" }], volumeMounts: [...mounts, API_MOUNT],
    startupProbe: probe("startupProbe"), readinessProbe: probe("readinessProbe"), livenessProbe: probe("livenessProbe"),
    resources: { limits: { cpu: "1" } },
  }, pod);
}

test("accepts what the injection adds, with the defaults of the API server and with the identity of EKS", async (t) => {
  for (const settings of [INJECTION, WITH_CA, { ...INJECTION, args: ["--mode=carm"] }]) {
    const pod = injected(controllerPod(), settings);
    const spec = objectAt(pod, "spec");
    const volumes = [field(spec, "volumes")].flat().filter(isJsonObject).map((one) => {
      const configMap = field(one, "configMap");
      return isJsonObject(configMap) ? { ...one, configMap: { ...configMap, defaultMode: 420 } } : one;
    });
    const stored = withDefaults({ ...pod, spec: { ...spec, volumes } });
    for (const one of [controllerPod(), pod, stored]) t.same(usesOf(one, settings), []);
    for (const identity of [WEB_IDENTITY, POD_IDENTITY]) {
      t.same(usesOf(injected(withEKSIdentity(controllerPod(), identity), settings), settings), []);
      t.same(usesOf(injected(withEKSIdentity(stored, identity), settings), settings), []);
    }
  }
});

test("finds a volume with a reserved name that is not the volume of the injection", async (t) => {
  const volumeOf = (source: Fields, name = TOKEN): readonly string[] => (
    usesOf(controllerPod({ spec: { volumes: [{ name: "data" }, { name, ...source }] } }))
  );
  for (const source of [
    { hostPath: { path: "/tmp" } }, { emptyDir: {} }, { emptyDir: { medium: "Memory" } },
    { projected: { sources: [] } },
    { configMap: { name: "ca" } }, { secret: { secretName: "token" } }, { persistentVolumeClaim: { claimName: "a" } },
    {},
    { emptyDir: { medium: "Memory", sizeLimit: "1Mi" }, hostPath: { path: "/tmp" } },
  ]) t.same(volumeOf(source), ["volume spec.volumes[1]"], JSON.stringify(source));
  t.same(volumeOf({ hostPath: { path: "/tmp" } }, "ack-role-resolver-state"), ["volume spec.volumes[1]"]);
  t.same(volumeOf({ configMap: { name: "ca" } }, "ack-role-resolver-ca"), ["volume spec.volumes[1]"], "no CA is set");
  t.same(volumeOf({ emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }), [], "the volume of the injection");
  const items = [{ key: "ca.crt", path: "ca.crt" }];
  const other = { name: "ack-role-resolver-ca", configMap: { name: "other", items } };
  t.same(usesOf(controllerPod({ spec: { volumes: [other] } }), WITH_CA), ["volume spec.volumes[0]"]);
});

const CHANGES: readonly Fields[] = [
  { image: "example.com/other:1" }, { command: ["sh"] }, { args: ["sidecar", "--group=s3.services.k8s.aws"] },
  { args: undefined }, { restartPolicy: undefined }, { workingDir: "/tmp" }, { imagePullPolicy: "Never" },
  { envFrom: [{ secretRef: { name: "a" } }] }, { securityContext: { privileged: true } },
  { securityContext: undefined },
  { env: [{ name: "NODE_OPTIONS", value: "--import=/tmp/x.mjs" }] },
  { env: [{ name: "AWS_REGION", value: "eu-west-1" }, { name: "HTTPS_PROXY", value: "http://proxy.example" }] },
  { env: [{ name: "AWS_CONTAINER_CREDENTIALS_FULL_URI", value: "http://10.0.0.1/v1/credentials" }] },
  { env: [{ name: "AWS_ROLE_ARN", value: "arn:aws:iam::111122223333:role/a" }] },
  { volumeMounts: [] }, { volumeMounts: [{ name: "aws-iam-token", mountPath: "/app" }] },
  { volumeMounts: [API_MOUNT, { ...API_MOUNT, mountPath: "/app" }] },
  { lifecycle: { postStart: { exec: { command: ["sh"] } } } }, { livenessProbe: { exec: { command: ["sh"] } } },
  { ports: [{ name: "health", containerPort: 9781, hostPort: 9781 }] },
  { volumeDevices: [{ name: "a", devicePath: "/a" }] }, { stdin: true },
  { terminationMessagePath: "/run/ack-role-resolver/token" },
];

test("finds a container with the name of the sidecar that is not the sidecar of the injection", async (t) => {
  for (const fields of CHANGES) {
    const [name = ""] = Object.keys(fields);
    t.same(usesOf(withSidecar(fields)), [`container spec.initContainers[0].${name}`], JSON.stringify(fields));
    t.same(usesOf(withSidecar(fields, withDefaults(injected(controllerPod())))).length, 1);
  }
  const written = { name: SIDECAR, image: "example.com/other:1" };
  for (const list of ["initContainers", "ephemeralContainers"]) {
    const [use = ""] = usesOf(controllerPod({ spec: { [list]: [written] } }));
    t.ok(use?.startsWith(`container spec.${list}[0].`), use);
  }
  const next = controllerPod({ spec: { containers: [CONTROLLER, { ...written, name: SIDECAR }] } });
  t.same(usesOf(next), ["container spec.containers[1].name"]);
  const sidecar = containerOf(injected(controllerPod()), SIDECAR);
  const asContainer = controllerPod({ spec: { containers: [CONTROLLER, sidecar] } });
  t.same(usesOf(asContainer), ["container spec.containers[1].name"], "the injection adds an init container");
});

test("finds a sidecar in a Pod whose controller or group is unknown", async (t) => {
  const pod = injected(controllerPod());
  const { spec } = pod;
  const group = "ack-role-resolver.io/inject-group";
  const annotated = { ...pod, metadata: { annotations: { [group]: "s4.services.k8s.aws" } } };
  const other = { ...pod, metadata: { annotations: { [CONTAINER]: "missing" } } };
  t.same(usesOf(annotated), ["container spec.initContainers[0].name"]);
  t.same(usesOf(other), [
    "container spec.initContainers[0].name", "mount spec.containers[0].volumeMounts[0]",
  ]);
  const iam = { annotations: { [group]: "iam.services.k8s.aws" } };
  t.same(usesOf({ ...pod, metadata: iam, spec }), ["container spec.initContainers[0].args"]);
});

test("finds mounts of reserved volumes, except those of the injection", async (t) => {
  const metadata = { labels: { "ack-role-resolver.io/inject": "true" }, annotations: { [CONTAINER]: "controller" } };
  const mount = { name: TOKEN, mountPath: "/run/ack-role-resolver", readOnly: true };
  const other = { name: "other", volumeMounts: [{ name: "data" }, mount] };
  const beside = controllerPod({ metadata, spec: { containers: [CONTROLLER, other] } });
  t.same(usesOf(beside), ["mount spec.containers[1].volumeMounts[1]"]);
  const init = controllerPod({ metadata, spec: { initContainers: [other] } });
  t.same(usesOf(init), ["mount spec.initContainers[0].volumeMounts[1]"]);
  t.same(usesOf(controllerPod({ spec: { ephemeralContainers: [other] } })), [
    "mount spec.ephemeralContainers[0].volumeMounts[1]",
  ]);
  const own = (fields: Fields): readonly string[] => (
    usesOf(controllerPod({ controller: { volumeMounts: [{ ...mount, ...fields }] } }))
  );
  t.same(own({}), []);
  for (const fields of [
    { readOnly: undefined }, { readOnly: false }, { mountPath: "/tmp" }, { subPath: "a" },
    { mountPropagation: "Bidirectional" }, { name: "ack-role-resolver-state" }, { name: "ack-role-resolver-ca" },
  ]) t.same(own(fields), ["mount spec.containers[0].volumeMounts[0]"], JSON.stringify(fields));
});

test("accepts any image and arguments of the sidecar if the flags of the webhook are unknown", async (t) => {
  const unknown = { ...INJECTION, image: null };
  t.same(usesOf(withSidecar({ image: "a", args: ["sidecar"] }), unknown), []);
  t.same(usesOf(withSidecar({ command: ["sh"] }), unknown), ["container spec.initContainers[0].command"]);
});

test("finds each change of the injected sidecar", async (t) => {
  const pod = withDefaults(injected(controllerPod()));
  const sidecar = containerOf(pod, SIDECAR);
  const without = new Set(["name", "resources", "env", "volumeMounts"]);
  const names = [...Object.keys(sidecar), "command", "tty"].filter((name) => !without.has(name));
  fc.assert(fc.property(fc.constantFrom(...names), fc.jsonValue(), (name, value) => (
    JSON.stringify(value) === JSON.stringify(field(sidecar, name))
      || usesOf(withSidecar({ [name]: value }, pod)).length === 1
  )), parameters(t, 300));
});
