import { serviceAccountIdentityCRD } from "../../../manifests/capa/parts.ts";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import manifest from "../../../package.json" with { type: "json" };
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import type { Definition } from "../../../shared/core/setting-definition.ts";
import { DEFINITIONS } from "../../../shared/core/settings.ts";
import { makePairs } from "../../certs/pairs.ts";
import { runCommand } from "../../cli/run-command.ts";
import { CHART, NAMESPACE, objectsIn, template, withHelm } from "./helm.ts";

/** The values of the chart and the flags of `manifests` that must render the same objects. */
const SAME: readonly (readonly [values: readonly string[], flags: readonly string[]])[] = [
  [[], []],
  [
    ["runtime=extended", "ackSystemNamespace=ack", "extraGroups={zzz.services.k8s.aws,s3.services.k8s.aws}"],
    ["--runtime", "extended", "--ack-system-namespace", "ack", "--extra-groups",
      "zzz.services.k8s.aws,s3.services.k8s.aws"],
  ],
  [
    ["autoControllerIdentity.enabled=true", "autoControllerIdentity.namespaces={team-a}"],
    ["--auto-controller-identity", "team-a"],
  ],
  [["identitySecretNamespace=capa-system"], ["--identity-secret-namespace", "capa-system"]],
  [["accessReviews=true", "settings.check={AC-05=deny}"], ["--check", "AC-05=deny"]],
  [["profile=observe"], ["--profile", "observe"]], [["profile=strict"], ["--profile", "strict"]],
];

withHelm("helm template and the command manifests render the same for a webhook outside", async (t, helm) => {
  const [{ ca }] = await makePairs();
  const file = path.join(t.testdir({ "ca.crt": ca }), "ca.crt");
  const url = "https://webhook.example.internal:9443";
  const outside = [`webhook.url=${url}`, `webhook.caBundle=${ca.replaceAll(",", String.raw`\,`)}`];
  for (const [values, flags] of SAME) {
    const rendered = await template(helm, [...outside, ...values]);
    const printed = await runCommand(["manifests", "all", "--url", url, "--ca-file", file, ...flags]);
    t.same([rendered.code, rendered.stderr, printed.status], [0, "", 0]);
    t.same(byName(withoutReleaseLabels(rendered.stdout)), byName(objectsIn(printed.stdout)), flags.join(" "));
  }
});

withHelm("helm template renders what the command manifests prints in the cluster", async (t, helm) => {
  for (const [values, flags] of SAME) {
    const { stdout } = await template(helm, values);
    const rendered = byName(withoutReleaseLabels(stdout).map(withoutReached));
    for (const part of ["rbac", "webhooks"]) {
      const printed = byName(objectsIn((await runCommand(["manifests", part, ...flags])).stdout));
      const names = Object.keys(printed);
      t.same(Object.fromEntries(names.map((name) => [name, rendered[name]])), printed, `${part} ${flags.join(" ")}`);
    }
  }
});

/** The printed manifests fail closed from the start, so nothing asks whether the API server reaches the webhook. */
function withoutReached(object: JsonObject): JsonObject {
  const { webhooks } = object;
  if (!Array.isArray(webhooks)) return object;
  return { ...object, webhooks: webhooks.filter((one) => stringAt(one, "name")?.startsWith("reached.") !== true) };
}

withHelm("each certificates.mode has its own objects and CA", async (t, helm) => {
  const [{ ca }] = await makePairs();
  const caBundle = `certificates.caBundle=${ca.replaceAll(",", String.raw`\,`)}`;
  for (const [mode, kinds] of [
    ["self-signed", ["Secret", "Deployment", "Deployment"]], ["files", ["Deployment"]],
    ["cert-manager", ["Deployment", "Certificate", "Certificate", "Issuer", "Issuer"]],
  ] as const) {
    const { stdout, stderr } = await template(helm, [`certificates.mode=${mode}`, caBundle]);
    t.equal(stderr, "");
    const objects = objectsIn(stdout);
    const found = objects.map(({ kind }) => String(kind)).filter((kind) => (kinds as readonly string[]).includes(kind));
    t.same(found.filter((kind) => kind !== "Secret"), kinds.filter((kind) => kind !== "Secret"), mode);
    for (const one of objects.filter(({ kind }) => String(kind).endsWith("WebhookConfiguration"))) {
      const injected = { "cert-manager.io/inject-ca-from": "ack-role-resolver/ack-role-resolver-webhook-tls" };
      const annotations = { "argocd.argoproj.io/sync-wave": "1", ...(mode === "cert-manager" && injected) };
      t.same(field(one["metadata"], "annotations"), annotations);
      const bundles = [...JSON.stringify(one).matchAll(/"caBundle":"([^"]*)"/g)].map(([, text]) => text);
      const expected = mode === "files" ? Buffer.from(ca).toString("base64") : undefined;
      t.same(new Set(bundles), new Set(expected === undefined ? [] : [expected]), mode);
    }
  }
});

withHelm("a webhook outside the cluster has no workload, and can have what identities need", async (t, helm) => {
  const caBundle = "webhook.caBundle=-----BEGIN CERTIFICATE-----";
  const url = "webhook.url=https://webhook.example.internal:9443";
  const { stdout } = await template(helm, [url, caBundle, "serviceAccountIdentityCRD=true", "identityRoles=true"]);
  const kinds = objectsIn(stdout).map(({ kind }) => String(kind));
  t.notMatch(kinds.join(" "), /\b(Deployment|Service|NetworkPolicy|PodDisruptionBudget|Secret|Issuer)\b/);
  t.match(stdout, "name: ack-role-resolver-identity-tenant\n");
  const crd = objectsIn(stdout).find(({ kind }) => kind === "CustomResourceDefinition");
  t.match(crd, { metadata: { annotations: { "helm.sh/resource-policy": "keep" } } });
  t.same(crd?.["spec"], JSON.parse(JSON.stringify(serviceAccountIdentityCRD().spec)));
  t.match((await template(helm, [url])).stderr, "at '/webhook/caBundle': '' does not match pattern");
});

// The objects of the command do not contain the flags of the webhook, so this test compares only the policies.
withHelm("the policies have the settings of the values, also with hostile texts", async (t, helm) => {
  const settings = {
    check: ["IRS-15=off", "IRS-03=warn", "IRS-15=deny", "IRS-09=deny", "IRS-09=off"],
    waiverUsers: ['jane"}} {{ fail "x" }}', "it's: a, user\\", "<&>\n- x"], waiverGroups: ["platform"],
    allowedAccounts: ["111122223333", "444455556666"],
    controllerRole: "arn:aws-cn:iam::999900001111:role/ack",
    capaServiceAccounts: ["capa/one", "capa/two"],
    controllerUsers: [
      "ack-system/ack-s3", "ack-system/ack-iam", "arn:aws:sts::1:assumed-role/A.B/*", String.raw`a\*(b)|[c]$`, "a,b*",
    ],
    allowedEndpointHosts: ["a.example", "*.b.example"],
  };
  const flags = DEFINITIONS.flatMap(([name, { flag }]) => (
    [Object.entries(settings).find(([key]) => key === name)?.[1] ?? []].flat().map((value) => `${flag}=${value}`)
  ));
  const [{ ca }] = await makePairs();
  const outside = ["--url", "https://webhook.example", "--ca-file", path.join(t.testdir({ "ca.crt": ca }), "ca.crt")];
  for (const runtime of ["ack", "extended"]) {
    const values = JSON.stringify({ runtime, settings });
    const file = path.join(t.testdir({ "ca.crt": ca, "values.yaml": values }), "values.yaml");
    const args = ["template", "x", CHART, "--kube-version", "1.30.0", "--namespace", NAMESPACE, "--values", file];
    const rendered = await helm(args);
    const printed = await runCommand(["manifests", "all", ...outside, "--runtime", runtime, ...flags]);
    t.same([rendered.stderr, printed.status], ["", 0]);
    const policies = withoutReleaseLabels(rendered.stdout).filter(isPolicy);
    t.same(byName(policies), byName(objectsIn(printed.stdout).filter(isPolicy)));
    t.equal(policies.length, 18);
  }
  const without = objectsIn((await template(helm, ["policies.enabled=false"])).stdout);
  t.notOk(without.some((object) => isPolicy(object)));
});

function isPolicy({ kind }: JsonObject): boolean {
  return String(kind).startsWith("ValidatingAdmissionPolicy");
}

/** Returns the objects without the labels and the wave that only a release has. */
function withoutReleaseLabels(yaml: string): readonly JsonObject[] {
  const ofRelease = /^ +(app\.kubernetes\.io\/(instance|managed-by)|helm\.sh\/chart): .*\n/gm;
  const wave = '  annotations:\n    argocd.argoproj.io/sync-wave: "1"\n';
  return objectsIn(yaml.replaceAll(ofRelease, "").replaceAll(wave, ""));
}

function byName(objects: readonly JsonObject[]): Record<string, JsonObject> {
  const named = objects.map((object) => (
    [`${stringAt(object, "kind")} ${stringAt(object, "metadata", "name")}`, object] as const
  ));
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

withHelm("helm lint accepts the chart, which has the version of the package", async (t, helm) => {
  t.match(await helm(["lint", "--strict", CHART]), { code: 0 });
  const chart: unknown = parse(await readFile(path.join(CHART, "Chart.yaml"), "utf8"));
  t.match(chart, { version: manifest.version, appVersion: manifest.version });
});

withHelm("each setting of the values is a flag of the webhook", async (t, helm) => {
  const schema: unknown = JSON.parse(await readFile(path.join(CHART, "values.schema.json"), "utf8"));
  const names = Object.keys(field(field(field(schema, "properties"), "settings"), "properties") ?? {});
  const own = DEFINITIONS.filter(([name]) => names.includes(name)).map(([, definition]) => definition);
  t.equal(own.length, names.length);
  const sets = own.flatMap((definition, i) => ["--set-json", `settings.${names[i]}=${sample(definition)}`]);
  const args = ["template", "x", CHART, "--kube-version", "1.30.0", "--skip-schema-validation", ...sets];
  const { stdout, stderr } = await helm(args);
  t.equal(stderr, "");
  const used = new Set([...stdout.matchAll(/^ +- "?(--[a-z-]+)/gm)].map(([, flag = ""]) => flag));
  t.same(own.map(({ flag }) => flag).filter((flag) => !used.has(flag)), []);
});

function sample({ type }: Definition): string {
  if (type === "boolean") return "true";
  return type === "strings" ? '["a", "b"]' : '"a"';
}

withHelm("mounts more volumes than the certificate of the webhook", async (t, helm) => {
  const more = ["extraVolumes[0].name=ca,extraVolumes[0].configMap.name=a", "extraVolumeMounts[0].name=ca"];
  const volumes = [{ name: "tls" }, { name: "ca" }];
  for (const mode of ["self-signed", "cert-manager"]) {
    const objects = objectsIn((await template(helm, [`certificates.mode=${mode}`, ...more])).stdout);
    const webhook = objects.find(({ kind, metadata }) => (
      kind === "Deployment" && stringAt(metadata, "name") === "ack-role-resolver-webhook"
    ));
    t.match(webhook, { spec: { template: { spec: { volumes, containers: [{ volumeMounts: volumes }] } } } }, mode);
  }
});

withHelm("renders settings as flags, and omits flags that are off", async (t, helm) => {
  const { stdout } = await template(helm, [
    "settings.check={IRS-17=warn,ACK-06=warn}", "settings.teamLevelCarm=true", "settings.serviceLevelCarm=false",
    "settings.logLevel=warn", String.raw`settings.controllerUsers={arn:a\,b*}`,
  ]);
  const flags = [...stdout.matchAll(/^ +- "?(--.*?)"?$/gm)].map(([, flag]) => flag);
  t.same(flags, [
    "--namespace=ack-role-resolver", "--log-level=warn",
    "--cluster", "--tls-dir=/etc/ack-role-resolver/tls", "--ack-system-namespace=ack-system",
    "--runtime=ack", "--profile=enforce",
    "--namespace=ack-role-resolver", "--check=IRS-17=warn",
    "--check=ACK-06=warn", "--controller-users=arn:a,b*", "--log-level=warn", "--team-level-carm",
  ]);
});
