import type { V1PodSpec } from "@kubernetes/client-node";
import { test } from "tap";
import {
  DEFAULT_IMAGE, type DeploymentOptions, POD_SELECTOR, PORTS, webhookDeployment,
} from "../../manifests/deployment.ts";
import { networkPolicy, webhookService } from "../../manifests/service.ts";
import { SETTINGS } from "../../shared/decisions/settings.ts";
import { DRAIN_MS } from "../../webhook/main.ts";

const OPTIONS: DeploymentOptions = {
  namespace: "platform", ackSystemNamespace: "ack-system", runtime: "ack", extraGroups: [],
  certificates: "self-signed", image: DEFAULT_IMAGE,
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

test("the flags of the certificate match the mounted files", (t) => {
  const flagOf = (options: Partial<DeploymentOptions>): string | undefined => (
    podSpec(options).containers[0]?.args?.find((flag) => flag.startsWith("--tls"))
  );
  t.equal(flagOf({}), "--tls-secret=platform/ack-role-resolver-webhook-tls");
  t.equal(podSpec().volumes, undefined);
  for (const certificates of ["cert-manager", "files"] as const) {
    const { containers: [container], volumes } = podSpec({ certificates });
    t.match(volumes, [{ name: "tls", secret: { secretName: "ack-role-resolver-webhook-tls" } }]);
    t.match(container?.volumeMounts, [{ name: "tls", readOnly: true }]);
    t.equal(flagOf({ certificates }), `--tls-dir=${container?.volumeMounts?.[0]?.mountPath}`);
  }
  t.end();
});
