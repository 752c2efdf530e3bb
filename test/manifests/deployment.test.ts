import type { V1PodSpec } from "@kubernetes/client-node";
import { test } from "tap";
import { certificatesDeployment } from "../../manifests/certificates-deployment.ts";
import {
  DEFAULT_IMAGE, type DeploymentOptions, POD_SELECTOR, PORTS, webhookDeployment,
} from "../../manifests/deployment.ts";
import { certificatesNetworkPolicy, networkPolicy, webhookService } from "../../manifests/service.ts";
import { SETTINGS } from "../../shared/contract/settings.ts";
import { DRAIN_MS } from "../../webhook/main.ts";

const OPTIONS: DeploymentOptions = {
  namespace: "platform", ackSystemNamespace: "ack-system", runtime: "ack", extraGroups: [],
  image: DEFAULT_IMAGE,
};
/** The time limit of the close after the drain, in s: the default of `stopOnSignals`. */
const CLOSE_SECONDS = 10;

function podSpec(options: Partial<DeploymentOptions> = {}): V1PodSpec {
  const { spec } = webhookDeployment({ ...OPTIONS, ...options });
  return spec?.template.spec ?? { containers: [] };
}

test("a new replica is ready before an old replica stops, and an old replica has time to drain", (t) => {
  const { spec } = webhookDeployment(OPTIONS);
  t.match(spec, { replicas: 2, strategy: { rollingUpdate: { maxUnavailable: 0 } } });
  const { containers: [container], terminationGracePeriodSeconds = 0 } = podSpec();
  const preStop = container?.lifecycle?.preStop?.sleep?.seconds ?? 0;
  t.ok(preStop > 0);
  t.ok(terminationGracePeriodSeconds > preStop + DRAIN_MS / 1000 + CLOSE_SECONDS);
  t.end();
});

test("the Pods meet the restricted Pod security standard and have a read-only root filesystem", (t) => {
  const pod = podSpec();
  t.match(pod, { enableServiceLinks: false, securityContext: { runAsNonRoot: true, seccompProfile: {
    type: "RuntimeDefault",
  } } });
  t.same(pod.containers.map(({ securityContext }) => securityContext), [
    { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
  ]);
  t.end();
});

test("the limit of the heap leaves memory for bodies in flight", (t) => {
  const text = JSON.stringify(podSpec());
  const [, heap] = /"value":"--max-old-space-size=(\d+)"/.exec(text) ?? [];
  const [, limit] = /"limits":\{"memory":"(\d+)Mi"\}/.exec(text) ?? [];
  t.ok(Number(heap) + 64 + 64 <= Number(limit), `${heap} MiB of ${limit} MiB`);
  t.end();
});

test("the ports are the default ports of the webhook, and the Service and the NetworkPolicy name them", (t) => {
  const { listen, healthListen } = SETTINGS;
  t.match(listen.defaults, { webhook: `0.0.0.0:${PORTS.webhook}` });
  t.match(healthListen.defaults, { webhook: `0.0.0.0:${PORTS.health}` });
  const { spec } = webhookService("platform");
  t.same(spec, { selector: POD_SELECTOR, ports: [{ name: "webhook", port: 443, targetPort: "webhook" }] });
  const [ingress] = networkPolicy("platform").spec?.ingress ?? [];
  t.same(ingress?.ports?.map(({ port }) => port), Object.keys(PORTS));
  const labels = webhookDeployment(OPTIONS).spec?.template.metadata?.labels;
  t.match(labels, POD_SELECTOR);
  t.end();
});

test("the webhook mounts only the files of its certificate, and starts when the Secret contains both", (t) => {
  const { containers: [container], volumes } = podSpec();
  const items = ["tls.crt", "tls.key"].map((key) => ({ key, path: key }));
  const secret = { secretName: "ack-role-resolver-webhook-tls", defaultMode: 0o440, items };
  t.same(volumes, [{ name: "tls", secret }]);
  t.match(container?.volumeMounts, [{ name: "tls", readOnly: true }]);
  t.ok(container?.args?.includes(`--tls-dir=${container.volumeMounts?.[0]?.mountPath}`));
  t.end();
});

type Labels = Readonly<Record<string, string>>;

const isSelected = (labels: Labels = {}, selector: Labels = {}): boolean => (
  Object.entries(selector).every(([key, value]) => labels[key] === value)
);

test("the certificates have a restricted Pod of their own, which runs with its own account", (t) => {
  const { spec } = certificatesDeployment({ namespace: "platform", image: "resolver:1" });
  const pod = spec?.template.spec;
  t.match(pod, { serviceAccountName: "ack-role-resolver-certificates", securityContext: { runAsNonRoot: true } });
  t.match(pod?.containers, [{
    args: ["certs", "manage", "--namespace=platform"],
    securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
  }]);
  t.match(SETTINGS.healthListen.defaults, { "certs manage": `0.0.0.0:${PORTS.health}` });
  t.end();
});

test("no Service selects the Pod of the certificates, and its NetworkPolicy allows only probes and scrapes", (t) => {
  const { spec } = certificatesDeployment({ namespace: "platform", image: "resolver:1" });
  const labels = spec?.template.metadata?.labels;
  t.ok(isSelected(labels, spec?.selector.matchLabels));
  t.notOk(isSelected(labels, webhookService("platform").spec?.selector));
  const policy = certificatesNetworkPolicy("platform").spec;
  t.ok(isSelected(labels, policy?.podSelector?.matchLabels));
  t.notOk(isSelected(labels, networkPolicy("platform").spec?.podSelector?.matchLabels));
  t.same(policy?.ingress, [{ ports: [{ protocol: "TCP", port: "health" }] }]);
  t.end();
});
