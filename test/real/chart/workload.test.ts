import type { V1Deployment, V1NetworkPolicy, V1ObjectMeta, V1Service } from "@kubernetes/client-node";
import { SETTINGS } from "../../../shared/core/settings.ts";
import { stringAt } from "../../../shared/formats/json.ts";
import { DRAIN_MS } from "../../../webhook/main.ts";
import { type Helm, objectsIn, template, withHelm } from "./helm.ts";

/** The time limit of the close after the drain, in s: the default of `stopOnSignals`. */
const CLOSE_SECONDS = 10;

type Labels = Readonly<Record<string, string>>;

const isSelected = (labels: Labels = {}, selector: Labels = {}): boolean => (
  Object.entries(selector).every(([key, value]) => labels[key] === value)
);

const COMPONENTS = ["webhook", "certificates"] as const;

function isDeployment(one: object): one is V1Deployment {
  return stringAt(one, "kind") === "Deployment";
}

function isService(one: object): one is V1Service {
  return stringAt(one, "kind") === "Service";
}

function isNetworkPolicy(one: object): one is V1NetworkPolicy {
  return stringAt(one, "kind") === "NetworkPolicy";
}

function named<T extends { metadata?: V1ObjectMeta }>(
  objects: readonly T[], component: (typeof COMPONENTS)[number],
): T | undefined {
  return objects.find(({ metadata }) => metadata?.name === `ack-role-resolver-${component}`);
}

/** The workloads of a release with the default values. */
interface Workloads {
  readonly webhook: V1Deployment["spec"];
  readonly certificates: V1Deployment["spec"];
  readonly service: V1Service["spec"];
  readonly policies: readonly V1NetworkPolicy["spec"][];
}

async function workloadsOf(helm: Helm): Promise<Workloads> {
  const objects: readonly object[] = objectsIn((await template(helm)).stdout);
  const [deployments, policies] = [objects.filter(isDeployment), objects.filter(isNetworkPolicy)];
  return {
    webhook: named(deployments, "webhook")?.spec, certificates: named(deployments, "certificates")?.spec,
    service: named(objects.filter(isService), "webhook")?.spec,
    policies: COMPONENTS.map((component) => named(policies, component)?.spec),
  };
}

withHelm("a new replica is ready before an old replica stops, which has time to drain", async (t, helm) => {
  const { webhook } = await workloadsOf(helm);
  t.match(webhook, { replicas: 2, strategy: { rollingUpdate: { maxUnavailable: 0 } } });
  const { containers: [container] = [], terminationGracePeriodSeconds = 0 } = webhook?.template.spec ?? {};
  const preStop = container?.lifecycle?.preStop?.sleep?.seconds ?? 0;
  t.ok(preStop > 0);
  t.ok(terminationGracePeriodSeconds > preStop + DRAIN_MS / 1000 + CLOSE_SECONDS);
});

withHelm("the Pods meet the restricted standard and have a read-only root filesystem", async (t, helm) => {
  const { webhook, certificates } = await workloadsOf(helm);
  for (const pod of [webhook?.template.spec, certificates?.template.spec]) {
    const security = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
    t.match(pod, { enableServiceLinks: false, securityContext: security });
    t.same(pod?.containers.map(({ securityContext }) => securityContext), [
      { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    ]);
  }
});

withHelm("the limit of the heap leaves memory for bodies in flight", async (t, helm) => {
  const text = JSON.stringify((await workloadsOf(helm)).webhook);
  const [, heap] = /"value":"--max-old-space-size=(\d+) --max-semi-space-size=4"/.exec(text) ?? [];
  const [, limit] = /"limits":\{"memory":"(\d+)Mi"\}/.exec(text) ?? [];
  t.ok(Number(heap) + 64 + 64 <= Number(limit), `${heap} MiB of ${limit} MiB`);
});

withHelm("the ports are the defaults of the flags", async (t, helm) => {
  const { webhook } = await workloadsOf(helm);
  const [container] = webhook?.template.spec?.containers ?? [];
  const { listen, healthListen } = SETTINGS;
  t.same(container?.ports?.map(({ name, containerPort }) => `${name}=0.0.0.0:${containerPort}`), [
    `webhook=${listen.defaults.webhook}`, `health=${healthListen.defaults.webhook}`,
  ]);
  t.equal(healthListen.defaults["certs manage"], healthListen.defaults.webhook);
});

withHelm("the Service and each NetworkPolicy select only their Pods, and name their ports", async (t, helm) => {
  const { webhook, certificates, service, policies } = await workloadsOf(helm);
  const labels = [webhook, certificates].map((one) => one?.template.metadata?.labels);
  t.same(labels.map((one) => isSelected(one, service?.selector)), [true, false]);
  t.same(service?.ports, [{ name: "webhook", port: 443, targetPort: "webhook" }]);
  for (const [i, ports] of [["webhook", "health"], ["health"]].entries()) {
    const selector = policies[i]?.podSelector?.matchLabels;
    t.same(labels.map((one) => isSelected(one, selector)), [i === 0, i === 1]);
    t.same(policies[i]?.ingress, [{ ports: ports.map((port) => ({ protocol: "TCP", port })) }]);
  }
});

withHelm("the webhook mounts only the files of its certificate, and starts when both exist", async (t, helm) => {
  const { containers: [container] = [], volumes } = (await workloadsOf(helm)).webhook?.template.spec ?? {};
  const items = ["tls.crt", "tls.key"].map((key) => ({ key, path: key }));
  const secret = { secretName: "ack-role-resolver-webhook-tls", defaultMode: 0o440, items };
  t.same(volumes, [{ name: "tls", secret }]);
  t.match(container?.volumeMounts, [{ name: "tls", readOnly: true }]);
  t.ok(container?.args?.includes(`--tls-dir=${container.volumeMounts?.[0]?.mountPath}`));
});

withHelm("the certificates have a Pod with its own account", async (t, helm) => {
  t.match((await workloadsOf(helm)).certificates?.template.spec, {
    serviceAccountName: "ack-role-resolver-certificates",
    containers: [{ args: ["certs", "manage", "--namespace=ack-role-resolver"] }],
  });
});
