// What the values do with which a platform team fits the workloads into its cluster.
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { parse } from "yaml";
import manifest from "../../../package.json" with { type: "json" };
import { renderDashboard } from "../../../manifests/observability/dashboard.ts";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { CHART, type Helm, objectsIn, template, withHelm } from "./helm.ts";

/** Returns the objects of a release with the values. */
async function render(t: Test, helm: Helm, ...values: readonly string[]): Promise<readonly JsonObject[]> {
  const { stdout, stderr } = await template(helm, values);
  t.equal(stderr, "");
  return objectsIn(stdout);
}

function titleOf(one: object): string {
  return `${stringAt(one, "kind")} ${stringAt(one, "metadata", "name")}`;
}

/** Returns the object of this kind and name, such as `Service ack-role-resolver-webhook`. */
function find(objects: readonly JsonObject[], title: string): JsonObject {
  const found = objects.find((one) => titleOf(one) === title);
  if (found === undefined) throw new Error(`no ${title} in ${objects.map(titleOf).join(", ")}`);
  return found;
}

const WEBHOOK = "Deployment ack-role-resolver-webhook";
const CERTIFICATES = "Deployment ack-role-resolver-certificates";

withHelm("hostNetwork moves only the webhook to the network of its node, on free ports", async (t, helm) => {
  const ports = ["ports.webhook=19443", "ports.health=19444"];
  const objects = await render(t, helm, "hostNetwork=true", ...ports);
  const args = ["--listen=0.0.0.0:19443", "--health-listen=0.0.0.0:19444"];
  const spec = find(objects, WEBHOOK)["spec"];
  t.match(spec, {
    // A replica cannot start on the node of the one that it replaces.
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    template: {
      spec: {
        hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet",
        containers: [{
          ports: [{ name: "webhook", containerPort: 19_443 }, { name: "health", containerPort: 19_444 }],
        }],
      },
    },
  });
  t.match(JSON.stringify(spec), `"${args.join('","')}"`);
  const pod = field(field(find(objects, CERTIFICATES)["spec"], "template"), "spec");
  t.same([field(pod, "hostNetwork"), field(pod, "dnsPolicy")], [undefined, undefined]);
  const policies = objects.map(titleOf).filter((title) => title.startsWith("NetworkPolicy "));
  t.same(policies, ["NetworkPolicy ack-role-resolver-certificates"], "none has an effect on the node's network");
  t.match(find(objects, "Namespace ack-role-resolver"), {
    metadata: { labels: { "pod-security.kubernetes.io/enforce": "privileged" } },
  });
  const called = [{ port: 443, targetPort: "webhook" }];
  t.match(find(objects, "Service ack-role-resolver-webhook"), { spec: { ports: called } });
});

withHelm("dualStack makes each Pod listen on IPv6 too, so that a cluster without IPv4 can call it", async (t, helm) => {
  const objects = await render(t, helm, "dualStack=true", "ports.health=19444");
  const args = (title: string): string => JSON.stringify(find(objects, title)["spec"]);
  t.match(args(WEBHOOK), '"--listen=[::]:9443","--health-listen=[::]:19444"');
  t.match(args(CERTIFICATES), '"--health-listen=[::]:9444"');
  t.notMatch((await template(helm)).stdout, "listen=", "by default, the programs choose the addresses");
});

withHelm("dnsPolicy sets that of each Pod", async (t, helm) => {
  const objects = await render(t, helm, "dnsPolicy=Default", "hostNetwork=true");
  for (const title of [WEBHOOK, CERTIFICATES]) {
    t.match(find(objects, title), { spec: { template: { spec: { dnsPolicy: "Default" } } } });
  }
});

/** Yields each map of labels that Kubernetes uses to find Pods. */
function* selectorsIn(objects: readonly JsonObject[]): Iterable<unknown> {
  for (const { spec } of objects) {
    const { selector, podSelector } = { selector: field(spec, "selector"), podSelector: field(spec, "podSelector") };
    for (const one of [selector, podSelector]) if (one !== undefined) yield field(one, "matchLabels") ?? one;
  }
}

withHelm("each object has the recommended and the common labels, and no selector has them", async (t, helm) => {
  const common = [String.raw`commonLabels.example\.com/team=platform`, "commonLabels.tier=silver"];
  const values = [...common, "podLabels.tier=gold"];
  const objects = await render(t, helm, ...values, "serviceAccountIdentityCRD=true", "identityRoles=true");
  const { version } = manifest;
  for (const one of objects) {
    t.match(one, {
      metadata: {
        labels: {
          "app.kubernetes.io/name": "ack-role-resolver", "app.kubernetes.io/component": /^(webhook|certificates|crds)$/,
          "app.kubernetes.io/instance": "ack-role-resolver", "app.kubernetes.io/managed-by": "Helm",
          "app.kubernetes.io/version": version, "helm.sh/chart": `ack-role-resolver-${version}`,
          "example.com/team": "platform", tier: "silver",
        },
      },
    }, titleOf(one));
  }
  for (const title of [WEBHOOK, CERTIFICATES]) {
    const labels = { "example.com/team": "platform", tier: "gold", "app.kubernetes.io/name": "ack-role-resolver" };
    t.match(find(objects, title), { spec: { template: { metadata: { labels } } } }, "podLabels replace common ones");
  }
  const selectors = [...selectorsIn(objects)];
  t.same(selectors, [...selectorsIn(await render(t, helm))], "Kubernetes changes no selector");
  t.equal(selectors.length, 6);
});

withHelm("fullnameOverride renames the workloads and all that refers to them, and nothing else", async (t, helm) => {
  const monitors = ["monitoring.podMonitor.enabled=true", "monitoring.dashboard.enabled=true"];
  const before = await render(t, helm, ...monitors);
  const objects = await render(t, helm, ...monitors, "fullnameOverride=gate");
  const renamed = before.map(titleOf).filter((title) => !objects.map(titleOf).includes(title));
  t.same(renamed.toSorted(), [
    "ConfigMap ack-role-resolver-dashboard", CERTIFICATES, WEBHOOK, "NetworkPolicy ack-role-resolver-certificates",
    "NetworkPolicy ack-role-resolver-webhook", "PodDisruptionBudget ack-role-resolver-webhook",
    "PodMonitor ack-role-resolver", "Service ack-role-resolver-webhook", "ServiceAccount ack-role-resolver-webhook",
  ]);
  const names = renamed.map((title) => title.replace("ack-role-resolver", "gate"));
  t.same(objects.map(titleOf).filter((title) => names.includes(title)).toSorted(), names.toSorted());

  const url = "--url=https://gate-webhook.ack-role-resolver.svc";
  for (const title of ["Deployment gate-webhook", "Deployment gate-certificates"]) {
    t.match(JSON.stringify(find(objects, title)), `"${url}"`, "the certificate is valid for the new name");
  }
  const text = JSON.stringify(objects);
  t.notMatch(text, '"service":{"name":"ack-role-resolver-webhook"', "no webhook calls the old Service");
  t.notMatch(text, "system:serviceaccount:ack-role-resolver:ack-role-resolver-webhook");
  const subjects = objects.flatMap((one) => field(one, "subjects") ?? []).map((one) => stringAt(one, "name"));
  t.notOk(subjects.includes("ack-role-resolver-webhook"));
  t.ok(subjects.filter((name) => name === "gate-webhook").length > 4);
  t.match(find(objects, "Deployment gate-webhook"), {
    spec: { template: { spec: { serviceAccountName: "gate-webhook" } } },
  });
});

withHelm("the certificate is for the renamed Service, unless settings.url has another name", async (t, helm) => {
  const objects = await render(t, helm, "fullnameOverride=gate", "certificates.mode=cert-manager");
  const host = "gate-webhook.ack-role-resolver.svc";
  t.match(find(objects, "Certificate ack-role-resolver-webhook-tls"), {
    spec: { dnsNames: [host, `${host}.cluster.local`] },
  });
  const url = "https://webhook.example.com";
  const withURL = await render(t, helm, "fullnameOverride=gate", `settings.url=${url}`);
  const args = JSON.stringify(find(withURL, "Deployment gate-webhook"));
  t.same([...args.matchAll(/"--url=[^"]*"/g)].map(([flag]) => flag), [`"--url=${url}"`]);
});

withHelm("nameOverride also renames the label with which the workloads are selected", async (t, helm) => {
  const objects = await render(t, helm, "nameOverride=gate", "fullnameOverride=door");
  const labels = { "app.kubernetes.io/name": "gate" };
  t.match(find(objects, "Deployment door-webhook"), {
    metadata: { labels }, spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } },
  });
  t.match(find(objects, "Service door-webhook"), { spec: { selector: labels } });
  t.match(find(objects, "NetworkPolicy door-certificates"), { spec: { podSelector: { matchLabels: labels } } });
  const fixed = find(objects, "ValidatingWebhookConfiguration ack-role-resolver");
  t.match(fixed, { metadata: { labels: { "app.kubernetes.io/name": "ack-role-resolver" } } }, "the runbook finds it");
  t.ok((await render(t, helm, "nameOverride=gate")).map(titleOf).includes("Deployment gate-webhook"));
});

withHelm("serviceAccount.name binds the rights to an account that can exist already", async (t, helm) => {
  for (const create of [true, false]) {
    const objects = await render(t, helm, "serviceAccount.name=gate", `serviceAccount.create=${create}`);
    const accounts = objects.map(titleOf).filter((title) => title.startsWith("ServiceAccount "));
    const own = create ? ["ServiceAccount gate"] : [];
    t.same(accounts.toSorted(), ["ServiceAccount ack-role-resolver-certificates", ...own]);
    t.match(find(objects, WEBHOOK), { spec: { template: { spec: { serviceAccountName: "gate" } } } });
    t.match(find(objects, "ClusterRoleBinding ack-role-resolver-webhook"), { subjects: [{ name: "gate" }] });
    t.match(
      JSON.stringify(find(objects, "ValidatingAdmissionPolicy service-account.ack-role-resolver.io")),
      String.raw`== \"system:serviceaccount:ack-role-resolver:gate\"`,
    );
  }
});

withHelm("annotates the Deployments and the Service", async (t, helm) => {
  const objects = await render(t, helm, "deploymentAnnotations.a=b", "serviceAnnotations.c=d");
  t.same([WEBHOOK, CERTIFICATES, "Service ack-role-resolver-webhook"].map((title) => (
    field(field(find(objects, title), "metadata"), "annotations")
  )), [{ a: "b" }, { a: "b" }, { c: "d" }]);
});

withHelm("updateStrategy and podDisruptionBudget replace the defaults", async (t, helm) => {
  const strategy = ["updateStrategy.type=RollingUpdate", "updateStrategy.rollingUpdate.maxSurge=50%"];
  const objects = await render(t, helm, ...strategy, "podDisruptionBudget.minAvailable=1");
  t.same(field(find(objects, WEBHOOK)["spec"], "strategy"), {
    type: "RollingUpdate", rollingUpdate: { maxSurge: "50%" },
  });
  const budgetOf = (all: readonly JsonObject[]): unknown[] => {
    const spec = find(all, "PodDisruptionBudget ack-role-resolver-webhook")["spec"];
    return ["minAvailable", "maxUnavailable"].map((name) => field(spec, name));
  };
  t.same(budgetOf(objects), [1, undefined]);
  t.same(budgetOf(await render(t, helm)), [undefined, 1]);
  t.same(budgetOf(await render(t, helm, "podDisruptionBudget.maxUnavailable=50%")), [undefined, "50%"]);
});

withHelm("image.registry comes before the repository of each image", async (t, helm) => {
  const objects = await render(t, helm, "image.registry=registry.example:5000", "injection.enabled=true");
  const image = `registry.example:5000/ack-role-resolver:${manifest.version}`;
  for (const title of [WEBHOOK, CERTIFICATES]) {
    t.match(find(objects, title), { spec: { template: { spec: { containers: [{ image }] } } } });
  }
  t.match(JSON.stringify(find(objects, WEBHOOK)), `"--sidecar-image=${image}"`);
});

withHelm("timeoutSeconds is that of each webhook", async (t, helm) => {
  const objects = await render(t, helm, "webhookConfigurations.timeoutSeconds=10", "injection.enabled=true");
  const text = JSON.stringify(objects);
  const timeouts = [...text.matchAll(/"timeoutSeconds":(\d+),"matchPolicy"/g)].map(([, seconds]) => seconds);
  t.same([timeouts.length, new Set(timeouts)], [18, new Set(["10"])]);
});

withHelm("excludedNamespaces excludes from the webhook, and not from the policies", async (t, helm) => {
  const excluded = "webhookConfigurations.excludedNamespaces={legacy,1e3}";
  const objects = await render(t, helm, excluded, "injection.enabled=true");
  const withNames = objects.filter((one) => JSON.stringify(one).includes('"legacy","1e3"]'));
  t.same(withNames.map(({ kind }) => kind), ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]);
  const names = withNames.flatMap((one) => Object.values(field(one, "webhooks") ?? {}))
    .filter((one) => JSON.stringify(one).includes('"legacy"')).map((one) => stringAt(one, "name")?.split(".")[0]);
  t.same(names, ["resources", "pods", "namespace", "resources", "pods", "namespace"]);
});

const MONITORING = "monitoring.coreos.com/v1";

withHelm("each monitor is an object that selects its Pods or Services by their port of metrics", async (t, helm) => {
  const of = (name: string, ...more: readonly string[]): readonly string[] => [
    `monitoring.${name}.enabled=true`, ...more.map((one) => `monitoring.${name}.${one}`),
  ];
  const objects = await render(
    t, helm, ...of("serviceMonitor", "interval=30s", "labels.release=kube"), ...of("sidecarPodMonitor", "interval=1m"),
  );
  const selector = {
    matchLabels: { "app.kubernetes.io/name": "ack-role-resolver", "app.kubernetes.io/instance": "ack-role-resolver" },
    matchExpressions: [{ key: "app.kubernetes.io/component", operator: "In", values: ["webhook", "certificates"] }],
  };
  t.match(find(objects, "ServiceMonitor ack-role-resolver"), {
    apiVersion: MONITORING, metadata: { labels: { release: "kube" } },
    spec: { selector, endpoints: [{ port: "health", interval: "30s" }] },
  });
  for (const component of ["webhook", "certificates"]) {
    const { metadata, spec } = find(objects, `Service ack-role-resolver-${component}`);
    t.match(metadata, { labels: selector.matchLabels });
    t.match(JSON.stringify(spec), '{"name":"health","port":9444,"targetPort":"health"}');
  }
  t.match(find(objects, "PodMonitor ack-role-resolver-sidecars"), {
    spec: {
      namespaceSelector: { matchNames: ["ack-system"] },
      selector: { matchLabels: { "ack-role-resolver.io/inject": "true" } },
      podMetricsEndpoints: [{ port: "health", interval: "1m" }],
    },
  });
  const { spec } = find(await render(t, helm, ...of("podMonitor")), "PodMonitor ack-role-resolver");
  t.same(spec, { selector, podMetricsEndpoints: [{ port: "health" }] });
  t.notMatch((await template(helm)).stdout, MONITORING, "by default, no cluster needs the Prometheus Operator");
});

withHelm("the alerts and the dashboard are those of manifests/observability", async (t, helm) => {
  const labels = ["monitoring.dashboard.labels.grafana_dashboard=yes", "monitoring.prometheusRule.labels.a=b"];
  const annotations = "monitoring.dashboard.annotations.grafana_folder=AWS";
  const enabled = ["monitoring.dashboard.enabled=true", "monitoring.prometheusRule.enabled=true"];
  const objects = await render(t, helm, ...enabled, ...labels, annotations);
  const rules = await readFile(path.join(CHART, "../observability/rules.yaml"), "utf8");
  const rule = find(objects, "PrometheusRule ack-role-resolver");
  t.match(rule, { apiVersion: MONITORING, metadata: { labels: { a: "b" } } });
  t.same(rule["spec"], parse(rules.replaceAll(/\n *runbook: .*/g, "")), "without links that lead nowhere");
  const link = "monitoring.prometheusRule.runbookURL=https://wiki.example.com/runbook";
  const linked = find(await render(t, helm, ...enabled, link), "PrometheusRule ack-role-resolver");
  const url = "runbook_url: https://wiki.example.com/runbook#";
  t.same(linked["spec"], parse(rules.replaceAll("runbook: docs/runbook.md#", url)));
  const dashboard = find(objects, "ConfigMap ack-role-resolver-dashboard");
  t.match(dashboard, { metadata: { labels: { grafana_dashboard: "yes" }, annotations: { grafana_folder: "AWS" } } });
  const json = stringAt(dashboard, "data", "ack-role-resolver.json") ?? "";
  t.same(JSON.parse(json), JSON.parse(renderDashboard()));
});
