import { type Test, test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { injectionPatch } from "../../../shared/injection/injection.ts";
import { decodePod } from "../../../shared/core/pod.ts";
import { objectAt } from "../../webhook/reviews.ts";
import { type Identity, POD_IDENTITY, WEB_IDENTITY, withEKSIdentity } from "../../fixtures/eks-identity.ts";
import { CONTROLLER, controllerPod } from "../../fixtures/pods.ts";
import { containerOf, injected, INJECTION, mountsOf, sorted, variablesOf } from "../core/injected.ts";

const SIDECAR = "ack-role-resolver";
const CLIENT = {
  AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:9780/v1/credentials",
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: "/run/ack-role-resolver/token",
  AWS_ENDPOINT_URL_STS: "http://127.0.0.1:9780/sts",
  AWS_EC2_METADATA_DISABLED: "true",
};

const LABEL = "ack-role-resolver.io/inject";
const CONTAINER = "ack-role-resolver.io/inject-container";

test("adds a native sidecar, its volumes and the variables of the controller", async (t) => {
  const pod = injected(controllerPod());
  t.match(containerOf(pod, SIDECAR), {
    image: INJECTION.image,
    restartPolicy: "Always",
    args: [
      "sidecar", "--cluster", "--group=s3.services.k8s.aws", "--region=$(AWS_REGION)",
      "--token-file=/run/ack-role-resolver/token", "--state-dir=/run/ack-role-resolver-state",
    ],
    env: [{ name: "AWS_REGION", value: "eu-west-1" }],
    startupProbe: { httpGet: { path: "/startupz", port: "health" } },
    readinessProbe: { httpGet: { path: "/readyz" } },
    livenessProbe: { httpGet: { path: "/healthz" } },
    securityContext: { runAsNonRoot: true, readOnlyRootFilesystem: true, seccompProfile: { type: "RuntimeDefault" } },
  });
  t.match(variablesOf(pod, "controller"), { ...CLIENT, AWS_REGION: "eu-west-1", ACK_LOG_LEVEL: "info" });
  t.same(field(containerOf(pod, "controller"), "volumeMounts"), [
    { name: "ack-role-resolver-token", mountPath: "/run/ack-role-resolver", readOnly: true },
  ]);
  t.same(field(field(pod, "spec"), "volumes"), [
    { name: "ack-role-resolver-token", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    { name: "ack-role-resolver-state", emptyDir: { medium: "Memory", sizeLimit: "16Mi" } },
  ]);
  t.equal(skipped(pod), "controller");
  t.same(field(field(pod, "metadata"), "labels"), { [LABEL]: "true" });
});

function skipped(pod: JsonObject): string | null {
  return stringAt(pod, "metadata", "annotations", "eks.amazonaws.com/skip-containers");
}

const REGIONS = [
  ["in the controller", [{ name: "AWS_REGION", value: "us-east-2" }]],
  ["only of the identity webhook", []],
] as const;
const REST = { spec: { volumes: [{ name: "data", emptyDir: {} }] } };

for (const [kind, identity] of [["a web identity", WEB_IDENTITY], ["EKS Pod Identity", POD_IDENTITY]] as const) {
  for (const [where, env] of REGIONS) {
    test(`gives ${kind} only to the sidecar, in both orders of the webhooks, with a region ${where}`, async (t) => {
      const pod = controllerPod({ controller: { env }, ...REST });
      const before = injected(withEKSIdentity(pod, identity));
      // The API server calls the sidecar webhook again, because the identity webhook changed the Pod.
      const after = injected(withEKSIdentity(injected(pod), identity));
      t.same(sorted(before), sorted(after));
      for (const one of [before, after]) {
        t.same(injectionPatch(decodePod(one), INJECTION), [], "the webhook has nothing more to change");
        t.same(sorted(withEKSIdentity(one, identity)), sorted(one), "the identity webhook has nothing more to change");
        hasIdentityOnlyInSidecar(t, one, identity);
      }
    });
  }
}

function hasIdentityOnlyInSidecar(t: Test, pod: JsonObject, identity: Identity): void {
  const own = Object.fromEntries(identity.variables.map(({ name, value }) => [name, value]));
  t.match(variablesOf(pod, SIDECAR), own);
  t.ok(mountsOf(pod, SIDECAR).includes(identity.volume));
  t.match(variablesOf(pod, "controller"), CLIENT);
  t.notOk("AWS_ROLE_ARN" in variablesOf(pod, "controller"));
  t.notOk(mountsOf(pod, "controller").includes(identity.volume));
  t.ok("AWS_REGION" in variablesOf(pod, "controller") && "AWS_REGION" in variablesOf(pod, SIDECAR));
}

test("leaves the identity of other containers", async (t) => {
  const other = { name: "metrics", image: "metrics:1" };
  const metadata = { labels: { [LABEL]: "true" }, annotations: { [CONTAINER]: "controller" } };
  const pod = withEKSIdentity(controllerPod({ metadata, spec: { containers: [CONTROLLER, other] } }), WEB_IDENTITY);
  t.same(containerOf(injected(pod), "metrics"), containerOf(pod, "metrics"));
  t.notOk("AWS_ROLE_ARN" in variablesOf(injected(pod), "controller"));
});

test("never replaces a variable or a mount of the user, and keeps the user's volumes and containers", async (t) => {
  const own = { name: "AWS_ENDPOINT_URL_STS", value: "https://sts.example.com" };
  const mount = { name: "other", mountPath: "/run/ack-role-resolver" };
  const volume = { name: "other", emptyDir: {} };
  const pod = injected(controllerPod({
    controller: { env: [own], volumeMounts: [mount] }, spec: { volumes: [volume], initContainers: [{ name: "init" }] },
  }));
  t.equal(variablesOf(pod, "controller")["AWS_ENDPOINT_URL_STS"], own.value);
  t.same(mountsOf(pod, "controller"), ["other"]);
  t.same([field(field(pod, "spec"), "volumes")].flat().map((one) => field(one, "name")), [
    "other", "ack-role-resolver-token", "ack-role-resolver-state",
  ]);
  t.same([field(field(pod, "spec"), "initContainers")].flat().map((one) => field(one, "name")), ["init", SIDECAR]);
});

test("keeps the containers that the identity webhook skips, and names the controller once", async (t) => {
  const of = (value: string): string | null => (
    skipped(injected(controllerPod({
      metadata: { labels: { [LABEL]: "true" }, annotations: { "eks.amazonaws.com/skip-containers": value } },
    })))
  );
  t.equal(of("proxy,controller"), "proxy,controller");
  t.equal(of("proxy"), "controller,proxy");
  t.equal(of(""), "controller");
  t.equal(of("proxy\ncontroller"), "controller,proxy\ncontroller", "EKS reads only the first line");
  t.equal(of("proxy, controller"), "controller,proxy, controller", "EKS does not trim names");
});

test("moves the identity to a sidecar that a user wrote, and changes nothing else of it", async (t) => {
  const sidecar = {
    name: "resolver", image: "resolver:1", restartPolicy: "Always", args: ["sidecar", "--group=s3.services.k8s.aws"],
    env: [{ name: "AWS_ROLE_ARN", value: "arn:aws:iam::111122223333:role/own" }],
    volumeMounts: [{ name: "token", mountPath: "/token" }],
  };
  const env = [{ name: "AWS_CONTAINER_CREDENTIALS_FULL_URI", value: "http://localhost:9999/v1/credentials" }];
  const pod = controllerPod({ controller: { env }, spec: { initContainers: [sidecar] } });
  const annotated = injected(pod);
  t.same(annotated["spec"], pod["spec"]);
  t.equal(skipped(annotated), "controller");
  const moved = injected(withEKSIdentity(pod, WEB_IDENTITY));
  t.same(field(containerOf(moved, "controller"), "volumeMounts"), []);
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: file } = variablesOf(moved, "resolver");
  t.same([role, file], ["arn:aws:iam::111122223333:role/own", undefined], "two identities are not mixed");
});

test("shares only a region that has the same value in the other container", async (t) => {
  const region = (entry: object): unknown => {
    const pod = injected(controllerPod({ controller: { env: [{ name: "AWS_REGION", ...entry }] } }));
    return variablesOf(pod, SIDECAR)["AWS_REGION"];
  };
  const valueFrom = { configMapKeyRef: { name: "settings", key: "region" } };
  t.same(region({ valueFrom }), valueFrom);
  t.equal(region({ value: "$(OTHER)" }), undefined);
  t.equal(region({ value: "" }), undefined);
});

test("the patch contains only additions, and removals of the identity of EKS", async (t) => {
  const paths = (pod: JsonObject): readonly string[] => (
    injectionPatch(decodePod(pod), INJECTION).map(({ op, path }) => `${op} ${path}`)
  );
  const env = ["add /spec/containers/0/env/-", "add /spec/containers/0/env/-", "add /spec/containers/0/env/-"];
  t.same(paths(controllerPod()), [
    "add /metadata/annotations", ...env, "add /spec/containers/0/env/-", "add /spec/containers/0/volumeMounts",
    "add /spec/initContainers", "add /spec/volumes",
  ]);
  t.same(paths(withEKSIdentity(injected(controllerPod()), WEB_IDENTITY)), ["add /spec/containers/0/env/-"]);
  t.same(paths(withEKSIdentity(controllerPod(), WEB_IDENTITY)).filter((path) => path.startsWith("remove")), [
    "remove /spec/containers/0/env/7", "remove /spec/containers/0/env/6", "remove /spec/containers/0/volumeMounts/0",
  ]);
});

test("does not copy large texts, so that the patch stays small", async (t) => {
  const long = "x".repeat(20_000);
  const size = (pod: JsonObject): number => JSON.stringify(injectionPatch(decodePod(pod), INJECTION)).length;
  const annotations = { "eks.amazonaws.com/skip-containers": long };
  t.ok(size(controllerPod({ metadata: { labels: { [LABEL]: "true" }, annotations } })) < 5_000);
  t.ok(size(controllerPod({ controller: { name: long } })) < 5_000);
  t.ok(size(controllerPod({ controller: { env: [{ name: "AWS_REGION", value: long }] } })) < 5_000);
  const identity = { ...WEB_IDENTITY, variables: WEB_IDENTITY.variables.map((one) => ({ ...one, name: one.name })) };
  const [role, file] = identity.variables;
  const huge = { ...identity, variables: [{ name: role?.name ?? "", value: long }, ...(file ? [file] : [])] };
  const pod = injected(withEKSIdentity(controllerPod(), huge));
  t.equal(variablesOf(pod, "controller")["AWS_ROLE_ARN"], long, "the checks deny the Pod");
});

test("passes the flags of the webhook, and omits a region that a flag sets", async (t) => {
  const settings = { ...INJECTION, args: ["--base=identity-only", "--region=eu-central-1"] };
  t.same(field(containerOf(injected(controllerPod(), settings), SIDECAR), "args"), [
    "sidecar", "--cluster", "--group=s3.services.k8s.aws", "--token-file=/run/ack-role-resolver/token",
    "--state-dir=/run/ack-role-resolver-state", "--base=identity-only", "--region=eu-central-1",
  ]);
});

test("in a cluster with IPv6, only probes reach the sidecar from outside its Pod", async (t) => {
  const pod = injected(controllerPod(), { ...INJECTION, isDualStack: true });
  const listening = [field(containerOf(pod, SIDECAR), "args")].flat().filter((one) => String(one).includes("listen"));
  t.same(listening, ["--health-listen=[::]:9781"]);
});

test("gives the sidecar the user of the settings, and none where the cluster chooses it", async (t) => {
  const of = (runAsUser: number | null): unknown => {
    const settings = { ...INJECTION, runAsUser };
    const pod = injected(controllerPod(), settings);
    t.same(injectionPatch(decodePod(pod), settings), [], "the patch of a patched Pod is empty");
    t.same(injectionPatch(decodePod(pod), INJECTION), [], "the user of a running sidecar does not change");
    return field(containerOf(pod, SIDECAR), "securityContext");
  };
  const restricted = {
    runAsNonRoot: true, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] }, seccompProfile: { type: "RuntimeDefault" },
  };
  t.same(of(65_532), { ...restricted, runAsUser: 65_532 });
  t.same(of(1000), { ...restricted, runAsUser: 1000 });
  const free = of(null);
  t.same(free, restricted);
  t.notOk("runAsUser" in objectAt(free));
});

test("adds the variables and the CA of the settings", async (t) => {
  const settings = { ...INJECTION, env: [{ name: "HTTPS_PROXY", value: "http://proxy:3128" }], caConfigMap: "ca" };
  const pod = injected(controllerPod(), settings);
  t.same(variablesOf(pod, SIDECAR), {
    HTTPS_PROXY: "http://proxy:3128", NODE_EXTRA_CA_CERTS: "/run/ack-role-resolver-ca/ca.crt", AWS_REGION: "eu-west-1",
  });
  t.notOk("HTTPS_PROXY" in variablesOf(pod, "controller"));
  t.same(mountsOf(pod, "controller"), ["ack-role-resolver-token"]);
  const mounts = [field(containerOf(pod, SIDECAR), "volumeMounts")].flat();
  t.same(mounts.at(-1), { name: "ack-role-resolver-ca", mountPath: "/run/ack-role-resolver-ca", readOnly: true });
  t.same([field(field(pod, "spec"), "volumes")].flat().at(-1), {
    name: "ack-role-resolver-ca", configMap: { name: "ca", items: [{ key: "ca.crt", path: "ca.crt" }] },
  });
  t.same(injectionPatch(decodePod(pod), settings), [], "the patch of a patched Pod is empty");
});

test("moves only mounts of the identity webhook of EKS, not a volume over the program of the sidecar", async (t) => {
  for (const mountPath of ["/app", "/run/ack-role-resolver", "/var/run/secrets/../../app"]) {
    const volumeMounts = [{ name: "aws-iam-token", mountPath, readOnly: true }];
    const env = [
      { name: "AWS_ROLE_ARN", value: "arn" }, { name: "AWS_WEB_IDENTITY_TOKEN_FILE", value: `${mountPath}/token` },
    ];
    const pod = injected(controllerPod({ controller: { env, volumeMounts } }));
    t.notOk(mountsOf(pod, SIDECAR).includes("aws-iam-token"), mountPath);
    t.notOk("AWS_ROLE_ARN" in variablesOf(pod, SIDECAR));
    t.ok(mountsOf(pod, "controller").includes("aws-iam-token"), "the checks deny the Pod");
  }
});

test("does not change a Pod that the checks deny, or that requests no sidecar", async (t) => {
  const cases: readonly JsonObject[] = [
    controllerPod({ metadata: { labels: { [LABEL]: "false" } } }),
    controllerPod({ metadata: { labels: { [LABEL]: "yes" } } }),
    controllerPod({ metadata: { annotations: { [CONTAINER]: "missing" } } }),
    controllerPod({ spec: { containers: [CONTROLLER, { name: "other" }] } }),
    controllerPod({ controller: { image: "registry.example.com/backup-controller:1" } }),
    controllerPod({ metadata: { annotations: { "ack-role-resolver.io/inject-group": "s4.services.k8s.aws" } } }),
    controllerPod({ spec: { containers: "none" } }),
    { apiVersion: "v1", kind: "Pod" },
  ];
  for (const pod of cases) t.same(injectionPatch(decodePod(pod), INJECTION), []);
  t.same(injectionPatch(decodePod(controllerPod()), { ...INJECTION, image: null }), []);
});

test("changes a Pod without the label, which the API server sends because of its namespace", async (t) => {
  t.not(injectionPatch(decodePod(controllerPod({ metadata: { labels: {} } })), INJECTION).length, 0);
});
