import { readFile } from "node:fs/promises";
import { test } from "tap";
import { parse } from "yaml";
import { chartFiles } from "../../manifests/chart-files.ts";
import { field } from "../../shared/decisions/kubernetes/json.ts";
import { ACK_GROUPS } from "../../shared/decisions/kubernetes/kinds.ts";
import { DEFINITIONS } from "../../shared/decisions/settings.ts";

const FILES = chartFiles();
const RBAC = FILES["templates/rbac.yaml"] ?? "";
const CONFIGURATIONS = FILES["templates/webhook-configurations.yaml"] ?? "";

test("the templates contain expressions for the values of a release, and no placeholder", (t) => {
  t.notMatch(RBAC + CONFIGURATIONS, "~");
  t.match(RBAC, 'namespace: "{{ .Release.Namespace }}"');
  t.match(RBAC, '  name: ack-role-resolver-carm-maps\n  namespace: "{{ .Values.ackSystemNamespace }}"');
  t.match(RBAC, "{{- if .Values.accessReviews }}\n---\n");
  t.notMatch(CONFIGURATIONS, "failurePolicy: Fail");
  for (const line of ["failurePolicy: Ignore", "failurePolicy: {{ $failurePolicy }}"]) t.match(CONFIGURATIONS, line);
  t.end();
});

test("each webhook has the caBundle of the values only if the mode is files", (t) => {
  const lines = '{{- if eq .Values.certificates.mode "files" }}\n'
    + "      caBundle: {{ .Values.certificates.caBundle | b64enc }}\n{{- end }}\n";
  t.equal(CONFIGURATIONS.split(lines).length, CONFIGURATIONS.split("clientConfig:").length);
  t.equal(CONFIGURATIONS.split("caBundle:").length, CONFIGURATIONS.split(lines).length, "and no other caBundle");
  const annotations = '{{- if eq .Values.certificates.mode "cert-manager" }}\n  annotations:\n';
  t.equal(CONFIGURATIONS.split(annotations).length - 1, 2);
  t.end();
});

test("each list of ACK groups ends with the extra groups of the values", (t) => {
  const loop = "{{- range .Values.extraGroups }}\n";
  const lists = (RBAC + CONFIGURATIONS).split(`${ACK_GROUPS.at(-1)}\n${loop}`).length - 1;
  t.equal(lists, (RBAC + CONFIGURATIONS).split(`- ${ACK_GROUPS[0]}\n`).length - 1);
  t.ok(lists >= 3);
  t.end();
});

test("values.yaml has a value for each property of the schema, on every level", async (t) => {
  const values: unknown = parse(await readFile(new URL("../../manifests/chart/values.yaml", import.meta.url), "utf8"));
  const missing = function* (schema: unknown, value: unknown, path: string): Iterable<string> {
    for (const [name, property] of Object.entries(field(schema, "properties") ?? {})) {
      if (field(value, name) === undefined) yield `${path}${name}`;
      else yield* missing(property, field(value, name), `${path}${name}.`);
    }
  };
  const found = [...missing(JSON.parse(FILES["values.schema.json"] ?? ""), values, "")];
  const optional = /^(global$|settings\.|certificates\.issuerRef\.)/;
  t.same(found.filter((path) => !optional.test(path)), []);
  t.ok(found.some((path) => path.startsWith("settings.")), "the settings have their own defaults");
});

test("the schema contains each flag of the webhook that a cluster needs", (t) => {
  const values = field(JSON.parse(FILES["values.schema.json"] ?? ""), "properties");
  const own = DEFINITIONS.filter(([, { commands }]) => commands.includes("webhook")).map(([name]) => name);
  const settings = field(field(values, "settings"), "properties");
  t.same(own.filter((name) => (field(settings, name) ?? field(values, name)) === undefined), [
    "from", "cluster", "kubeconfig", "context", "tlsDir", "tlsSecret", "listen", "healthListen",
  ]);
  t.end();
});
