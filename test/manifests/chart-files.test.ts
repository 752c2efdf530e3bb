import { readdir, readFile } from "node:fs/promises";
import { test } from "tap";
import { parse } from "yaml";
import { chartFiles } from "../../manifests/chart-files.ts";
import { field } from "../../shared/formats/json.ts";
import { ACK_GROUPS } from "../../shared/core/ack-groups.ts";
import { compareText } from "../../shared/formats/text.ts";
import { DEFINITIONS } from "../../shared/core/settings.ts";

const FILES = chartFiles();
const RBAC = FILES["templates/rbac.yaml"] ?? "";
const POLICIES = FILES["templates/policies.yaml"] ?? "";
const CONFIGURATIONS = FILES["templates/webhook-configurations.yaml"] ?? "";

test("the templates contain expressions for the values of a release", (t) => {
  t.match(RBAC, 'namespace: "{{ .Release.Namespace }}"');
  t.match(RBAC, '  name: ack-role-resolver-carm-maps\n  namespace: "{{ .Values.ackSystemNamespace }}"');
  t.match(RBAC, '{{- if include "ack-role-resolver.accessReviews" . }}\n---\n');
  t.match(RBAC, "{{- if .Values.injection.enabled }}\n---\n");
  t.match(RBAC, /\{\{- if \.Values\.identitySecretNamespace \}\}\n---\n[^]*namespace: "\{\{ \.Values\.identitySecretN/);
  t.match(FILES["templates/identity-roles.yaml"], "{{- if .Values.identityRoles }}\n---\n");
  t.match(FILES["templates/identity-crd.yaml"], "{{- if .Values.serviceAccountIdentityCRD }}\n---\n");
  for (const name of ["failurePolicy", "otherFailurePolicy"]) {
    t.match(CONFIGURATIONS, `failurePolicy: {{ include "ack-role-resolver.${name}" . }}\n`);
  }
  t.end();
});

test("the webhooks for Pods need the injection, and have their own failurePolicy", (t) => {
  const webhooks = CONFIGURATIONS.split(/^(?=- name: |\{\{- )/m).filter((text) => text.startsWith("- name: "));
  const ofPods = webhooks.filter((text) => /^- name: (namespace\.)?pods\./.test(text));
  t.equal(ofPods.length, 4);
  for (const text of webhooks) t.equal(text.includes(".podFailurePolicy"), ofPods.includes(text));
  t.equal(CONFIGURATIONS.split("{{- if .Values.injection.enabled }}\n- name: ").length - 1, 4);
  t.end();
});

test("each webhook is called as the values say", (t) => {
  const call = '  clientConfig: {{ include "ack-role-resolver.clientConfig" (list . "/';
  t.equal(CONFIGURATIONS.split(call).length - 1, CONFIGURATIONS.split("\n- name: ").length - 1);
  t.notMatch(CONFIGURATIONS, "caBundle");
  const annotations = 'if not .Values.webhook.url }}\n  annotations:\n    argocd.argoproj.io/sync-wave: "1"\n';
  t.equal(CONFIGURATIONS.split(annotations).length - 1, 2);
  t.end();
});

const CAPA = "{{- if .Values.capa.enabled }}\n";
const WEBHOOK_OF_CAPA = /^\{\{- if \.Values\.capa\.enabled \}\}\n(- name|\{\{- if contains)[^]*?scope: .*\n/gm;

/** Returns the names of the webhooks of a configuration that have a failurePolicy. */
function namesIn(configuration: string, failurePolicy: string): string {
  const all = configuration.split(/^- name: /m).filter((one) => one.includes(`"ack-role-resolver.${failurePolicy}"`));
  return all.map((one) => one.split("\n")[0]).join();
}

/** Returns the annotation that names the webhooks of a configuration that become Fail. */
function annotationOf(configuration: string): string {
  const strict = '{{ if eq (include "ack-role-resolver.profile" . | fromJson).otherFailurePolicy "Fail" }}';
  return `    ack-role-resolver.io/fail-when-ready: ${namesIn(configuration, "failurePolicy")}${strict},`
    + `${namesIn(configuration, "otherFailurePolicy")}{{ end }}\n`;
}

test("the annotation of a configuration names its webhooks that become Fail, in every profile", (t) => {
  const configurations = CONFIGURATIONS.split(/^(?=kind: )/m).slice(1);
  t.equal(configurations.length, 2);
  for (const text of configurations) {
    const ofOthers = text.replace(WEBHOOK_OF_CAPA, "");
    t.not(annotationOf(ofOthers), annotationOf(text));
    t.match(text, '{{- if include "ack-role-resolver.becomesFail" . }}\n'
      + `${CAPA}${annotationOf(text)}{{- else }}\n${annotationOf(ofOthers)}{{- end }}\n`
      + "    helm.toolkit.fluxcd.io/driftDetection: disabled\n{{- end }}\n");
  }
  t.end();
});

/** The condition of the right to create an identity. The chart fails if it is true without CAPA. */
const CONTROLLER_IDENTITY = "{{- if and .Values.reconciling .Values.autoControllerIdentity.enabled }}\n";

test("everything of Cluster API needs its value", (t) => {
  for (const text of [RBAC, CONFIGURATIONS, POLICIES]) {
    const open: string[] = [];
    for (const line of text.split(/(?<=\n)/)) {
      if (line.startsWith("{{- if ")) open.push(line);
      else if (line.startsWith("{{- else ")) open.push(`else ${open.pop()}`);
      else if (line.startsWith("{{- end ")) open.pop();
      else if (line.includes("cluster.x-k8s.io")) t.ok(open.includes(CAPA) || open.includes(CONTROLLER_IDENTITY), line);
    }
    t.same(open, []);
    t.match(text, CAPA);
  }
  t.end();
});

test("the policies contain each list of policySettings, and no other braces that helm would evaluate", async (t) => {
  const helpers = await readFile(new URL("../../manifests/chart/templates/_policies.tpl", import.meta.url), "utf8");
  const computed = [...helpers.matchAll(/^ {2}"(\w+)" \(include/gm)].map(([, name = ""]) => name);
  const used = new Set([...POLICIES.matchAll(/\{\{ \$lists\.(\w+) \}\}/g)].map(([, name = ""]) => name));
  t.same([...used].toSorted(compareText), computed.toSorted(compareText));
  const actions = [...POLICIES.matchAll(/\{\{.*?\}\}/g)].map(([action]) => action);
  const others = new Set(actions.filter((action) => !action.startsWith("{{ $lists.")));
  t.same([...others].toSorted(compareText), [
    "{{ .Release.Namespace }}", "{{ .Values.ackSystemNamespace }}",
    "{{ .Values.identitySecretNamespace }}", "{{ include \"ack-role-resolver.groups\" . }}",
    "{{ template `ack-role-resolver.serviceAccount` . }}",
    "{{- $lists := include \"ack-role-resolver.policyLists\" . | fromJson }}", "{{- else }}", "{{- end }}",
    "{{- if .Values.capa.enabled }}", "{{- if .Values.policies.enabled }}",
    "{{- if eq .Values.runtime \"extended\" }}",
    "{{- include \"ack-role-resolver.labels\" (list . \"webhook\") | nindent 4 }}",
    "{{/* Generated by `npm run docs`. Do not edit. */}}",
  ]);
  t.end();
});

test("each list of ACK groups contains the groups of this release and of the values", (t) => {
  const groups = FILES["templates/_groups.tpl"] ?? "";
  for (const group of ACK_GROUPS) t.match(groups, `\n  "${group}"`);
  t.match(groups, "concat $known .Values.extraGroups | uniq | sortAlpha");
  const templates = RBAC + CONFIGURATIONS + POLICIES;
  t.notMatch(templates, ACK_GROUPS[0]);
  t.ok(templates.split('{{ include "ack-role-resolver.groups" . }} ]').length > 6);
  t.end();
});

test("values.yaml has a value for each property of the schema, on every level", async (t) => {
  const values: unknown = parse(await readFile(new URL("../../manifests/chart/values.yaml", import.meta.url), "utf8"));
  const missing = function* (schema: unknown, value: unknown, path: string): Iterable<string> {
    for (const [name, property] of Object.entries(field(schema, "properties") ?? {})) {
      if (property === false) continue;
      if (field(value, name) === undefined) yield `${path}${name}`;
      else yield* missing(property, field(value, name), `${path}${name}.`);
    }
  };
  const found = [...missing(JSON.parse(FILES["values.schema.json"] ?? ""), values, "")];
  const optional = /^((global|enabled)$|settings\.|certificates\.issuerRef\.|updateStrategy\.)/;
  t.same(found.filter((path) => !optional.test(path)), []);
  t.ok(found.some((path) => path.startsWith("settings.")), "the settings have their own defaults");
});

test("values.yaml says what each value does", async (t) => {
  const text = await readFile(new URL("../../manifests/chart/values.yaml", import.meta.url), "utf8");
  const lines = text.split("\n");
  const silent = lines.filter((line, index) => /^ *\w+: ?\S/.test(line) && !/^ *# /.test(lines[index - 1] ?? ""));
  const ofKubernetes = [
    "cpu: 10m", "memory: 64Mi", "memory: 128Mi", "cpu: 100m", "memory: 192Mi", "memory: 384Mi",
    "runAsNonRoot: true", "runAsUser: 65532", "runAsGroup: 65532", "fsGroup: 65532",
    "seccompProfile: {type: RuntimeDefault}", "allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true",
    "capabilities: {drop: [ALL]}",
  ];
  t.same(silent.map((line) => line.trim()), ofKubernetes);
});

test("the schema requires each value whose default is not empty, because null deletes a default", async (t) => {
  const values: unknown = parse(await readFile(new URL("../../manifests/chart/values.yaml", import.meta.url), "utf8"));
  const properties = function* (schema: unknown, value: unknown, path: string): Iterable<[string, boolean, unknown]> {
    const required = field(schema, "required");
    for (const [name, property] of Object.entries(field(schema, "properties") ?? {})) {
      const isRequired = Array.isArray(required) && required.includes(name);
      yield [`${path}${name}`, isRequired, field(value, name)];
      yield* properties(property, field(value, name), `${path}${name}.`);
    }
  };
  const isEmpty = (value: unknown): boolean => [undefined, "null", "[]", "{}", '""'].includes(JSON.stringify(value));
  const all = [...properties(JSON.parse(FILES["values.schema.json"] ?? ""), values, "")];
  t.same(all.filter(([, required, value]) => required && isEmpty(value)).map(([path]) => path), ["settings"]);
  const notRequired = all.filter(([, required, value]) => !required && !isEmpty(value)).map(([path]) => path);
  t.same(notRequired, [
    "injection.runAsUser", "certificates.resources", "resources", "podSecurityContext", "securityContext",
    "priorityClassName",
  ], "Kubernetes has a default");
});

test("the schema contains each flag of the webhook that a cluster needs", (t) => {
  const values = field(JSON.parse(FILES["values.schema.json"] ?? ""), "properties");
  const own = DEFINITIONS.filter(([, { commands }]) => commands.includes("webhook")).map(([name]) => name);
  const settings = field(field(values, "settings"), "properties");
  t.same(own.filter((name) => (field(settings, name) ?? field(values, name)) === undefined), [
    "from", "cluster", "kubeconfig", "context", "namespace", "tlsDir",
    // The chart sets these flags from the values of `capa`, `autoControllerIdentity` and `injection`.
    "noCapa", "listen", "healthListen", "sidecarImage", "sidecarArgs",
    "sidecarEnv", "sidecarCaConfigMap", "sidecarRunAsUser",
  ]);
  t.end();
});

test("the templates quote each namespace, because it can look like a number", async (t) => {
  const templates = new URL("../../manifests/chart/templates/", import.meta.url);
  const names = (await readdir(templates, { recursive: true })).filter((name) => name.endsWith(".yaml"));
  const lines = (await Promise.all(names.map(async (name) => readFile(new URL(name, templates), "utf8"))))
    .flatMap((text) => text.split("\n")).filter((line) => /\bnamespace: \{\{/i.test(line));
  t.ok(lines.length > 10);
  t.same(lines.filter((line) => !line.endsWith("| quote }}")), []);
});
